package strategy_test

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
)

// drawn is a regression of examples that each client draws: as many training examples as sizes says, then held test examples.
func drawn(t testing.TB, m fedkit.Model, inputs, held int, sizes []int, client func(i int) (group int, draw func() (x []float64, y float64))) *fedkit.Federation {
	t.Helper()
	d := &datasets.Dataset{Name: "drawn", Shape: []int{inputs}}
	var clients partition.Given
	for i, n := range sizes {
		var c partition.Client
		var draw func() ([]float64, float64)
		c.Group, draw = client(i)
		for j := range n + held {
			part, rows := &d.Train, &c.Train
			if j >= n {
				part, rows = &d.Test, &c.Test
			}
			*rows = append(*rows, part.Len())
			x, y := draw()
			part.Floats, part.Targets = append(part.Floats, precision.Single(x)...), append(part.Targets, float32(y))
		}
		clients = append(clients, c)
	}
	return expect.Value(fedkit.New(d, clients, m))(t)
}

// rivals is heterogeneous least squares for clients of the given sizes: each has its own solution and inputs.
func rivals(t testing.TB, m fedkit.Model, sizes ...int) *fedkit.Federation {
	t.Helper()
	rng := rand.New(rand.NewPCG(8, 21))
	return drawn(t, m, 3, 4, sizes, func(i int) (int, func() ([]float64, float64)) {
		own := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		return 0, func() (x []float64, y float64) {
			y = 0.2 * float64(i)
			for k, w := range own {
				x = append(x, rng.NormFloat64()*(0.5+0.5*float64((i+k)%3)))
				y += x[k] * w
			}
			return x, y
		}
	})
}

// solver is local SGD in float64, w ← w − η m ⊙ (∇f + pull), on the batches that fedkit draws.
type solver struct {
	fed  *fedkit.Federation
	net  oracle.MLP
	l    fedkit.Local
	seed uint64
}

// rowsOf returns the inputs and targets of some rows, or their labels.
func rowsOf(part *datasets.Split, rows []int) (x [][]float64, y []float64) {
	for _, r := range rows {
		x = append(x, precision.Double(part.Row(r, nil)))
		if part.Labels != nil {
			y = append(y, float64(part.Labels[r]))
		} else {
			y = append(y, float64(part.Targets[r]))
		}
	}
	return x, y
}

// train solves the local problem of a client in a round's call of Train, from 1. Each call draws its own batches. mask and pull may be nil.
func (s solver) train(round, call, client, epochs int, start, mask []float64, pull func(w []float64, j int) float64) (w []float64, steps int) {
	w = slices.Clone(start)
	v, momentum := make([]float64, len(w)), 0.0
	if o, is := s.l.Optimizer.(fedkit.Momentum); is {
		momentum = o.Beta
	}
	order := slices.Clone(s.fed.Clients[client].Train)
	for e := range epochs {
		ids := []int{round, client, e}
		if call > 1 {
			ids = append(ids, call)
		}
		fedkit.Random(s.seed, "batches", ids...).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for batch := range slices.Chunk(order, s.l.Batch) {
			x, y := rowsOf(&s.fed.Data.Train, batch)
			_, g := s.net.Gradient(w, x, y)
			for j := range w {
				if pull != nil {
					g[j] += pull(w, j)
				}
			}
			for j := range w {
				if v[j] = momentum*v[j] + g[j]; mask == nil || mask[j] == 1 {
					w[j] -= s.l.LR * v[j]
				}
			}
			steps++
		}
	}
	return w, steps
}

// plain is train with nothing but the gradient.
func (s solver) plain(round, call, client int, start []float64) []float64 {
	w, _ := s.train(round, call, client, s.l.Epochs, start, nil, nil)
	return w
}

// starts are a seed's first k models.
func starts(t testing.TB, fed *fedkit.Federation, seed uint64, k int) [][]float64 {
	t.Helper()
	return host(t, expect.Value(fed.Models(k, seed))(t))
}

// host returns the rows of a matrix.
func host(t testing.TB, m *fedkit.Matrix) [][]float64 {
	t.Helper()
	v := expect.Value(m.Host())(t)
	rows := make([][]float64, m.Rows())
	for i := range rows {
		rows[i] = precision.Double(v[i*m.Cols() : (i+1)*m.Cols()])
	}
	return rows
}

