package fedkit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/sim"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// scripted is a strategy whose rounds are a function, for tests of what Round offers.
type scripted struct {
	do    func(r *Round, x *Matrix) *Matrix
	State struct{ X *Matrix }
}

func (s *scripted) Start(r *Round) error { s.State.X = r.Models(1); return r.Err() }
func (s *scripted) Round(r *Round) error { s.State.X = s.do(r, s.State.X); return r.Err() }
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
		n, err := first.Models.Sub(third.Models).Norms()
		expect.That(t, err == nil && floats.Norm(n, 1) == 0, "with the batches of the first call: %v apart, %v, want 0", n, err)
		return third.Models.Mean(nil)
	})
}

// plusOne is an interceptor that adds 1 to every parameter, and keeps what it sees.
type plusOne struct{ seen *[]float32 }

func (p plusOne) Intercept(u *Updates, _ *rand.Rand) *Matrix {
	if p.seen != nil {
		*p.seen, _ = u.Models.Host()
	}
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
		expect.That(t, r.BytesDown == c.down && r.BytesUp == c.up,
			"%s: %d bytes down and %d up, want %d and %d", c.name, r.BytesDown, r.BytesUp, c.down, c.up)
		for i := range want {
			for j := range want[i] {
				w := want[i][j]
				if c.hit(j) {
					w++
				}
				expect.Must(t, math.Abs(got[i][j]-w) <= 1e-5, "%s: client %d, parameter %d: %v arrived, want %v", c.name, i, j, got[i][j], w)
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
	got := r.Results[0]
	expect.That(t, got.Drift == drift && got.LR == 0.1 && got.Steps == 3+9*6,
		"the row of client 0 is %+v after a private solve, want the drift of what traveled, %v", got, drift)
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
		expect.That(t, math.Abs(float64(got.Results[0].Loss-plain.Results[0].Loss)) <= 1e-6,
			"the loss is reported as %v, want that of the task, %v", got.Results[0].Loss, plain.Results[0].Loss)
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
		n, err := got.Delta().Sub(plain.Delta()).Norms()
		expect.That(t, err == nil && slices.Max(n) <= 1e-6, "%v, %v from the solution with other biases", n, err)
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
		got := c.s.Factor(c.t)
		expect.That(t, math.Abs(got-c.want) <= 1e-12, "%#v in round %d: %v, want %v", c.s, c.t, got, c.want)
	}
}

// The sum of what gradients weigh in the sum of three steps: 3 of SGD, and 1 + (1 + β) + (1 + β + β²) with momentum.
func TestStepSum(t *testing.T) {
	for _, c := range []struct {
		l    Local
		want float64
	}{
		{Local{}, 3}, {Local{LR: 0.1, Optimizer: SGD{}, KeepMemory: true}, 3}, {Local{Optimizer: Momentum{Beta: 0.5}}, 1 + 1.5 + 1.75},
		{Local{Optimizer: Momentum{}}, 1 + 1.9 + 2.71}, {Local{Optimizer: WeightDecay{Lambda: 1, Then: Momentum{Beta: 0.5}}}, 1 + 1.5 + 1.75},
		{Local{Optimizer: Momentum{}, KeepMemory: true}, 0}, {Local{Optimizer: Adam{}}, 0}, {Local{Optimizer: WeightDecay{Then: Adam{}}}, 0}, {Local{Optimizer: WeightDecay{}}, 3},
	} {
		is := c.l.StepSum(3)
		expect.That(t, math.Abs(is-c.want) < 1e-12, "%+v: %v, want %v", c.l, is, c.want)
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
			got := float64(u.Results[i].Loss)
			expect.That(t, math.Abs(got-want) <= 1e-5*(1+want), "client %d: loss %v, want %v", i, got, want)
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
		n, err := m.Columns(20, o.Dim()).Norms()
		expect.That(t, err == nil && slices.Max(n) == 0, "an interceptor sees %v, %v of what stays with the client", n, err)
	}
}

// What is said of a client is of what it shares, and a client that was skipped says nothing of the others.
func TestSolvesOfSharedAndSkipped(t *testing.T) {
	fed, _ := toy(t, 4, 6, 5)
	h := expect.Value(Run(context.Background(), fed, &scripted{do: func(r *Round, x *Matrix) *Matrix {
		r.alike = true
		u := r.Train(Job{Clients: []int{0, 1, 2}, Start: x, Local: Local{Batch: 2, LR: 0.1}, LR: []float64{0.1, 1e30, 0.1}, Communicated: r.Mask("w1")})
		n, err := u.Delta().Columns(0, 20).Norms()
		expect.That(t, err == nil && math.Abs(n[1]-float64(u.Results[1].Drift)) <= 1e-6, "drift %v, want %v, %v", u.Results[1].Drift, n, err)
		return u.Models.Mean(nil)
	}}, Options{Rounds: 1, NotFinite: Skip}))(t)
	for _, s := range h.Last().Results {
		expect.That(t, s.Skipped == (s.Client == 1) && !math.IsNaN(float64(s.Similarity)) && (s.Similarity == 0) == s.Skipped, "%+v", s)
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
	got := rowsOf(t, x.Apply(last))
	expect.That(t, reflect.DeepEqual(got, rowsOf(t, want)), "%v, want %v", got, rowsOf(t, want))
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
	expect.That(t, errors.Is(err, context.Canceled) && len(late) <= 0, "error %v, and Run waited for the clusterer: %v", err, len(late) > 0)
}

// A panic in a clusterer is an error that says where, as elsewhere in a strategy.
func TestPanicInAClusterer(t *testing.T) {
	fed, _ := toy(t, 4, 4, 4)
	s := &grouped{by: func(*cluster.Points, int, *rand.Rand) ([]int, error) { panic("no idea") }}
	expect.Error(t, "cluster: panic: no idea\n\tcluster.Func.Cluster ")(Run(t.Context(), fed, s, Options{Rounds: 1}))
}

// Inner products of 100 rows take 12 bytes for each pair of them. Too many are refused before they are computed, and by a strategy's Check
// before anything runs.
func TestPairsThatDoNotFitAreRefused(t *testing.T) {
	m := Zeros(100, 3)
	for _, bytes := range []float64{120_000, 119_999} {
		machine(t, bytes)
		_, points := m.Points()
		_, gram := m.Gram()
		for _, err := range []error{points, gram, new(Federation).FitsPairs("rows", 100)} {
			want := "invalid: rows = 100: must be at most 99: the products of all pairs take 120 kB, and 120 kB are free"
			fits := bytes == 120_000
			expect.That(t, (!fits || err == nil) && (fits || err != nil && err.Error() == want), "%.0f bytes: error %v, want %q", bytes, err, want)
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
	expect.That(t, reflect.DeepEqual(some, [][]float64{all[2], all[0], all[5], all[3]}), "%v, among others %v", some, all)
	server := draw(1, 2, "noise")
	expect.That(t, len(server) == 2, "%v for the server", server)
	for _, other := range [][][]float64{all, draw(2, 2, "noise", 0, 1, 2), draw(1, 3, "noise", 0, 1, 2), draw(1, 2, "else", 0, 1, 2), server} {
		for _, row := range other {
			expect.That(t, &other[0] == &all[0] || !slices.ContainsFunc(all, func(a []float64) bool { return a[0] == row[0] }),
				"%v has a row of %v", other, all)
		}
	}
	r := &Round{T: 1, Fed: fed}
	expect.Invalid(t, "d = 0: must be at least 1")(r.Uniform("noise", 0, 1).Err())
	expect.Invalid(t, "d = 0: must be at least 1")(r.Err())
}

// peek is a selector that keeps what it is told of the clients before it chooses all of them.
type peek struct{ seen *[][]ClientResult }

func (peek) UsesSimilarity() bool { return true }

func (p peek) Select(r *Round, _ int) []int {
	*p.seen = nil
	for _, c := range r.AllClients() {
		past := r.Past(c)
		if last, rounds := r.Last(c); rounds != len(past) || rounds > 0 && last != past[rounds-1] {
			r.Fail(fmt.Errorf("client %d: %+v of %d rounds, the past is %+v", c, last, rounds, past))
		}
		*p.seen = append(*p.seen, slices.Clone(past))
	}
	return r.AllClients()
}

// picky is mean with that selector, two jobs a round and μ by client.
type picky struct {
	seen  *[][]ClientResult `config:"-"`
	State struct{ X *Matrix }
}

func (*picky) UsesPast() bool         { return true }
func (s *picky) Start(r *Round) error { s.State.X = r.Models(1); return r.Err() }

func (s *picky) Round(r *Round) error {
	S := r.Select(peek{s.seen}, 0)
	l := Local{Batch: 4, LR: 0.1}
	r.Train(Job{Clients: S, Start: s.State.X, Local: l})
	u := r.Train(Job{Clients: S, Start: s.State.X, Local: l, Pulls: []Pull{{Weights: []float64{0.5, 0.25, 1}}}})
	s.State.X = u.Models.Mean(nil)
	return r.Err()
}

func (s *picky) Serve(*Round) Serving { return Serving{Global: s.State.X, Clusters: nil} }

func TestPastIsWhatTheRecordsSay(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	var whole, resumed [][]ClientResult
	h := expect.Value(Run(context.Background(), fed, &picky{seen: &whole}, Options{Rounds: 4}))(t)
	for c, past := range whole {
		expect.Must(t, len(past) == 3, "client %d: %+v, want three rounds", c, past)
		for i, r := range h.Rounds[:3] {
			expect.Must(t, len(r.Results) == 3 && r.Results[c].Steps == []int{2, 6, 2}[c], "two jobs in a round: %+v", r.Results)
			expect.That(t, past[i] == r.Results[c] && past[i].Round == i+1 && past[i].Examples == []int{4, 9, 2}[c] && past[i].Mu == []Float{0.5, 0.25, 1}[c],
				"client %d, round %d: %+v; the record says %+v", c, i+1, past[i], r.Results[c])
			s := past[i].Similarity
			expect.That(t, s > 0 && s <= 1+1e-6, "client %d, round %d: similarity %v", c, i+1, s)
		}
	}

	o := Options{Rounds: 4, Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
	upTo(t, fed, &picky{seen: &resumed}, o, 2)
	expect.Value(Run(context.Background(), fed, &picky{seen: &resumed}, o))(t)
	expect.That(t, reflect.DeepEqual(whole, resumed), "after a resume the past is %+v, want %+v", resumed, whole)
}

// asks is a strategy that may have the past though the history leaves it out.
type asks struct {
	picky
	uses bool
}

func (s *asks) UsesPast() bool { return s.uses }

func TestPastIsThereForThoseWhoAsk(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	light := Options{Rounds: 3, Keep: Keep{Results: Never}}
	var seen [][]ClientResult
	if _, err := Run(context.Background(), fed, &asks{picky{seen: &seen}, true}, light); err != nil || len(seen[0]) != 2 {
		t.Errorf("%v, and the past is %+v", err, seen)
	}
	expect.Invalid(t, "Options.Keep.Results = -1: must be left out")(Run(context.Background(), fed, &asks{picky{seen: &seen}, false}, light))
}

// nudge moves what the last client sends by a number.
type nudge float64

func (n nudge) Intercept(u *Updates, rng *rand.Rand) *Matrix {
	last := len(u.Results) - 1
	shift := slices.Repeat([]float32{float32(n)}, u.Models.Cols())
	shift[0] += float32(rng.Float64())
	return u.Models.Put([]int{last}, u.Models.Take(last).Add(NewMatrix(shift, 1, len(shift))))
}

func (nudge) String() string { return "nudged" }

func TestIntercept(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	bad := fed.Intercept(nudge(2)).Intercept(nudge(3))
	expect.That(t, strings.HasSuffix(bad.Rule, "; nudged; nudged"), "rule %q", bad.Rule)
	l := Local{Batch: 4, LR: 0.1}
	var states [3][]float32
	var records [3]Record
	for i, f := range []*Federation{fed, bad, bad} {
		s := &mean{Local: l}
		h := expect.Value(Run(context.Background(), f, s, Options{Rounds: 1, Seed: 3, Concurrency: 1 + i}))(t)
		states[i] = expect.Value(s.State.X.Host())(t)
		records[i] = h.Rounds[0]
	}
	expect.That(t, slices.Equal(states[1], states[2]), "the same seed gives other bytes")
	d := len(states[0])
	for j := 1; j < d; j++ { // the last client has 2 of 15 examples
		if got, want := float64(states[1][j]-states[0][j]), 5*2.0/15; math.Abs(got-want) > 1e-5 {
			t.Errorf("parameter %d moved by %v, want %v", j, got, want)
		}
	}
	expect.That(t, records[1].Results[1].Drift == records[0].Results[1].Drift && records[1].Results[2].Drift > 5,
		"%+v, without interceptors %+v", records[1].Results, records[0].Results)
}

func TestWithData(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	d := *fed.Data
	d.Train.Labels = slices.Clone(d.Train.Labels)
	slices.Reverse(d.Train.Labels)
	other := expect.Value(fed.Intercept(nudge(1)).WithData(&d, "raised"))(t)
	expect.That(t, strings.HasSuffix(other.Rule, "; nudged; raised") && len(other.interceptors) == 1,
		"rule %q, %d interceptors", other.Rule, len(other.interceptors))
	d.Shape = append([]int{1}, d.Shape...)
	expect.Error(t, "data = ")(fed.WithData(&d, "x"))
}

func TestMask(t *testing.T) {
	fed, _ := toy(t, 4)
	task := *fed.Task
	task.Params = []Param{{Name: "a/weights", Shape: []int{2, 1}}, {Name: "a/biases", Shape: []int{1}}, {Name: "ab/weights", Shape: []int{2}}}
	for want, layers := range map[string][]string{"[1 1 1 0 0]": {"a"}, "[0 0 1 0 0]": {"a/biases"}, "[1 1 1 1 1]": {"a", "ab"}, "[0 0 0 0 0]": nil} {
		got, err := task.Mask(layers...)
		expect.That(t, err == nil && fmt.Sprint(got) == want, "%v: %v, %v; want %s", layers, got, err, want)
	}
	expect.Error(t, `layer = "b": must be one of a/weights, a/biases, ab/weights, or the part of one before a slash`)(task.Mask("b"))
}

// needy is a part that looks at the federation.
type needy struct{}

func (needy) Check(fed *Federation, _ int) error {
	if len(fed.Clients) < 2 {
		return Invalid("Size", len(fed.Clients), "at least 2")
	}
	return nil
}

// wordless is an interceptor that cannot describe itself.
type wordless struct{ nudge }

func (wordless) String() string { panic("no words") }

// No method of a federation that is nil, or that New did not make, panics: those that need one say so.
func TestFederationsThatNewDidNotMake(t *testing.T) {
	ctx, of := context.Background(), reflect.TypeFor[*Federation]()
	for _, fed := range []*Federation{nil, {}} {
		for i := range of.NumMethod() {
			name, method := of.Method(i).Name, reflect.ValueOf(fed).Method(i)
			var args []reflect.Value
			for j := range method.Type().NumIn() {
				if arg := reflect.Zero(method.Type().In(j)); arg.Type() == reflect.TypeFor[context.Context]() {
					args = append(args, reflect.ValueOf(ctx))
				} else {
					args = append(args, arg)
				}
			}
			out := method.Call(args)
			err, fails := out[len(out)-1].Interface().(error)
			if name == "Fits" || name == "FitsPairs" || name == "NeedsValidation" || name == "AllTrained" {
				expect.That(t, !fails, "%s without a federation: %v", name, err)
			} else if last := out[len(out)-1].Type(); last == reflect.TypeFor[error]() && (!fails || !strings.Contains(err.Error(), "invalid: federation = nil: must be made by fedkit.New")) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if _, err := Run(ctx, fed.Intercept(nudge(1)), &mean{}, Options{Rounds: 1}); err == nil || err.Error() != "fedkit: invalid: federation = nil: must be made by fedkit.New" {
			t.Errorf("a run with an interceptor: %v", err)
		}
	}
	err := Check(needy{}, nil, 3)
	expect.That(t, errors.Is(err, ErrInvalid) && strings.HasPrefix(err.Error(), "needy: invalid: federation = nil: must be made by fedkit.New: panic without one: "),
		"Check: %v", err)
	fed, _ := toy(t, 4, 4)
	for want, by := range map[string]Interceptor{"interceptor = nil": nil, "interceptor = nil: must be a fedkit.Interceptor": (*wordless)(nil), "interceptor: panic: no words": wordless{}} {
		expect.Error(t, want)(Run(ctx, fed.Intercept(by), &mean{}, Options{Rounds: 1}))
	}
}

func TestHistoriesKeepTheManifest(t *testing.T) {
	fed, _ := toy(t, 4, 9)
	h, err := Run(context.Background(), fed, &mean{Local: Local{Batch: 4, LR: 0.1}}, Options{Rounds: 1})
	expect.OK(t, err)
	file := filepath.Join(t.TempDir(), "h.json")
	expect.OK(t, h.Save(file))
	back := expect.Value(Load(file))(t)
	want := fed.Manifest()
	expect.That(t, back.Manifest != nil && reflect.DeepEqual(*back.Manifest, want) && len(want.Data) == 64 && len(want.Clients) == 64,
		"manifest %v, want %v", back.Manifest, want)

	// Other data have another manifest; who stands between clients and server has no part in it.
	d := *fed.Data
	d.Train.Labels = slices.Clone(d.Train.Labels)
	d.Train.Labels[0] = 1 - d.Train.Labels[0]%2
	other := expect.Value(fed.WithData(&d, "raised"))(t)
	was, is, same := fed.Manifest(), other.Manifest(), fed.Intercept(nudge(1)).Manifest()
	expect.That(t, was.Data != is.Data && was.Clients == is.Clients && reflect.DeepEqual(was, same),
		"manifests %v, %v with other data, %v with an interceptor", was, is, same)

	// A history from before manifests were kept.
	h.Manifest = nil
	expect.OK(t, h.Save(file))
	if back, err = Load(file); err != nil || back.Manifest != nil {
		t.Errorf("%v, %v", back.Manifest, err)
	}
}

// frozen is the toy federation with its first layer's weights frozen: 20 of 39 parameters, 80 bytes of 156.
func frozen(t testing.TB, sizes ...int) (fed, plain *Federation) {
	t.Helper()
	plain, _ = toy(t, sizes...)
	return expect.Value(New(plain.Data, partition.Given(plain.Clients), func(*datasets.Dataset) (*Task, error) { return plain.Task.Freeze("w1") }))(t), plain
}

// Frozen parameters are those of a mask in every job, bit by bit, also with an optimizer that would move them and with a mask of the
// job's own.
func TestFrozenIsMasked(t *testing.T) {
	fed, plain := frozen(t, 4, 9, 2)
	local := Local{Epochs: 2, Batch: 4, LR: 0.1, Optimizer: WeightDecay{Lambda: 0.1, Then: Adam{}}}
	for _, own := range []string{"w1", "b1"} {
		a := &mean{Local: local, Before: func(r *Round, j *Job) { j.Mask = r.Mask("w1", own).Not() }}
		b := &mean{Local: local}
		if own != "w1" {
			b.Before = func(r *Round, j *Job) { j.Mask = r.Mask(own).Not() }
		}
		expect.Value(Run(context.Background(), plain, a, Options{Rounds: 3}))(t)
		expect.Value(Run(context.Background(), fed, b, Options{Rounds: 3}))(t)
		if x, y := expect.Value(a.State.X.Host())(t), expect.Value(b.State.X.Host())(t); !slices.Equal(x, y) {
			t.Errorf("%s: %v, want %v", own, y, x)
		}
	}
}

// sending is a mean of clients to which models are sent in several ways.
type sending struct {
	mean
	Kind  string
	State struct {
		X        *Matrix
		InFlight InFlight
	}
}

func (s *sending) Start(r *Round) error {
	s.State.X, s.State.InFlight = r.Models(1), InFlight{}
	return r.Err()
}

func (s *sending) Serve(*Round) Serving { return Serving{Global: s.State.X} }

func (s *sending) Round(r *Round) error {
	job := Job{Clients: []int{0}, Start: s.State.X, Local: s.Local}
	switch s.Kind {
	case "all":
		job.Clients = r.AllClients()
	case "one by one":
		job.Clients = []int{r.T / 2}
	case "a part":
		job.Communicated = r.Mask("w1", "b1")
	case "nothing":
		job.StayLocal = true
	case "losses before":
		r.Losses(r.Models(2), datasets.TrainPart, job.Clients)
		job.Down = Zero
	case "asynchronous":
		job.Clients = nil
		u := r.TrainAsync(&s.State.InFlight, Async{Concurrency: 2, Selector: SelectorFunc(func(r *Round, n int) []int { return r.Candidates()[:n] }), Job: job})
		s.State.X = u.Models.Mean(nil)
		return r.Err()
	}
	u := r.Train(job)
	s.State.X = u.Models.Mean(u.Examples())
	return r.Err()
}

// A model travels without its frozen parameters, which a client receives with its first one: also if it only compares losses, in an
// asynchronous round, or after a resume.
func TestFrozenTravelsOnce(t *testing.T) {
	fed, _ := frozen(t, 4, 9, 2)
	const model, base = 76, 80
	expect.Must(t, fed.Task.Bytes() == model, "%d bytes, want %d", fed.Task.Bytes(), model)
	local := Local{Epochs: 1, Batch: 4, LR: 0.1}
	for kind, c := range map[string]struct{ down, up []int64 }{ // by round
		"all":           {[]int64{3 * (model + base), 3 * model, 3 * model}, []int64{3 * model, 3 * model, 3 * model}},
		"one by one":    {[]int64{model + base, model + base, model}, []int64{model, model, model}},
		"a part":        {[]int64{base + 16, 16, 16}, []int64{16, 16, 16}},
		"nothing":       {[]int64{0, 0, 0}, []int64{0, 0, 0}},
		"losses before": {[]int64{2*model + base, 2 * model, 2 * model}, []int64{model, model, model}},
		"asynchronous":  {[]int64{2 * (model + base), model, model}, []int64{model, model, model}},
	} {
		s := &sending{mean: mean{Local: local}, Kind: kind}
		o := Options{Rounds: 2, Checkpoint: filepath.Join(t.TempDir(), "c")}
		expect.Value(Run(context.Background(), fed, s, o))(t)
		o.Rounds = 3
		h := expect.Value(Run(context.Background(), fed, s, o))(t)
		var down, up []int64
		for _, r := range h.Rounds {
			down, up = append(down, r.BytesDown), append(up, r.BytesUp)
		}
		expect.That(t, slices.Equal(down, c.down) && slices.Equal(up, c.up), "%s: down %v, up %v, want %v and %v", kind, down, up, c.down, c.up)
	}
}

// On the simulated clock, a client's first download is longer.
func TestFrozenTakesItsTime(t *testing.T) {
	fed, _ := frozen(t, 4, 9, 2)
	fed = expect.Value(fed.WithDevices(sim.Devices{Down: sim.Constant(4), Up: sim.Constant(2)}))(t)
	s := &mean{Local: Local{Epochs: 1, Batch: 4, LR: 0.1}, Before: func(r *Round, j *Job) { j.Clients = []int{0} }}
	h := expect.Value(Run(context.Background(), fed, s, Options{Rounds: 2}))(t)
	if a, b := h.Rounds[0].Clock, h.Rounds[1].Clock-h.Rounds[0].Clock; a != (76+80)/4+76/2 || b != 76/4+76/2 {
		t.Errorf("%v and %v s", a, b)
	}
}

// Interceptors neither see nor change frozen parameters, and all models that are drawn have the same.
func TestFrozenIsNotSeen(t *testing.T) {
	fed, _ := frozen(t, 4, 9, 2)
	var seen []float32
	s := &mean{Local: Local{Epochs: 1, Batch: 4, LR: 0.1}}
	expect.Value(Run(context.Background(), fed.Intercept(plusOne{&seen}), s, Options{Rounds: 1}))(t)
	models := expect.Value(expect.Value(fed.Models(3, 0))(t).Host())(t)
	x, d := expect.Value(s.State.X.Host())(t), fed.Task.Dim()
	for i := range d {
		first := models[i]
		expect.That(t, i < 20 == (models[d+i] == first && models[2*d+i] == first && seen[i] == 0 && math.Abs(float64(x[i]-first)) < 1e-6),
			"parameter %d: drawn %v, %v and %v, seen %v, trained %v", i, first, models[d+i], models[2*d+i], seen[i], x[i])
	}
}

func TestFreezeRefuses(t *testing.T) {
	fed, plain := frozen(t, 4, 9, 2)
	expect.Invalid(t, `layer = "w3": must be one of w1, b1, w2, b2`)(plain.Task.Freeze("w3"))
	expect.Invalid(t, "layers = [w1 w2 b1 b2]: must be not all of them")(plain.Task.Freeze("w1", "w2", "b1", "b2"))
	expect.Invalid(t, "layers = []: must be at least one")(plain.Task.Freeze())
	expect.That(t, fed.Task.Name == "toy, w1 frozen" && !plain.Task.Params[0].Frozen, "%s, %v", fed.Task.Name, plain.Task.Params[0])
	a, b := expect.Value(plain.fingerprint(nil, ""))(t), expect.Value(fed.fingerprint(nil, ""))(t)
	expect.That(t, a != b, "freezing changes no fingerprint")
}

// The parameters of a layer need not be neighbors, and frozen ones are of none.
func TestLayers(t *testing.T) {
	task := &Task{Params: []Param{{Name: "a/w", Shape: []int{2}}, {Name: "a/b", Shape: []int{1}}, {Name: "b", Shape: []int{2}}, {Name: "c/d/w", Shape: []int{1}, Frozen: true}, {Name: "a/s", Shape: []int{1}}}}
	layers := task.Layers()
	expect.Must(t, len(layers) == 2 && layers[0].Name == "a" && layers[0].Size == 4 && layers[1].Name == "b" && layers[1].Size == 2,
		"%+v", layers)
	m := NewMatrix([]float32{1, 2, 4, 3, 4, 9, 10, 0, 0, 0, 0, 0, 9, 2}, 2, 7)
	norms := expect.Value(m.NormsBy(layers))(t)
	for i, want := range [][]float64{{11, 5}, {2, 0}} {
		expect.That(t, slices.Equal(norms[i], want), "row %d: %v, want %v", i, norms[i], want)
	}
	got := expect.Value(m.Layers(layers[1], layers[0]).Host())(t)
	expect.That(t, slices.Equal(got, []float32{3, 4, 1, 2, 4, 10, 0, 0, 0, 0, 0, 2}), "%v", got)
	expect.Invalid(t, `layers = "a": must be one of models with 3 parameters`)(Zeros(1, 3).NormsBy(layers))
	expect.Invalid(t, "layers = none: must be at least one")(m.Layers().Host())
	expect.Error(t)(Failed(context.Canceled).NormsBy(layers))
}

// taught is a loss with everything that an Objective can have: the task's own, a teacher's outputs, a number per client, and the mean
// of the batch's examples.
type taught struct{}

func (taught) Loss(b *Batch) *graph.Node {
	far := graph.ReduceSum(graph.Square(graph.Sub(b.Out, b.Forward(b.Model("teacher")))), -1) // [C, B]
	n := graph.MaxScalar(graph.ReduceAndKeep(b.Used, graph.ReduceSum, -1), 1)
	b.Report(b.Loss(b.Out))
	return graph.Add(b.Loss(b.Out), graph.Mul(b.Extra("weight"), graph.Div(graph.Mul(far, n), n)))
}

// nothing is a loss whose gradient is 0.
type nothing struct{}

func (nothing) Loss(b *Batch) *graph.Node { return graph.StopGradient(b.Loss(b.Out)) }

// Without noise, clipping to a norm that no gradient has is plain SGD, with an Objective and partial batches too.
func TestClippingNothingIsSGD(t *testing.T) {
	fed, o := toy(t, 3, 17, 8, 1, 12, 5)
	d := o.Dim()
	job := Job{Clients: sequence(6), Start: randomMatrix(5, 6, d), Local: Local{Epochs: 2, Batch: 4, LR: 0.1}, Objective: taught{},
		Extra: map[string]*Matrix{"teacher": randomMatrix(6, 6, d), "weight": NewMatrix([]float32{0, 0.1, 0.2, 0.3, 0.4, 0.5}, 6, 1)}}
	for name, objective := range map[string]Objective{"the task's loss": nil, "an objective": taught{}} {
		job.Objective, job.Local.ClipExamples = objective, 0
		plain := solve(t, fed, 2, job, 1, 1)
		job.Local.ClipExamples = 1e6
		clipped := solve(t, fed, 2, job, 1, 1)
		want, got := rowsOf(t, plain.Models), rowsOf(t, clipped.Models)
		for i := range want {
			apart := floats.Distance(want[i], got[i], math.Inf(1))
			expect.That(t, apart <= 1e-6, "%s, client %d: %v from plain SGD", name, i, apart)
			if a, b := float64(plain.Results[i].Loss), float64(clipped.Results[i].Loss); math.Abs(a-b) > 1e-6*(1+a) {
				t.Errorf("%s, client %d: loss %v, want %v", name, i, b, a)
			}
		}
	}
}

// The noise of a step is −η z C N(0, I) / n, drawn for every client, round and step, whichever clients train with it and on however many
// workers.
func TestNoiseOfClippedGradients(t *testing.T) {
	const eta, z, c = 0.5, 1.5, 2.0
	sizes := slices.Repeat([]int{3, 4}, 20) // 4 examples, or 3 and a row that fills the batch
	fed, o := toy(t, sizes...)
	job := Job{Clients: sequence(len(sizes)), Start: Zeros(1, o.Dim()), Local: Local{Steps: 1, Batch: 4, LR: eta, ClipExamples: c, Noise: z}, Objective: nothing{}}
	normal := func(u *Updates) (noise []float64) {
		for i, row := range rowsOf(t, u.Delta()) {
			noise = append(noise, floats.ScaleTo(row, -float64(len(fed.Clients[u.Results[i].Client].Train))/(eta*z*c), row)...)
		}
		return noise
	}
	first := solve(t, fed, 1, job, 1, 1)
	noise := normal(first)
	again := normal(solve(t, fed, 2, job, 1, 1))
	expect.That(t, slices.Equal(noise, again), "another number of workers draws other noise")
	two := job
	two.Local.Steps = 2
	two.Start = job.Start
	second := normal(solve(t, fed, 1, two, 1, 1))
	floats.Sub(second, noise)
	other := normal(solve(t, fed, 1, job, 1, 2))
	seed := normal(solve(t, fed, 1, job, 2, 1))
	call := func(j Job) []float64 {
		return normal(expect.Value(j.solve(context.Background(), fed, engine.Here(1), 1, 1, 2, nil))(t))
	}
	reused := job
	reused.ReuseBatches = 1
	expect.That(t, slices.Equal(call(reused), call(job)) && !slices.Equal(call(reused), noise),
		"another call of a round does not draw noise of its own, whichever batches it has")
	half := len(noise) / 2
	for name, pair := range map[string][2][]float64{"steps": {noise, second}, "rounds": {noise, other}, "seeds": {noise, seed}, "clients": {noise[:half], noise[half:]}} {
		r := stat.Correlation(pair[0], pair[1], nil)
		expect.That(t, math.Abs(r) <= 4/math.Sqrt(float64(len(pair[0]))), "the noise of two %s has a correlation of %v", name, r)
	}
	all := slices.Concat(noise, second, other, seed)
	mean, variance := stat.MeanVariance(all, nil)
	n := math.Sqrt(float64(len(all)))
	expect.That(t, math.Abs(mean) <= 4/n && math.Abs(variance-1) <= 4*math.Sqrt2/n && math.Abs(stat.ExKurtosis(all, nil)) <= 4*math.Sqrt(24)/n,
		"%d numbers of mean %v, variance %v and excess kurtosis %v, want those of N(0, 1)", len(all), mean, variance, stat.ExKurtosis(all, nil))
	job.Clients = []int{7}
	alone := normal(solve(t, fed, 1, job, 1, 1))
	expect.That(t, floats.Distance(alone, noise[7*o.Dim():8*o.Dim()], math.Inf(1)) <= 1e-5, "client 7 draws other noise when it trains alone")
	e := expect.Value(fed.engine())(t)
	fed.lazy.Engine = e.WithWidth(engine.Width{Even: 3, Uneven: 3, Memory: 1 << 20})
	job.Clients = sequence(len(sizes))
	narrow := normal(solve(t, fed, 1, job, 1, 1))
	expect.That(t, floats.Distance(narrow, noise, math.Inf(1)) <= 1e-5, "clients draw other noise when fewer train side by side")
}

// What has no gradients of single examples is refused by name.
func TestClippingRefusals(t *testing.T) {
	fed, _ := toy(t, 3, 4)
	with := func(change func(*Task)) *Federation {
		task, other := *fed.Task, *fed
		task.Params = slices.Clone(task.Params)
		change(&task)
		other.Task = &task
		return &other
	}
	clip := Local{Batch: 4, LR: 1, ClipExamples: 1}
	for want, c := range map[string]struct {
		fed   *Federation
		local Local
	}{
		"Noise = 1: must be 0 without ClipExamples":  {fed, Local{Batch: 4, LR: 1, Noise: 1}},
		"ClipExamples = -1: must be":                 {fed, Local{Batch: 4, LR: 1, ClipExamples: -1}},
		"ClipExamples = 1: must be 0 for toy: GoMLX": {with(func(t *Task) { t.Train = func(*Training) func() *graph.Node { return nil } }), clip},
		"ClipExamples = 1: must be 0 for toy: ":      {with(func(t *Task) { t.Params[1].Running = true }), clip},
		"Batch = 4: must be":                         {with(func(t *Task) { t.Params[0].Shape = []int{1 << 40} }), clip},
	} {
		err := Check(c.local, c.fed, 1)
		expect.That(t, errors.Is(err, ErrInvalid) && strings.Contains(err.Error(), want), "error %v, want %s", err, want)
	}
}
