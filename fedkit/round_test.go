package fedkit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/expect"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
)

// scripted is a strategy whose rounds are a function, for tests of what Round offers.
type scripted struct {
	do    func(r *Round, x *Matrix) *Matrix
	State struct{ X *Matrix }
}

func (s *scripted) Start(r *Round) error {
	s.State.X = r.Models(1)
	return r.Err()
}

func (s *scripted) Round(r *Round) error {
	s.State.X = s.do(r, s.State.X)
	return r.Err()
}

func (s *scripted) Serve(*Round) Serving { return Serving{Global: s.State.X} }

// play1 runs one round on the federation and returns its record.
func play1(t *testing.T, fed *Federation, do func(r *Round, x *Matrix) *Matrix) *Record {
	t.Helper()
	h := expect.Value(Run(context.Background(), fed, &scripted{do: do}, Options{Rounds: 1, Seed: 4}))(t)
	return h.Last()
}

// Every call of Train in a round draws batches of its own, unless it asks for those of an earlier one.
func TestCallsOfTrainDrawTheirOwnBatches(t *testing.T) {
	fed, _ := toy(t, 12, 9)
	job := Job{Clients: []int{0, 1}, Local: Local{Steps: 1, Batch: 4, LR: 0.1}}
	play1(t, fed, func(r *Round, x *Matrix) *Matrix {
		job.Start = x
		first, second := r.Train(job), r.Train(job)
		again := job
		again.ReuseBatches = 1
		third := r.Train(again)
		if n, err := first.Models.Sub(second.Models).Norms(); err != nil || slices.Min(n) == 0 {
			t.Errorf("two calls end %v apart, %v: they saw the same batches", n, err)
		}
		if n, err := first.Models.Sub(third.Models).Norms(); err != nil || floats.Norm(n, 1) != 0 {
			t.Errorf("with the batches of the first call: %v apart, %v, want 0", n, err)
		}
		return third.Models.Mean(nil)
	})
}

// noisy is an interceptor that adds 1 to every parameter.
type plusOne struct{}

func (plusOne) Intercept(u *Updates, _ *rand.Rand) *Matrix {
	return u.Models.Add(Zeros(1, u.Models.Cols()).Not())
}
func (plusOne) String() string { return "plus one" }

// What stays with a client is neither intercepted nor charged, and leaves what is recorded of the rest alone.
func TestOnlyWhatTravelsIsInterceptedAndCharged(t *testing.T) {
	honest, _ := toy(t, 12, 9)
	fed := honest.Intercept(plusOne{})
	d := fed.Task.Dim()
	job := Job{Clients: []int{0, 1}, Local: Local{Epochs: 1, Batch: 4, LR: 0.1}}
	train := func(fed *Federation, change func(*Job, *Round)) (rows [][]float64, r *Record) {
		r = play1(t, fed, func(r *Round, x *Matrix) *Matrix {
			j := job
			j.Start = x
			change(&j, r)
			u := r.Train(j)
			rows = rowsOf(t, u.Models)
			return x
		})
		return rows, r
	}
	model := int64(2 * 4 * d)
	w1 := int64(2 * 4 * 5 * 4) // of the parameters w1
	for _, c := range []struct {
		name     string
		change   func(*Job, *Round)
		hit      func(j int) bool
		down, up int64
	}{
		{"everything travels", func(*Job, *Round) {}, func(int) bool { return true }, model, model},
		{"nothing travels", func(j *Job, _ *Round) { j.StayLocal = true }, func(int) bool { return false }, 0, 0},
		{"w1 travels", func(j *Job, r *Round) { j.Communicated = r.Mask("w1") }, func(j int) bool { return j < 20 }, w1, w1},
		{"with a shift", func(j *Job, _ *Round) { j.Shift = Zeros(1, d) }, func(int) bool { return true }, 2 * model, model},
		{"with a shift that is there", func(j *Job, _ *Round) { j.Shift, j.Down = Zeros(1, d), 1 }, func(int) bool { return true }, model, model},
		{"with a mask for all", func(j *Job, r *Round) { j.Mask = r.Mask("w1") }, func(int) bool { return true }, model, model},
		{"with a mask per client", func(j *Job, r *Round) { j.Mask = r.Mask("w1").Repeat(2) }, func(int) bool { return true }, 2 * model, model},
		{"with a start that is there", func(j *Job, _ *Round) { j.Down, j.Up = Zero, 2 }, func(int) bool { return true }, 0, 2 * model},
	} {
		want, _ := train(honest, c.change)
		got, r := train(fed, c.change)
		if r.BytesDown != c.down || r.BytesUp != c.up {
			t.Errorf("%s: %d bytes down and %d up, want %d and %d", c.name, r.BytesDown, r.BytesUp, c.down, c.up)
		}
		for i := range want {
			for j := range want[i] {
				w := want[i][j]
				if c.hit(j) {
					w++
				}
				if math.Abs(got[i][j]-w) > 1e-5 {
					t.Fatalf("%s: client %d, parameter %d: %v arrived, want %v", c.name, i, j, got[i][j], w)
				}
			}
		}
	}
	var drift Float
	r := play1(t, honest, func(r *Round, x *Matrix) *Matrix {
		u := r.Train(Job{Clients: []int{0, 1}, Start: x, Local: job.Local})
		drift = u.Results[0].Drift
		r.Train(Job{Clients: []int{0, 1}, Start: x, Local: Local{Epochs: 9, Batch: 2, LR: 0.1}, StayLocal: true})
		return x
	})
	if got := r.Results[0]; got.Drift != drift || got.LR != 0.1 || got.Steps != 3+9*6 {
		t.Errorf("the row of client 0 is %+v after a private solve, want the drift of what traveled, %v", got, drift)
	}
}