// agree reports whether two vectors are equal to within 1e-5 of the larger one's length.
func agree(got, want []float64) bool {
	return floats.Distance(got, want, 2) <= 1e-5*math.Max(1e-2, floats.Norm(want, 2))
}

// sameRows ends the test if a row of a matrix does not agree with the row wanted.
func sameRows(t testing.TB, m *fedkit.Matrix, want [][]float64, what string, args ...any) {
	t.Helper()
	for i, got := range host(t, m) {
		expect.Must(t, agree(got, want[i]), what+": row %d is %v, want %v", append(args, i, got, want[i]))
	}
}

// travel compares the bytes of a round.
func travel(t testing.TB, r *fedkit.Record, down, up int) {
	t.Helper()
	expect.That(t, r.BytesDown == int64(down) && r.BytesUp == int64(up),
		"round %d: %d bytes down and %d up, want %d and %d", r.Round, r.BytesDown, r.BytesUp, down, up)
}

// Algorithm 1 of the paper in plain Go, both options and with momentum, with unequal clients and half of them per round.
func TestScaffoldAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, seed = 8, 3
	for _, with := range []struct {
		β         float64
		gradients bool
	}{{0, false}, {0, true}, {0.5, false}} {
		β, gradients, l := with.β, with.gradients, fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1}
		if β > 0 {
			l.Optimizer = fedkit.Momentum{Beta: β}
		}
		fed := rivals(t, model.MLP(), uneven...)
		o := solver{fed, oracle.MLP{Sizes: []int{3, 1}, Regression: true}, l, seed}
		d, M := 4, float64(fed.Size())
		s := &strategy.SCAFFOLD{Fraction: 0.5, Local: l, Gradients: gradients}
		x, c := starts(t, fed, seed, 1)[0], make([]float64, d)
		ci := make([][]float64, fed.Size())
		for i := range ci {
			ci[i] = make([]float64, d)
		}
		for r := range each(t, fed, s, fedkit.Options{Rounds: rounds, Seed: seed}) {
			dx, dc := make([]float64, d), make([]float64, d)
			for at, i := range r.Clients() {
				w, steps := o.train(r.Round, 1, i, l.Epochs, x, nil, func(_ []float64, j int) float64 { return c[j] - ci[i][j] })
				sum, v := 0.0, 0.0 // of the weights of the gradients in x − w
				for range steps {
					v = β*v + 1
					sum += v
				}
				next := make([]float64, d)
				in, y := rowsOf(&fed.Data.Train, fed.Clients[i].Train)
				_, gradient := o.net.Gradient(x, in, y)
				for j := range d {
					next[j] = ci[i][j] - c[j] + (x[j]-w[j])/(sum*l.LR)
					if gradients {
						next[j] = gradient[j]
					}
					dx[j] += (w[j] - x[j]) / float64(len(r.Results))
					dc[j] += (next[j] - ci[i][j]) / M
				}
				if gradients {
					steps++ // the pass over all examples
				}
				expect.That(t, r.Results[at].Steps == steps, "round %d, client %d: %d steps, want %d", r.Round, i, r.Results[at].Steps, steps)
				ci[i] = next
			}
			floats.Add(x, dx)
			floats.Add(c, dc)
			sameRows(t, s.State.X, [][]float64{x}, "gradients %v, round %d: x", gradients, r.Round)
			sameRows(t, s.State.C, [][]float64{c}, "gradients %v, round %d: c", gradients, r.Round)
			sameRows(t, s.State.Ci, ci, "gradients %v, round %d: c_i", gradients, r.Round)
			travel(t, r, 2*4*d*len(r.Results), 2*4*d*len(r.Results)) // x and c down, Δ_i and c_i⁺ − c_i up
		}
	}
}

// The first round, with control variates of 0, is FedAvg's.
func TestScaffoldStartsAsFedAvg(t *testing.T) {
	fed, n := rivals(t, model.MLP(), uneven...), strategy.ByExamples{}
	for seed := range uint64(3) {
		o := fedkit.Options{Rounds: 1, Seed: seed}
		avg := &strategy.FedAvg{Fraction: 0.5, Local: standard}
		run(t, fed, avg, o)
		for _, s := range []*strategy.SCAFFOLD{
			{Fraction: 0.5, Weighting: n, Local: standard}, {Fraction: 0.5, Weighting: n, Local: standard, Gradients: true}, {Fraction: 0.5, Weighting: n, Local: standard, Aggregator: aggregate.Mean{}},
		} {
			run(t, fed, s, o)
			sameRows(t, s.State.X, host(t, avg.State.X), "seed %d: x", seed)
		}
	}
}

