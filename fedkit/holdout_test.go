package fedkit_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/floats"
)

// relabeled is a federation of twelve clients in three true groups.
func relabeled(t *testing.T) *fedkit.Federation {
	t.Helper()
	return expect.Value(fedkit.New(datasets.Digits(), partition.Relabel{Of: partition.IID{Clients: 12, Seed: 1}, Groups: 3}, model.MLP()))(t)
}

func TestHoldOut(t *testing.T) {
	all := relabeled(t)
	fed := expect.Value(all.HoldOut(5, 2))(t)
	expect.Must(t, fed.Size() == 7 && fed.Unseen.Size() == 5, "%d clients and %d unseen ones, want 7 and 5", fed.Size(), fed.Unseen.Size())
	var back []partition.Client
	for _, f := range []*fedkit.Federation{fed, fed.Unseen} {
		back = append(back, f.Clients...)
		groups := partition.Groups(f.Clients)
		expect.That(t, slices.IsSorted(groups), "groups %v", groups) // the order of the clients stays
		for g := range 3 {
			expect.That(t, slices.Contains(groups, g), "no client of group %d among %v", g, groups)
		}
	}
	for _, c := range all.Clients {
		n := len(slices.DeleteFunc(slices.Clone(back), func(d partition.Client) bool { return !reflect.DeepEqual(c, d) }))
		expect.That(t, n == 1, "a client is there %d times", n)
	}
	same, err := all.HoldOut(5, 2)
	expect.That(t, err == nil && reflect.DeepEqual(same.Clients, fed.Clients) && same.Manifest().Clients == fed.Manifest().Clients,
		"the same seed holds out others, error %v", err)
	other, err := all.HoldOut(5, 3)
	expect.That(t, err == nil && other.Manifest().Clients != fed.Manifest().Clients && !reflect.DeepEqual(other.Clients, fed.Clients),
		"another seed holds out the same, error %v", err)
	want := "; 5 clients held out, seed 2"
	expect.That(t, strings.HasSuffix(fed.Rule, want), "the rule is %q, want …%s", fed.Rule, want)
	for _, n := range []int{-1, 0, 10, 100} {
		expect.Invalid(t, "must be in [1, 9], so that each of 3 true groups keeps a client")(all.HoldOut(n, 0))
	}
	expect.Invalid(t)(fed.HoldOut(1, 0))
}

// welcoming is FedAvg that trains unseen clients from its model, and serves each what it trained.
type welcoming struct{ strategy.FedAvg }

func (s *welcoming) Unwrap() fedkit.Strategy { return &s.FedAvg }

func (s *welcoming) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: s.State.X, Local: s.Local})
	return fedkit.Serving{Models: u.Models, Assign: r.AllClients()}
}

// What unseen clients score is what their own rows say of the models that they find. That the run is the same with them is in fedtest's suite.
func TestUnseenClientsAreScored(t *testing.T) {
	ctx := context.Background()
	fed := expect.Value(relabeled(t).HoldOut(3, 1))(t)
	local := fedkit.Local{Batch: 16, LR: 0.1}
	fedAvg, ifca, welcomer := &strategy.FedAvg{Local: local}, &strategy.IFCA{Local: local, K: 3}, &welcoming{strategy.FedAvg{Local: local}}
	histories := map[string]*fedkit.History{}
	for name, s := range map[string]fedkit.Strategy{"global": fedAvg, "by loss": ifca, "welcomed": welcomer} {
		h := expect.Value(fedkit.Run(ctx, fed, s, fedkit.Options{Rounds: 3, EvalEvery: 2}))(t)
		histories[name] = h
		expect.That(t, h.Rounds[0].Unseen == nil && len(h.Rounds[1].Unseen) == 3 && len(h.Last().Unseen) == 3,
			"%s: %d, %d, %d scores", name, len(h.Rounds[0].Unseen), len(h.Rounds[1].Unseen), len(h.Last().Unseen))
	}
	accuracies := func(h *fedkit.History) (a []float64) {
		for _, s := range h.Last().Unseen {
			a = append(a, float64(s.Accuracy))
		}
		return a
	}
	if want := under(t, fed.Unseen, &fedkit.Serving{Global: fedAvg.State.X}); !near(accuracies(histories["global"]), want) {
		t.Errorf("accuracies %v, want %v", accuracies(histories["global"]), want)
	}
	own := func(part datasets.Part) []int { // by the losses that Predict gives
		best := make([]int, fed.Unseen.Size())
		for i, c := range fed.Unseen.Clients {
			p := expect.Value(fed.Unseen.Predict(ctx, ifca.State.Theta, part, c.Train))(t)
			least := math.Inf(1)
			for j := range p {
				if loss := crossEntropy(&p[j]); loss < least {
					best[i], least = j, loss
				}
			}
		}
		return best
	}
	want := under(t, fed.Unseen, &fedkit.Serving{Models: ifca.State.Theta, Assign: own(datasets.TrainPart)})
	expect.That(t, near(accuracies(histories["by loss"]), want), "accuracies %v, want %v", accuracies(histories["by loss"]), want)
	if a, b := histories["welcomed"].Last().MeanUnseen(), histories["global"].Last().MeanUnseen(); !(a.Accuracy > b.Accuracy) {
		t.Errorf("unseen clients that train reach %v, those that do not %v", a.Accuracy, b.Accuracy)
	}
}