// tilted is ⟨x, v⟩-like: the task's loss with the outputs shifted by what each client carries, plus λ/2 ‖w − a‖² to a model it carries.
type tilted struct{ Lambda float64 }

func (o tilted) Loss(b *Batch) *graph.Node {
	b.Report(b.Loss(b.Out))
	loss := b.Loss(graph.Add(b.Out, graph.InsertAxes(b.Extra("offset"), 1)))
	for l, a := range b.Model("anchor") {
		w := b.Params[l]
		d := graph.Reshape(graph.Sub(w, a), w.Shape().Dim(0), 1, -1)
		loss = graph.Add(loss, graph.MulScalar(graph.ReduceSum(graph.Square(d), -1), o.Lambda/2))
	}
	return loss
}

// A custom objective is minimized, and the loss it reports is recorded: here FedProx's, and logits shifted by client.
func TestObjective(t *testing.T) {
	fed, o := toy(t, 12, 9)
	d := o.Dim()
	anchor, local := randomMatrix(3, 2, d), Local{Steps: 1, Batch: FullBatch, LR: 0.3}
	play1(t, fed, func(r *Round, x *Matrix) *Matrix {
		job := Job{Clients: []int{0, 1}, Start: x, Local: local, Objective: tilted{0.7}, Extra: map[string]*Matrix{
			"anchor": anchor, "offset": Zeros(1, 3)}}
		plain := r.Train(Job{Clients: []int{0, 1}, Start: x, Local: local, Pulls: []Pull{{Weight: 0.7, To: anchor}}})
		got := r.Train(job)
		if n, err := got.Models.Sub(plain.Models).Norms(); err != nil || slices.Max(n) > 1e-6 {
			t.Errorf("%v, %v from the proximal solution", n, err)
		}
		if math.Abs(float64(got.Results[0].Loss-plain.Results[0].Loss)) > 1e-6 {
			t.Errorf("the loss is reported as %v, want that of the task, %v", got.Results[0].Loss, plain.Results[0].Loss)
		}
		// A name is only a name, even if lines of it are those of other inputs.
		named := map[string]*Matrix{"offset\nprox\nkey": Zeros(1, 3), "\x00\xff": Zeros(1, 3)}
		maps.Copy(named, job.Extra)
		strange := job
		strange.Extra = named
		if n, err := r.Train(strange).Models.Sub(got.Models).Norms(); err != nil || slices.Max(n) != 0 {
			t.Errorf("%v, %v from the solution without matrices of strange names", n, err)
		}
		// Shifting the logits is shifting the last biases, b2.
		offset := []float32{1, -2, 0.5, 0, 0.25, -1}
		job.Objective, job.Extra["offset"] = tilted{0}, NewMatrix(offset, 2, 3)
		shifted := JoinColumns(Zeros(2, d-3), NewMatrix(offset, 2, 3))
		got = r.Train(job)
		plain = r.Train(Job{Clients: []int{0, 1}, Start: shifted.Add(x), Local: local})
		if n, err := got.Delta().Sub(plain.Delta()).Norms(); err != nil || slices.Max(n) > 1e-6 {
			t.Errorf("%v, %v from the solution with other biases", n, err)
		}
		return x
	})
}