// A client that returns NaN is excluded from every sum, and keeps its control variate.
func TestScaffoldSkips(t *testing.T) {
	fed := rivals(t, model.MLP(), even...)
	for _, gradients := range []bool{false, true} {
		s := &strategy.SCAFFOLD{Local: standard, Gradients: gradients}
		h := run(t, fed.Intercept(poison(2)), s, fedkit.Options{Rounds: 3, NotFinite: fedkit.Skip})
		if s := h.Last().Results[2]; s.Client != 2 || !s.Skipped {
			t.Errorf("gradients %v: %+v, want client 2 skipped", gradients, h.Last().Results)
		}
		for i, c := range host(t, s.State.Ci) {
			expect.That(t, (floats.Norm(c, 2) == 0) == (i == 2), "gradients %v: c_%d = %v", gradients, i, c)
		}
	}
}

// poison is an interceptor that makes a client return NaN.
type poison int

func (poison) String() string { return "poison" }

func (p poison) Intercept(u *fedkit.Updates, _ *rand.Rand) *fedkit.Matrix {
	for i, c := range u.Clients() {
		if c == int(p) {
			v := make([]float32, u.Models.Cols())
			v[0] = float32(math.NaN())
			return u.Models.Put([]int{i}, fedkit.NewMatrix(v, 1, len(v)))
		}
	}
	return u.Models
}

// plusOne is an interceptor that adds 1 to every parameter.
type plusOne struct{}

func (plusOne) Intercept(u *fedkit.Updates, _ *rand.Rand) *fedkit.Matrix {
	return u.Models.Add(fedkit.Zeros(1, u.Models.Cols()).Not())
}
func (plusOne) String() string { return "plus one" }

// c_i comes from the client's own path: an attack on its upload does not change it.
func TestScaffoldVariatesAreNotForged(t *testing.T) {
	fed := quadratic(t, even...)
	variates := func(fed *fedkit.Federation, gradients bool) *fedkit.Matrix {
		s := &strategy.SCAFFOLD{Local: standard, Gradients: gradients}
		run(t, fed, s, fedkit.Options{Rounds: 1, Seed: 2})
		return s.State.Ci
	}
	for _, gradients := range []bool{false, true} {
		sameRows(t, variates(fed.Intercept(plusOne{}), gradients), host(t, variates(fed, gradients)), "gradients %v: c_i", gradients)
	}
}

// FedRep in plain Go, with unequal clients and half of them per round.
func TestFedRepAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, seed = 8, 5
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.05}
	fed := rivals(t, model.MLP(3), uneven...)
	o := solver{fed, oracle.MLP{Sizes: []int{3, 3, 1}, Regression: true}, l, seed}
	d, split := 3*3+3+3+1, 3*3+3 // the last layer is the head
	head, body := make([]float64, d), make([]float64, d)
	for j := range d {
		if j < split {
			body[j] = 1
		} else {
			head[j] = 1
		}
	}
	x := starts(t, fed, seed, 1)[0]
	heads := make([][]float64, fed.Size())
	for i := range heads {
		heads[i] = x[split:]
	}
	s := &strategy.FedRep{HeadEpochs: 3, Local: l, Fraction: 0.5}
	for r := range each(t, fed, s, fedkit.Options{Rounds: rounds, Seed: seed}) {
		var bodies [][]float64
		var n []float64
		for at, i := range r.Clients() {
			w, before := o.train(r.Round, 1, i, 3, append(append([]float64(nil), x[:split]...), heads[i]...), head, nil)
			start := w
			w, steps := o.train(r.Round, 2, i, 1, start, body, nil)
			heads[i] = w[split:]
			bodies, n = append(bodies, w[:split]), append(n, float64(len(fed.Clients[i].Train)))
			expect.That(t, r.Results[at].Steps == before+steps,
				"round %d, client %d: %d steps, want %d", r.Round, i, r.Results[at].Steps, before+steps)
			drift := floats.Distance(w, start, 2)
			expect.That(t, math.Abs(float64(r.Results[at].Drift)-drift) <= 1e-6+1e-5*drift,
				"round %d, client %d: drift %v, want that of the body, %v", r.Round, i, r.Results[at].Drift, drift)
		}
		copy(x, meanOf(bodies, nil, n))
		sameRows(t, s.State.X.Columns(0, split), [][]float64{x[:split]}, "round %d: body", r.Round)
		sameRows(t, s.State.W.Columns(split, d), heads, "round %d: heads", r.Round)
		travel(t, r, 4*split*len(r.Results), 4*split*len(r.Results)) // the body alone
		expect.That(t, r.Global == nil, "there is no global model")
		// Each client is served the body with its own head, whether it has participated or not.
		for i, c := range fed.Clients {
			in, y := rowsOf(&fed.Data.Test, c.Test)
			loss, _ := o.net.Gradient(append(append([]float64(nil), x[:split]...), heads[i]...), in, y)
			got := float64(r.Scores[i].Loss)
			expect.That(t, math.Abs(got-loss) <= 1e-4*(1e-3+loss),
				"round %d: client %d is served a model of loss %v, want %v", r.Round, i, got, loss)
		}
	}
}