func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) < 1e-6 })
}

// Beside the scores of the models that clients choose by their training rows: those of the models that suit the test rows.
func TestChooseOnTest(t *testing.T) {
	fed := relabeled(t)
	ifca := &strategy.IFCA{Local: fedkit.Local{Batch: 16, LR: 0.1}, K: 4}
	o := fedkit.Options{Rounds: 2, EvalEvery: 2, ChooseOnTest: true}
	h := expect.Value(fedkit.Run(context.Background(), fed, ifca, o))(t)
	last := h.Last()
	expect.Must(t, len(last.ChosenOnTest) == 12 && h.Rounds[0].ChosenOnTest == nil,
		"%d scores, %d in round 1", len(last.ChosenOnTest), len(h.Rounds[0].ChosenOnTest))
	better := false
	const rounding = 1e-7 // of a loss, of other calls: clients are arranged by model
	for i := range last.Scores {
		if d := last.Scores[i].Loss/last.ChosenOnTest[i].Loss - 1; d < -rounding {
			t.Errorf("client %d: loss %v, less than the least %v", i, last.Scores[i].Loss, last.ChosenOnTest[i].Loss)
		} else if d > rounding {
			better = true
		}
	}
	expect.That(t, better, "all clients chose the same model by training and by test rows: the test shows nothing")
	plain, err := fedkit.Describe(fed, ifca, fedkit.Options{Rounds: 2, EvalEvery: 2})
	expect.That(t, err == nil && !reflect.DeepEqual(plain.Settings, h.Settings),
		"the option is not among the settings: %v, error %v", h.Settings, err)
}

// Every round of a strategy that serves clusters says how good they are, in files too.
func TestClusteringIsRecorded(t *testing.T) {
	fed := expect.Value(relabeled(t).HoldOut(3, 1))(t)
	s := &strategy.FedPRISM{K: 3, M: 1, Center: true, Every: 1, Local: fedkit.Local{Epochs: 3, Batch: 16, LR: 0.1}}
	h := expect.Value(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 4, EvalEvery: 4, ChooseOnTest: true}))(t)
	for _, r := range h.Rounds {
		c := r.Clustering
		expect.That(t, c != nil && c.Count >= 1 && c.NMI >= 0 && c.Purity > 0, "round %d: %+v", r.Round, c)
	}
	c := h.Last().Clustering
	expect.That(t, c.ARI == 1 && c.Purity == 1 && c.Count == 3, "%+v, want the true groups; clusters %v", c, h.Last().Clusters)
	path := filepath.Join(t.TempDir(), "h")
	expect.OK(t, h.Save(path))
	back, err := fedkit.Load(path)
	expect.That(t, err == nil && reflect.DeepEqual(back.Rounds[3], h.Rounds[3]),
		"read as %+v\nwant %+v, error %v", back.Rounds[3], h.Rounds[3], err)
	light := expect.Value(history.LoadLight(path))(t)
	a, b := light.Last(), h.Last()
	expect.That(t, a.Unseen == nil && a.ChosenOnTest == nil && reflect.DeepEqual(a.MeanUnseen(), b.MeanUnseen()) && reflect.DeepEqual(a.MeanChosenOnTest(), b.MeanChosenOnTest()) && reflect.DeepEqual(a.Clustering, b.Clustering),
		"light: %+v", a)
}

// Without true groups there is nothing to agree with; distances are those of the models.
func TestClusteringWithoutTruth(t *testing.T) {
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 4}, model.MLP()))(t)
	s := &strategy.IFCA{K: 3, Local: fedkit.Local{Batch: 16, LR: 0.1}}
	h := expect.Value(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 1}))(t)
	c := h.Last().Clustering
	expect.Must(t, c != nil && c.ARI != c.ARI && c.NMI != c.NMI && c.Purity != c.Purity, "%+v, want NaN", c)
	at := 0
	for i := range 3 {
		for j := i + 1; j < 3; j++ {
			n, err := s.State.Theta.Take(i).Sub(s.State.Theta.Take(j)).Norms()
			expect.Must(t, err == nil && at < len(c.Distances) && math.Abs(n[0]-float64(c.Distances[at])) <= 1e-5*n[0],
				"distances %v, want %v between %d and %d, error %v", c.Distances, n, i, j, err)
			at++
		}
	}
}