// An objective that asks for what the job does not carry, or whose type cannot be a key, is an error. So is a wrong optimizer.
func TestObjectivesThatCannotRun(t *testing.T) {
	fed, _ := toy(t, 4)
	for want, job := range map[string]Job{
		`Job.Extra has no "offset"`: {Objective: tilted{}},
		`Job.Extra["anchor"] is no model: it must have 39 columns`: {Objective: tilted{}, Extra: map[string]*Matrix{
			"offset": Zeros(1, 3), "anchor": Zeros(1, 7)}},
		"Job.Objective = a fedkit.wide: must be of a comparable type":      {Objective: wide{}},
		"Job.Objective = a *fedkit.tilted: must be a fedkit.tilted: a val": {Objective: &tilted{}},
		"loss of fedkit.summed = []: must be [1 2], one for each example":  {Objective: summed{}},
		"Job.Objective = a fedkit.behind: must be of a comparable type":    {Objective: behind{new(float64)}},
		"Job.StayLocal = true: must be false if Communicated or Up is set": {StayLocal: true, Up: 1},
		"Local.Optimizer = a *fedkit.Adam: must be a fedkit.Adam: a value": {Local: Local{Batch: 2, LR: 0.1, Optimizer: &Adam{}}},
		"fedkit.few returned 3 directions for 4 parameters":                {Local: Local{Batch: 2, LR: 0.1, Optimizer: few{3, 1}}},
		"fedkit.few returned 0 slots, but keeps 1":                         {Local: Local{Batch: 2, LR: 0.1, Optimizer: few{4, 0}}},
	} {
		_, err := Run(context.Background(), fed, &scripted{do: func(r *Round, x *Matrix) *Matrix {
			job.Clients, job.Start = []int{0}, x
			if job.Local.Optimizer == nil {
				job.Local = Local{Batch: 2, LR: 0.1}
			}
			return r.Train(job).Models
		}}, Options{Rounds: 1})
		expect.Error(t, want)(err)
	}
}

// few is an optimizer with a mistake.
type few struct{ Directions, Kept int }

func (o few) Slots() int { return 1 }

func (o few) Direction(_, g []*graph.Node, slots [][]*graph.Node, _ *graph.Node) ([]*graph.Node, [][]*graph.Node) {
	return g[:o.Directions], slots[:o.Kept]
}

// summed mixes the losses of all clients.
type summed struct{}

func (summed) Loss(b *Batch) *graph.Node { return graph.ReduceAllSum(b.Loss(b.Out)) }

// behind has a number that can change without its value becoming another.
type behind struct{ lambda *float64 }

func (o behind) Loss(b *Batch) *graph.Node { return graph.MulScalar(b.Loss(b.Out), *o.lambda) }

type wide struct{ _ []float64 }

func (wide) Loss(b *Batch) *graph.Node { return b.Loss(b.Out) }

func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		s    Schedule
		t    int
		want float64
	}{
		{Decay{}, 1, 1}, {Decay{}, 3, 0.99 * 0.99}, {Decay{Gamma: 0.1, Every: 10}, 10, 1}, {Decay{Gamma: 0.1, Every: 10}, 11, 0.1},
		{Cosine{Rounds: 11}, 1, 1}, {Cosine{Rounds: 11}, 6, 0.505}, {Cosine{Rounds: 11, Floor: 0.2}, 11, 0.2}, {Cosine{Rounds: 11}, 40, 0.01},
	} {
		if got := c.s.Factor(c.t); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%#v in round %d: %v, want %v", c.s, c.t, got, c.want)
		}
	}
}

// batchMean is an objective that takes a mean over the batch: the squared mean of the outputs.
type batchMean struct{}