// Heads by the names of layers and of parameters.
func TestFedRepKnowsTheLayers(t *testing.T) {
	fed := rivals(t, model.MLP(3), 8, 8)
	for _, c := range []struct {
		head []string
		want int64 // parameters of the body
	}{
		{nil, 12}, {[]string{"dense2"}, 12}, {[]string{"dense1"}, 4}, {[]string{"dense2/biases"}, 15},
		{[]string{"dense1/biases", "dense2"}, 9}, {[]string{}, 16},
	} {
		h := run(t, fed, &strategy.FedRep{Head: c.head, Local: standard}, fedkit.Options{Rounds: 2})
		expect.That(t, h.Last().BytesUp == 4*2*c.want, "head %v: %d bytes up, want %d", c.head, h.Last().BytesUp, 4*2*c.want)
	}
	expect.Invalid(t)(fedkit.Run(context.Background(), fed, &strategy.FedRep{Head: []string{"dense"}}, fedkit.Options{Rounds: 1}))
}

// By hand: hist is 4, then 0.3·2 + 0.7·4 = 3.4 after the drift of 2.
func TestAdaptiveMu(t *testing.T) {
	for _, c := range []struct {
		mu, low, high float64
		epochs        int
		drift         []float64
		want          float64
		smoothing     float64 // 0 for 0.3
	}{
		{0.1, 0.001, 1, 1, nil, 0.1, 0},
		{0.1, 0.001, 1, 0, nil, 0.1, 0},
		{0.1, 0.001, 1, 6, nil, 0.15, 0},
		{0.1, 0.001, 1, 1, []float64{4}, 0.1, 0},
		{0.1, 0.001, 1, 1, []float64{4, 2}, 0.05, 0},
		{0.1, 0.001, 1, 11, []float64{4, 2}, 0.1, 0},
		{0.1, 0.001, 1, 1, []float64{4, 2, 5}, 0.1 * 5 / 3.4, 0},
		{0.1, 0.001, 1, 1, []float64{4, 100}, 1, 0},
		{0.1, 0.001, 1, 1, []float64{4, 0}, 0.001, 0},
		{0.1, 0.001, 1, 1, []float64{0, 0}, 0.001, 0},
		{3, 0.001, 1, 1, nil, 1, 0},
		{0.1, 0.001, 1, 1, []float64{4, 2, 5}, 0.1 * 5 / 2, 1},
	} {
		got := strategy.AdaptiveMu(c.mu, c.low, c.high, cmp.Or(c.smoothing, 0.3), c.epochs, c.drift)
		expect.That(t, math.Abs(got-c.want) <= 1e-8, "μ after drifts %v with E = %d: %v, want %v", c.drift, c.epochs, got, c.want)
	}
}