func TestTrainOutsideARun(t *testing.T) {
	fed := relabeled(t)
	ctx, local := context.Background(), fedkit.Local{Batch: 16, LR: 0.1}
	x := expect.Value(fed.Models(1, 5))(t)
	u := expect.Value(fed.Train(ctx, fedkit.Job{Clients: []int{0, 4, 9}, Start: x, Local: local}, 5))(t)
	only := &strategy.LocalOnly{Local: local}
	expect.Value(fedkit.Run(ctx, fed, only, fedkit.Options{Rounds: 1, Seed: 5}))(t)
	a, _ := u.Models.Host()
	b, err := only.State.W.Take(0, 4, 9).Host()
	expect.That(t, err == nil && slices.Equal(a, b), "not what the clients do in round 1; error %v", err)
	expect.Invalid(t)(fed.Train(ctx, fedkit.Job{Clients: []int{12}, Start: x, Local: local}, 5))
	expect.Invalid(t)(fed.Models(0, 0))
}

// Drawn rows are those of all clients in turn, and each client loses its own. Rows that no client holds are taken from nobody.
func TestWithServer(t *testing.T) {
	fed := federation(t, datasets.Digits(), model.MLP())
	with := expect.Value(fed.WithServer(fedkit.Server{Draw: 300, Seed: 2}))(t)
	rows := with.Server.Clients[0].Train
	expect.That(t, len(rows) == 300 && slices.IsSorted(rows) && with.Size() == 6 && with.Server.Size() == 1,
		"%d rows at the server, %d clients", len(rows), with.Size())
	for i, c := range fed.Clients {
		want := slices.DeleteFunc(slices.Clone(c.Train), func(row int) bool { return slices.Contains(rows, row) })
		expect.That(t, slices.Equal(with.Clients[i].Train, want) && slices.Equal(with.Clients[i].Test, c.Test),
			"client %d has %d rows, want %d", i, len(with.Clients[i].Train), len(want))
		lost := float64(len(c.Train)-len(want)) / float64(len(c.Train))
		expect.That(t, lost >= 0.1 && lost <= 0.35, "client %d lost %v of its rows", i, lost) // of 1,437 rows, a fifth
	}
	again, other := expect.Value(fed.WithServer(fedkit.Server{Draw: 300, Seed: 2}))(t), expect.Value(fed.WithServer(fedkit.Server{Draw: 300, Seed: 3}))(t)
	expect.That(t, slices.Equal(again.Server.Clients[0].Train, rows) && !slices.Equal(other.Server.Clients[0].Train, rows),
		"the seed does not decide which rows are drawn")

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
		expect.That(t, slices.Equal(all.Clients[i].Train, part.Clients[i].Train), "client %d lost rows", i)
	}
	if a, b := part.Manifest(), all.Manifest(); a.Data != b.Data || a.Clients == b.Clients {
		t.Errorf("the server's rows are not in the manifest: %v", b)
	}
	swapped := datasets.Digits()
	swapped.Train.Labels = slices.Repeat([]int32{0}, swapped.Train.Len())
	moved := expect.Value(all.WithData(swapped, "one label"))(t)
	expect.That(t, moved.Server.Data == swapped && slices.Equal(moved.Server.Clients[0].Train, over),
		"the server has other data than the clients")
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
	far := floats.Distance(host(s.State.X), host(want.Models), math.Inf(1))
	expect.That(t, far <= 1e-6, "the server's model is %v from the client's", far)
	r := h.Last()
	expect.That(t, r.Server != nil && r.Server.Steps == 9 && math.Abs(float64(r.Server.Loss-want.Results[0].Loss)) <= 1e-6 && r.Server.Seconds == 0 && r.BytesDown+r.BytesUp == 0 && len(r.Results) == 0,
		"%+v, server %+v", r, r.Server)
	path := filepath.Join(t.TempDir(), "history")
	h = expect.Value(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 3, History: path}))(t)
	expect.That(t, (xla.Compilations()-warm) == 0, "%d programs were compiled after the first round, want 0", (xla.Compilations() - warm))
	back := expect.Value(fedkit.Load(path))(t)
	expect.That(t, *back.Last().Server == *h.Last().Server, "%+v was saved as %+v", h.Last().Server, back.Last().Server)
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
	far := expect.Value(outputs.State.X.Sub(models.State.X).Norms())(t)[0]
	expect.That(t, far <= 1e-5, "the two are %v apart", far)
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
	r := h.Last()
	expect.That(t, math.Abs(float64(r.Server.Seconds)-4.6) <= 1e-9 && math.Abs(float64(r.Clock)-4.6) <= 1e-9 && r.Server.Steps == 9,
		"%+v at %v s, want 9 steps in 4.6 s", r.Server, r.Clock)
	quick := expect.Value(expect.Value(federation(t, datasets.Digits(), model.MLP()).WithServer(fedkit.Server{Rows: fed.Server.Clients[0].Train}))(t).WithDevices(sim.Devices{PerExample: sim.Constant(1)}))(t)
	other := expect.Value(fedkit.Describe(quick, s, fedkit.Options{Rounds: 1}))(t)
	expect.That(t, other.DevicesHash != h.DevicesHash, "the server's device is not in the run's identity")
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