func (batchMean) Loss(b *Batch) *graph.Node {
	used := graph.InsertAxes(b.Used, -1)
	mean := graph.Div(graph.ReduceAndKeep(graph.Mul(b.Out, used), graph.ReduceSum, 1), graph.ReduceAndKeep(used, graph.ReduceSum, 1))
	return graph.BroadcastToDims(graph.ReduceSum(graph.Square(mean), -1), b.Y.Shape().Dimensions...)
}

// A mean over the batch must not see the rows that fill it.
func TestObjectiveOverABatch(t *testing.T) {
	fed, o := toy(t, 12, 5)
	start := randomMatrix(5, 1, o.Dim())
	play1(t, fed, func(r *Round, x *Matrix) *Matrix {
		u := r.Train(Job{Clients: []int{0, 1}, Start: start, Local: Local{Batch: FullBatch, LR: 0.1}, Objective: batchMean{}})
		p := r.Predict(start, datasets.TrainPart, nil)
		for i, c := range fed.Clients {
			want := 0.0
			for k := range 3 {
				mean := 0.0
				for _, row := range c.Train {
					mean += float64(p[0].Outputs[row][k]) / float64(len(c.Train))
				}
				want += mean * mean
			}
			if got := float64(u.Results[i].Loss); math.Abs(got-want) > 1e-5*(1+want) {
				t.Errorf("client %d: loss %v, want %v", i, got, want)
			}
		}
		return x
	})
}

// firstRow returns one row for all, and watches what it is shown.
type firstRow struct{ seen *[]*Matrix }

func (b firstRow) Intercept(u *Updates, _ *rand.Rand) *Matrix {
	*b.seen = append(*b.seen, u.Models, u.Local, u.Start)
	return u.Models.Take(0)
}
func (firstRow) String() string { return "the first row" }

// An interceptor sees nothing of what does not travel, and must return a row for each that it was given.
func TestInterceptors(t *testing.T) {
	honest, o := toy(t, 4, 6)
	var seen []*Matrix
	_, err := Run(context.Background(), honest.Intercept(firstRow{&seen}), &scripted{do: func(r *Round, x *Matrix) *Matrix {
		return r.Train(Job{Clients: []int{0, 1}, Start: x, Local: Local{Batch: 2, LR: 0.1}, Communicated: r.Mask("w1")}).Models.Mean(nil)
	}}, Options{Rounds: 1})
	want := fmt.Sprintf("invalid: what the first row returned = [1, %d]: must be [2, %d]", o.Dim(), o.Dim())
	expect.Error(t, want)(err)
	for _, m := range seen {
		if n, err := m.Columns(20, o.Dim()).Norms(); err != nil || slices.Max(n) != 0 {
			t.Errorf("an interceptor sees %v, %v of what stays with the client", n, err)
		}
	}
}

// What is said of a client is of what it shares, and a client that was skipped says nothing of the others.
func TestSolvesOfSharedAndSkipped(t *testing.T) {
	fed, _ := toy(t, 4, 6, 5)
	h := expect.Value(Run(context.Background(), fed, &scripted{do: func(r *Round, x *Matrix) *Matrix {
		r.alike = true
		u := r.Train(Job{Clients: []int{0, 1, 2}, Start: x, Local: Local{Batch: 2, LR: 0.1}, LR: []float64{0.1, 1e30, 0.1}, Communicated: r.Mask("w1")})
		n, err := u.Delta().Columns(0, 20).Norms()
		if err != nil || math.Abs(n[1]-float64(u.Results[1].Drift)) > 1e-6 {
			t.Errorf("drift %v, want %v, %v", u.Results[1].Drift, n, err)
		}
		return u.Models.Mean(nil)
	}}, Options{Rounds: 1, NotFinite: Skip}))(t)
	for _, s := range h.Last().Results {
		if s.Skipped != (s.Client == 1) || math.IsNaN(float64(s.Similarity)) || (s.Similarity == 0) != s.Skipped {
			t.Errorf("%+v", s)
		}
	}
}

// A server program can work layer by layer.
func TestSplitAndJoin(t *testing.T) {
	fed, o := toy(t, 3)
	last := NewProgram("biases of the last layer alone", func(a []*graph.Node) *graph.Node {
		p := fed.Task.Split(a[0])
		for l := range p[:len(p)-1] {
			p[l] = graph.ZerosLike(p[l])
		}
		return fed.Task.Join(p)
	})
	x := randomMatrix(1, 2, o.Dim())
	want := x.Mul(ones(o.Dim(), o.Dim()-3).Not())
	if got := rowsOf(t, x.Apply(last)); !reflect.DeepEqual(got, rowsOf(t, want)) {
		t.Errorf("%v, want %v", got, rowsOf(t, want))
	}
}

