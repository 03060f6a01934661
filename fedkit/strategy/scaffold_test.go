package strategy_test

import (
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
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// rivals is heterogeneous least squares for clients of the given sizes: each has its own solution and inputs.
func rivals(t testing.TB, m fedkit.Model, sizes ...int) *fedkit.Federation {
	t.Helper()
	rng := rand.New(rand.NewPCG(8, 21))
	d := &datasets.Dataset{Name: "rivals", Shape: []int{3}}
	var clients partition.Given
	for i, n := range sizes {
		own := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		var c partition.Client
		for j := range n + 4 {
			part, rows := &d.Train, &c.Train
			if j >= n {
				part, rows = &d.Test, &c.Test
			}
			*rows = append(*rows, part.Len())
			y := 0.2 * float64(i)
			for k, w := range own {
				x := rng.NormFloat64() * (0.5 + 0.5*float64((i+k)%3))
				part.Floats = append(part.Floats, float32(x))
				y += x * w
			}
			part.Targets = append(part.Targets, float32(y))
		}
		clients = append(clients, c)
	}
	return expect.Value(fedkit.New(d, clients, m))(t)
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
				if mask == nil || mask[j] == 1 {
					w[j] -= s.l.LR * g[j]
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
		if !agree(got, want[i]) {
			t.Fatalf(what+": row %d is %v, want %v", append(args, i, got, want[i])...)
		}
	}
}

// travel compares the bytes of a round.
func travel(t testing.TB, r *fedkit.Record, down, up int) {
	t.Helper()
	if r.BytesDown != int64(down) || r.BytesUp != int64(up) {
		t.Errorf("round %d: %d bytes down and %d up, want %d and %d", r.Round, r.BytesDown, r.BytesUp, down, up)
	}
}

// Algorithm 1 of the paper in plain Go, both options, with unequal clients and half of them per round.
func TestScaffoldAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, seed = 8, 3
	l := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1}
	for _, gradients := range []bool{false, true} {
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
				next := make([]float64, d)
				in, y := rowsOf(&fed.Data.Train, fed.Clients[i].Train)
				_, gradient := o.net.Gradient(x, in, y)
				for j := range d {
					next[j] = ci[i][j] - c[j] + (x[j]-w[j])/(float64(steps)*l.LR)
					if gradients {
						next[j] = gradient[j]
					}
					dx[j] += (w[j] - x[j]) / float64(len(r.Results))
					dc[j] += (next[j] - ci[i][j]) / M
				}
				if gradients {
					steps++ // the pass over all examples
				}
				if r.Results[at].Steps != steps {
					t.Errorf("round %d, client %d: %d steps, want %d", r.Round, i, r.Results[at].Steps, steps)
				}
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

// With heterogeneous clients and many local steps, FedAvg misses the minimum of their mean loss, which the normal equations
// give. SCAFFOLD reaches it, with all clients or half of them per round (arXiv 1910.06378, §5).
func TestScaffoldReachesTheOptimum(t *testing.T) {
	expect.Long(t, "a curve")
	fed := rivals(t, model.MLP(), 20, 20, 20, 20, 20, 20)
	a, b := mat.NewSymDense(4, nil), mat.NewVecDense(4, nil)
	for _, c := range fed.Clients {
		x, y := rowsOf(&fed.Data.Train, c.Train)
		for i := range x {
			v := mat.NewVecDense(4, append(x[i], 1))
			a.SymRankOne(a, 1, v)
			b.AddScaledVec(b, y[i], v)
		}
	}
	var best mat.VecDense
	expect.OK(t, best.SolveVec(a, b))
	l := fedkit.Local{Steps: 20, Batch: fedkit.FullBatch, LR: 0.1}
	gap := func(s fedkit.Strategy, x func() *fedkit.Matrix) float64 {
		run(t, fed, s, fedkit.Options{Rounds: 300, EvalEvery: 300})
		return floats.Distance(host(t, x())[0], best.RawVector().Data, 2)
	}
	avg := &strategy.FedAvg{Local: l}
	if d := gap(avg, func() *fedkit.Matrix { return avg.State.X }); d < 0.05 {
		t.Errorf("FedAvg ends %v from the optimum: the problem is too easy", d)
	}
	for _, s := range []*strategy.SCAFFOLD{{Local: l}, {Local: l, Gradients: true}, {Local: l, Fraction: 0.5}, {Local: l, Fraction: 0.5, Gradients: true}} {
		if d := gap(s, func() *fedkit.Matrix { return s.State.X }); !(d < 1e-5) {
			t.Errorf("SCAFFOLD, fraction %v, gradients %v: ends %v from the optimum", s.Fraction, s.Gradients, d)
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
			if (floats.Norm(c, 2) == 0) != (i == 2) {
				t.Errorf("gradients %v: c_%d = %v", gradients, i, c)
			}
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