// The recorded μ_i follow the formula from the drifts recorded before, even after a resume. Half of the clients take part per round.
func TestMuAdaptsToTheRecord(t *testing.T) {
	fed := quadratic(t, uneven...)
	for _, c := range []struct {
		s      func() fedkit.Strategy
		mu     float64
		epochs int
		most   float64 // which some μ_i reaches
		o      fedkit.Options
	}{
		{func() fedkit.Strategy {
			return &strategy.FedProx{Fraction: 0.5, Local: standard, Adaptive: true, Mu: 0.05}
		}, 0.05, 2, 0.055, fedkit.Options{Rounds: 9, Seed: 4, EvalEvery: 3}},
		{func() fedkit.Strategy { return &strategy.SmartFedProx{} }, 0.1, 1, 0.1, fedkit.Options{Rounds: 40, Seed: 3}},
	} {
		c.o.Checkpoint = t.TempDir() + "/checkpoint"
		for h, err := range fedkit.Rounds(t.Context(), fed, c.s(), c.o) {
			if expect.OK(t, err); len(h.Rounds) == 5 {
				break
			}
		}
		h := run(t, fed, c.s(), c.o)
		drift, values, adapted := make([][]float64, fed.Size()), []float64{}, 0
		for _, r := range h.Rounds {
			for i, client := range r.Clients() {
				want := strategy.AdaptiveMu(c.mu, 0.001, 1, 0.3, c.epochs, drift[client])
				got := float64(r.Results[i].Mu)
				expect.That(t, got == want, "%s, round %d, client %d: μ = %v, want %v", h.Name, r.Round, client, got, want)
				drift[client] = append(drift[client], float64(r.Results[i].Drift))
				if values = append(values, want); want != c.mu {
					adapted++
				}
			}
		}
		expect.That(t, len(values) == 3*c.o.Rounds && 2*adapted >= len(values)-12 && slices.Min(values) < c.mu && slices.Max(values) >= c.most,
			"%s: μ was adapted %d times of %d: %v", h.Name, adapted, len(values), values)
	}
}

// The problem of the paper's theory (§4): the targets of client i are ⟨h_i, B x⟩, with two features B of twelve inputs
// shared by all, and their own h_i. With eight examples a client cannot find B alone, and one model for all gets h_i
// wrong. FedRep finds both.
func TestFedRepSharesTheBody(t *testing.T) {
	expect.Long(t, "a curve")
	const inputs, each = 12, 8
	rng := rand.New(rand.NewPCG(5, 2))
	normal := func(n int) (v []float64) {
		for range n {
			v = append(v, rng.NormFloat64())
		}
		return v
	}
	b1, b2 := normal(inputs), normal(inputs)
	linear := func(*datasets.Dataset) (*fedkit.Task, error) {
		return &fedkit.Task{
			Name: "two linear layers",
			Params: []fedkit.Param{
				{Name: "body/weights", Shape: []int{inputs, 2}, Init: model.He(2 * inputs)}, {Name: "body/biases", Shape: []int{2}},
				{Name: "head/weights", Shape: []int{2, 1}, Init: model.He(4)}, {Name: "head/biases", Shape: []int{1}},
			},
			Forward: func(p []*graph.Node, x *graph.Node) *graph.Node {
				return model.Dense(model.Dense(x, p[0], p[1]), p[2], p[3])
			},
		}, nil
	}
	fed := drawn(t, linear, inputs, each, slices.Repeat([]int{each}, 40), func(int) (int, func() ([]float64, float64)) {
		h := normal(2)
		return 0, func() ([]float64, float64) {
			x := normal(inputs)
			return x, (h[0]*floats.Dot(b1, x) + h[1]*floats.Dot(b2, x)) / math.Sqrt(inputs)
		}
	})
	l := fedkit.Local{Batch: fedkit.FullBatch, LR: 0.1}
	loss := func(s fedkit.Strategy) float64 {
		return float64(run(t, fed, s, fedkit.Options{Rounds: 300, EvalEvery: 300}).Last().Mean().Loss)
	}
	rep, alone, avg := loss(&strategy.FedRep{HeadEpochs: 5, Local: l}), loss(&strategy.LocalOnly{Local: l}), loss(&strategy.FedAvg{Local: l})
	expect.That(t, rep <= 0.02*alone && rep <= 0.02*avg, "FedRep has a loss of %v on unseen examples, LocalOnly %v, FedAvg %v", rep, alone, avg)
}