// grouped is a strategy that groups its clients by their models, and nothing else.
type grouped struct {
	mean
	by cluster.Func
}

func (g *grouped) Round(r *Round) error {
	r.Cluster(g.by, r.Points(r.Models(r.Clients())), 2)
	return r.Err()
}

// A clustering that takes long does not keep a run that was canceled.
func TestClusteringHearsACancel(t *testing.T) {
	fed, _ := toy(t, 4, 4, 4)
	ctx, cancel := context.WithCancel(t.Context())
	over, late := make(chan bool), make(chan bool, 1)
	s := &grouped{by: func(p *cluster.Points, _ int, _ *rand.Rand) ([]int, error) {
		cancel()
		select {
		case <-over:
		case <-time.After(20 * time.Second): // Run waits for this function
			late <- true
		}
		return make([]int, p.Len()), nil
	}}
	_, err := Run(ctx, fed, s, Options{Rounds: 1})
	close(over)
	if !errors.Is(err, context.Canceled) || len(late) > 0 {
		t.Errorf("error %v, and Run waited for the clusterer: %v", err, len(late) > 0)
	}
}

// A panic in a clusterer is an error that says where, as elsewhere in a strategy.
func TestPanicInAClusterer(t *testing.T) {
	fed, _ := toy(t, 4, 4, 4)
	s := &grouped{by: func(*cluster.Points, int, *rand.Rand) ([]int, error) { panic("no idea") }}
	expect.Error(t, "cluster: panic: no idea\n\tcluster.Func.Cluster ")(Run(t.Context(), fed, s, Options{Rounds: 1}))
}

// Inner products of 100 rows take 12 bytes for each two of them. Too many are refused before they are computed, and by a strategy's Check
// before anything runs.
func TestPairsThatDoNotFitAreRefused(t *testing.T) {
	m := Zeros(100, 3)
	for _, bytes := range []float64{120_000, 119_999} {
		machine(t, bytes)
		_, points := m.Points()
		_, gram := m.Gram()
		for _, err := range []error{points, gram, new(Federation).FitsPairs("rows", 100)} {
			want := "invalid: rows = 100: must be at most 99: the products of each two take 120 kB, and 120 kB are free"
			if fits := bytes == 120_000; fits && err != nil || !fits && (err == nil || err.Error() != want) {
				t.Errorf("%.0f bytes: error %v, want %q", bytes, err, want)
			}
		}
	}
}

// Random rows depend on the seed, the round, the purpose and their client, and on nothing else.
func TestRandomRows(t *testing.T) {
	fed, _ := toy(t, 4, 4, 4)
	draw := func(seed uint64, round int, purpose string, clients ...int) [][]float64 {
		r := &Round{T: round, Fed: fed, opts: Options{Seed: seed}}
		return append(rowsOf(t, r.Normal(purpose, 3, clients...)), rowsOf(t, r.Uniform(purpose, 3, clients...))...)
	}
	all, some := draw(1, 2, "noise", 0, 1, 2), draw(1, 2, "noise", 2, 0)
	if !reflect.DeepEqual(some, [][]float64{all[2], all[0], all[5], all[3]}) {
		t.Errorf("%v, among others %v", some, all)
	}
	server := draw(1, 2, "noise")
	if len(server) != 2 {
		t.Errorf("%v for the server", server)
	}
	for _, other := range [][][]float64{all, draw(2, 2, "noise", 0, 1, 2), draw(1, 3, "noise", 0, 1, 2), draw(1, 2, "else", 0, 1, 2), server} {
		for _, row := range other {
			if &other[0] != &all[0] && slices.ContainsFunc(all, func(a []float64) bool { return a[0] == row[0] }) {
				t.Errorf("%v has a row of %v", other, all)
			}
		}
	}
	r := &Round{T: 1, Fed: fed}
	expect.Invalid(t, "d = 0: must be at least 1")(r.Uniform("noise", 0, 1).Err())
	expect.Invalid(t, "d = 0: must be at least 1")(r.Err())
}
