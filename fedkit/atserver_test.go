package fedkit_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/floats"
)

// Drawn rows are those of all clients in turn, and each client loses its own. Rows that no client holds are taken from nobody.
func TestWithServer(t *testing.T) {
	fed := federation(t, datasets.Digits(), model.MLP())
	with := expect.Value(fed.WithServer(fedkit.Server{Draw: 300, Seed: 2}))(t)
	rows := with.Server.Clients[0].Train
	if len(rows) != 300 || !slices.IsSorted(rows) || with.Size() != 6 || with.Server.Size() != 1 {
		t.Errorf("%d rows at the server, %d clients", len(rows), with.Size())
	}
	for i, c := range fed.Clients {
		want := slices.DeleteFunc(slices.Clone(c.Train), func(row int) bool { return slices.Contains(rows, row) })
		if !slices.Equal(with.Clients[i].Train, want) || !slices.Equal(with.Clients[i].Test, c.Test) {
			t.Errorf("client %d has %d rows, want %d", i, len(with.Clients[i].Train), len(want))
		}
		if lost := float64(len(c.Train)-len(want)) / float64(len(c.Train)); lost < 0.1 || lost > 0.35 { // of 1,437 rows, a fifth
			t.Errorf("client %d lost %v of its rows", i, lost)
		}
	}
	again, other := expect.Value(fed.WithServer(fedkit.Server{Draw: 300, Seed: 2}))(t), expect.Value(fed.WithServer(fedkit.Server{Draw: 300, Seed: 3}))(t)
	if !slices.Equal(again.Server.Clients[0].Train, rows) || slices.Equal(other.Server.Clients[0].Train, rows) {
		t.Error("the seed does not decide which rows are drawn")
	}

	part := expect.Value(fedkit.New(datasets.Digits(), partition.Take{Of: partition.IID{Clients: 5}, Train: 100}, model.MLP()))(t)
	left := make([]bool, part.Data.Train.Len())
	for _, c := range part.Clients {
		for _, row := range c.Train {
			left[row] = true
		}
	}
	var over []int
	for row, held := range left {
		if !held {
			over = append(over, row)
		}
	}
	all := expect.Value(part.WithServer(fedkit.Server{Rows: over}))(t)
	for i := range part.Clients {
		if !slices.Equal(all.Clients[i].Train, part.Clients[i].Train) {
			t.Errorf("client %d lost rows", i)
		}
	}
	if a, b := part.Manifest(), all.Manifest(); a.Data != b.Data || a.Clients == b.Clients {
		t.Errorf("the server's rows are not in the manifest: %v", b)
	}
	swapped := datasets.Digits()
	swapped.Train.Labels = slices.Repeat([]int32{0}, swapped.Train.Len())
	moved := expect.Value(all.WithData(swapped, "one label"))(t)
	if moved.Server.Data != swapped || !slices.Equal(moved.Server.Clients[0].Train, over) {
		t.Error("the server has other data than the clients")
	}
}

// helped trains x at the server only.
type helped struct {
	Job   func(r *fedkit.Round, job *fedkit.Job)
	Local fedkit.Local
	State struct{ X *fedkit.Matrix }
}

func (s *helped) Start(r *fedkit.Round) error { s.State.X = r.Models(1); return r.Err() }
func (s *helped) Round(r *fedkit.Round) error {
	job := fedkit.Job{Start: s.State.X, Local: s.Local}
	if s.Job != nil {
		s.Job(r, &job)
	}
	s.State.X = r.TrainServer(job).Models
	return r.Err()
}
func (s *helped) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }

// The server trains as a client would that has its rows, without traffic. Nothing is compiled after the first round.
func TestTrainServer(t *testing.T) {
	rows := []int{40, 3, 77, 5, 6, 900, 1000, 12, 13, 14, 15}
	rest := federation(t, datasets.Digits(), model.MLP(8))
	fed := expect.Value(rest.WithServer(fedkit.Server{Rows: rows}))(t)
	l := fedkit.Local{Epochs: 3, Batch: 4, LR: 0.1, Optimizer: fedkit.Momentum{}, Prox: 0.01}
	s, warm := &helped{Local: l}, int64(0)
	s.Job = func(r *fedkit.Round, _ *fedkit.Job) {
		if r.T == 2 {
			warm = xla.Compilations()
		}
	}
	h := expect.Value(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 1, Seed: 7}))(t)
	same := expect.Value(fedkit.New(datasets.Digits(), partition.Given{{Train: rows, Test: []int{0}}}, model.MLP(8)))(t)
	want := expect.Value(same.Train(t.Context(), fedkit.Job{Clients: []int{0}, Start: expect.Value(fed.Models(1, 7))(t), Local: l}, 7))(t)
	host := func(m *fedkit.Matrix) []float64 { return precision.Double(expect.Value(m.Host())(t)) }
	if far := floats.Distance(host(s.State.X), host(want.Models), math.Inf(1)); far > 1e-6 {
		t.Errorf("the server's model is %v from the client's", far)
	}
	r := h.Last()
	if r.Server == nil || r.Server.Steps != 9 || math.Abs(float64(r.Server.Loss-want.Results[0].Loss)) > 1e-6 || r.Server.Seconds != 0 || r.BytesDown+r.BytesUp != 0 || len(r.Results) != 0 {
		t.Errorf("%+v, server %+v", r, r.Server)
	}
	path := filepath.Join(t.TempDir(), "history")
	h = expect.Value(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 3, History: path}))(t)
	if n := xla.Compilations() - warm; n != 0 {
		t.Errorf("%d programs were compiled after the first round, want 0", n)
	}
	if back := expect.Value(fedkit.Load(path))(t); *back.Last().Server != *h.Last().Server {
		t.Errorf("%+v was saved as %+v", h.Last().Server, back.Last().Server)
	}
}

// byOutputs distills outputs that the job has per example, byModels those of k models.
type (
	byOutputs struct{}
	byModels  struct{ k int }
)

func (byOutputs) Loss(b *fedkit.Batch) *Node { return apart(b.PerExample("teacher"), b.Out) }

func (o byModels) Loss(b *fedkit.Batch) *Node {
	teachers := b.Task.Split(Reshape(b.Extra("teachers"), o.k, b.Task.Dim()))
	return apart(ReduceAndKeep(b.Forward(teachers), ReduceMean, 0), b.Out)
}

func apart(teacher, student *Node) *Node { return ReduceSum(Square(Sub(teacher, student)), -1) }

// The server can have its teachers as models too, if inputs change from step to step, as a generator's do.
func TestTeachersAtTheServer(t *testing.T) {
	fed := expect.Value(federation(t, datasets.Digits(), model.MLP(8)).WithServer(fedkit.Server{Draw: 50}))(t)
	teachers, _ := noise(3, fed.Task.Dim())
	l := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.01}
	outputs, models := &helped{Local: l}, &helped{Local: l}
	outputs.Job = func(r *fedkit.Round, job *fedkit.Job) {
		mean := make([]float32, 50*10)
		for _, p := range r.Predict(teachers, datasets.TrainPart, r.Fed.Server.Clients[0].Train) {
			for i, v := range slices.Concat(p.Outputs...) {
				mean[i] += v / 3
			}
		}
		job.Objective, job.PerExample = byOutputs{}, map[string][][]float32{"teacher": {mean}}
	}
	flat := expect.Value(teachers.Host())(t)
	models.Job = func(_ *fedkit.Round, job *fedkit.Job) {
		job.Objective, job.Extra = byModels{3}, map[string]*fedkit.Matrix{"teachers": fedkit.NewMatrix(flat, 1, len(flat))}
	}
	for _, s := range []*helped{outputs, models} {
		expect.Value(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 2}))(t)
	}
	if far := expect.Value(outputs.State.X.Sub(models.State.X).Norms())(t)[0]; far > 1e-5 {
		t.Errorf("the two are %v apart", far)
	}
}