// byExample trains on labels that the job has per example, one-hot and as numbers.
type byExample struct{}

func (byExample) Loss(b *fedkit.Batch) *Node {
	loss := Neg(ReduceSum(Mul(LogSoftmax(b.Out, -1), b.PerExample("one-hot")), -1))
	same := ReduceSum(Mul(Sub(b.PerExample("one-hot"), OneHot(b.Y, 10, loss.DType())), b.PerExample("one-hot")), -1)
	return Add(loss, Mul(same, AddScalar(b.PerExample("number"), 100)))
}

// Numbers per example follow their examples through shuffled batches, epochs and clients of different sizes; a factor of the losses
// is a factor of η.
func TestPerExample(t *testing.T) {
	fed := federation(t, datasets.Digits(), model.MLP(8))
	start := expect.Value(fed.Models(1, 3))(t)
	job := fedkit.Job{Clients: []int{5, 0, 2, 3}, Start: start, Local: fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}}
	train := func(job fedkit.Job) *fedkit.Updates { return expect.Value(fed.Train(t.Context(), job, 7))(t) }
	models := func(u *fedkit.Updates) []float64 { return precision.Double(expect.Value(u.Models.Host())(t)) }
	lists := map[string][][]float32{"one-hot": nil, "number": nil}
	var ones, halves [][]float32
	for i, c := range job.Clients {
		n := len(fed.Clients[c].Train)
		ones, halves = append(ones, make([]float32, n)), append(halves, make([]float32, n))
		hot := make([]float32, 10*n)
		for j, row := range fed.Clients[c].Train {
			hot[10*j+int(fed.Data.Train.Labels[row])] = 1
			ones[i][j], halves[i][j] = 1, 0.5
		}
		lists["one-hot"], lists["number"] = append(lists["one-hot"], hot), append(lists["number"], ones[i])
	}
	plain, none, per, weighted, half, slow := job, job, job, job, job, job
	none.PerExample = map[string][][]float32{}
	per.Objective, per.PerExample = byExample{}, lists
	weighted.Weights, half.Weights = ones, halves
	slow.Local.LR /= 2
	for name, pair := range map[string][2]fedkit.Job{"labels per example": {per, plain}, "weights of 1": {weighted, plain}, "nothing": {none, plain}, "weights of ½ = half the rate": {half, slow}} {
		got, want := train(pair[0]), train(pair[1])
		far := floats.Distance(models(got), models(want), math.Inf(1))
		expect.That(t, far <= 1e-5, "%s: models are %v apart", name, far)
	}
	both := per
	both.Weights = halves
	far := floats.Distance(models(train(both)), models(train(slow)), math.Inf(1))
	expect.That(t, far <= 1e-5, "an objective and weights: models are %v apart", far)
	if got, want := train(half).Results[1].Loss, train(slow).Results[1].Loss; math.Abs(float64(2*got-want)) > 1e-4 {
		t.Errorf("a weighted loss of %v, want half of %v", got, want)
	}

	short, uneven, unnamed := job, job, job
	short.Weights = ones[:3]
	uneven.PerExample = map[string][][]float32{"a": {ones[0], ones[1], ones[2], ones[3][1:]}}
	unnamed.PerExample = map[string][][]float32{"": ones}
	missing := job
	missing.Objective = byExample{}
	for want, job := range map[string]fedkit.Job{
		"len(Job.Weights) = 3: must be 4, one per client":       short,
		`len(Job.PerExample["a"][3]) = `:                        uneven,
		`Job.PerExample = "": must be names that are not empty`: unnamed,
		`Job.PerExample has no "one-hot"`:                       missing,
	} {
		expect.Error(t, want)(fed.Train(t.Context(), job, 7))
	}
}