// Two jobs of 24 and 12 examples take the server 3.6 s; its clients wait for them, and it is off for one second meanwhile.
func TestServerOnTheClock(t *testing.T) {
	fed := federation(t, datasets.Digits(), model.MLP())
	device := sim.Device{PerExample: 0.1, On: sim.Hours{Intervals: []sim.Interval{{From: 0, To: 2}, {From: 3, To: 100}}}}
	fed = expect.Value(fed.WithServer(fedkit.Server{Rows: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, Device: device}))(t)
	fed = expect.Value(fed.WithDevices(sim.Devices{PerExample: sim.Constant(1)}))(t)
	s := &helped{Local: fedkit.Local{Epochs: 1, Batch: 4, LR: 0.1}}
	s.Job = func(r *fedkit.Round, job *fedkit.Job) {
		twice := *job
		twice.Local.Epochs = 2
		job.Start = r.TrainServer(twice).Models
	}
	h := expect.Value(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 1}))(t)
	if r := h.Last(); math.Abs(float64(r.Server.Seconds)-4.6) > 1e-9 || math.Abs(float64(r.Clock)-4.6) > 1e-9 || r.Server.Steps != 9 {
		t.Errorf("%+v at %v s, want 9 steps in 4.6 s", r.Server, r.Clock)
	}
	quick := expect.Value(expect.Value(federation(t, datasets.Digits(), model.MLP()).WithServer(fedkit.Server{Rows: fed.Server.Clients[0].Train}))(t).WithDevices(sim.Devices{PerExample: sim.Constant(1)}))(t)
	other := expect.Value(fedkit.Describe(quick, s, fedkit.Options{Rounds: 1}))(t)
	if other.DevicesHash == h.DevicesHash {
		t.Error("the server's device is not in the run's identity")
	}
}

func TestServerRefusals(t *testing.T) {
	fed := federation(t, datasets.Digits(), model.MLP())
	for want, s := range map[string]fedkit.Server{
		"Server = 0 rows, Draw = 0: must be with one of Rows and Draw":                  {},
		"Server = 1 rows, Draw = 2: must be with one of Rows and Draw":                  {Rows: []int{1}, Draw: 2},
		"Server.Rows = [1 1]: must be different rows in [0, ":                           {Rows: []int{1, 1}},
		"Server.Rows = [-1]: must be different rows":                                    {Rows: []int{-1}},
		"Server.Draw = -1: must be in [1, ":                                             {Draw: -1},
		"the server's rows = all training rows of client 2: must be fewer: each client": {Rows: fed.Clients[2].Train},
		"Device: PerExample = -1":                                                       {Draw: 2, Device: sim.Device{PerExample: -1}},
	} {
		expect.Refused(t, "fedkit: with server: ", want)(fed.WithServer(s))
	}
	held := expect.Value(fedkit.New(fed.Data, partition.Validation{Of: partition.IID{Clients: 3}}, model.MLP()))(t)
	expect.Refused(t, "Server.Rows = validation rows of client 1: must be rows that no client holds")(held.WithServer(fedkit.Server{Rows: held.Clients[1].Validation[:1]}))
	expect.Refused(t, "federation = nil")((*fedkit.Federation)(nil).WithServer(fedkit.Server{Draw: 1}))
	with := expect.Value(fed.WithServer(fedkit.Server{Draw: 20}))(t)
	expect.Refused(t, "must be one without a server's rows")(with.WithServer(fedkit.Server{Draw: 1}))

	run := func(fed *fedkit.Federation, change func(*fedkit.Job)) error {
		s := &helped{Local: fedkit.Local{Batch: 4, LR: 0.1}, Job: func(_ *fedkit.Round, job *fedkit.Job) { change(job) }}
		_, err := fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 1})
		return err
	}
	expect.Invalid(t, "train at the server: invalid: Federation.Server = nil: must be set by Federation.WithServer")(run(fed, func(*fedkit.Job) {}))
	expect.Invalid(t, "must be left out at the server")(run(with, func(job *fedkit.Job) { job.StayLocal = true }))
	expect.Invalid(t, "Job.Local.KeepMemory = true")(run(with, func(job *fedkit.Job) { job.Local.KeepMemory, job.Local.Optimizer = true, fedkit.Adam{} }))
	expect.Invalid(t, "Job.Start = [1, 3]")(run(with, func(job *fedkit.Job) { job.Start = fedkit.Zeros(1, 3) }))
	expect.Error(t, "the server's model is not finite; lower Local.LR")(run(with, func(job *fedkit.Job) { job.Local.LR = 1e30 }))
	expect.OK(t, run(with, func(job *fedkit.Job) { job.Clients = []int{4} }))
	with.Server.Clients[0].Train[0] = 1000
	expect.Invalid(t, "changed")(run(with, func(*fedkit.Job) {}))
}

// The server takes some of the clients' rows.
func ExampleFederation_WithServer() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 10}, model.MLP(16)))
	fed = must.M1(fed.WithServer(fedkit.Server{Draw: 438}))
	left := 0
	for _, n := range partition.Sizes(fed.Clients) {
		left += n
	}
	fmt.Println(len(fed.Server.Clients[0].Train), "rows at the server,", left, "at", fed.Size(), "clients")
	// Output: 438 rows at the server, 1000 at 10 clients
}
