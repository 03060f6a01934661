package strategy_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/convex"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// squares is least squares on which clients disagree.
func squares(t testing.TB) *fedkit.Federation {
	t.Helper()
	d := expect.Value(datasets.LeastSquares{Clients: 8, Rows: 40, Features: 6, Heterogeneity: 1, Seed: 4}.Make())(t)
	return federation(t, d, partition.Natural{}, model.LinearRegression())
}

// logistic is logistic regression on which clients disagree.
func logistic(t testing.TB) *fedkit.Federation {
	t.Helper()
	d := expect.Value(datasets.Logistic{Clients: 8, Rows: 40, Features: 6, Classes: 3, Heterogeneity: 1, Seed: 4}.Make())(t)
	return federation(t, d, partition.Natural{}, model.LogisticRegression())
}

func federation(t testing.TB, d *datasets.Dataset, rule partition.Rule, m fedkit.Model) *fedkit.Federation {
	t.Helper()
	return expect.Value(fedkit.New(d, rule, m))(t)
}

// unequal is least squares with clients of unequal sizes.
func unequal(t testing.TB) *fedkit.Federation {
	t.Helper()
	d := expect.Value(datasets.LeastSquares{Clients: 1, Rows: 60, Features: 3, Seed: 2}.Make())(t)
	return federation(t, d, partition.Quantity{Clients: 5, Alpha: 1, Seed: 1}, model.LinearRegression())
}

// gaps returns the relative gap to the optimum with λ after every round.
func gaps(t testing.TB, fed *fedkit.Federation, s fedkit.Strategy, rounds int, l2 float64) (all []float64) {
	t.Helper()
	for _, r := range run(t, fed, convex.WithRegressionGap(s, l2), fedkit.Options{Rounds: rounds, EvalEvery: rounds}).Rounds {
		all = append(all, float64(r.Notes["relative gap"]))
	}
	return all
}

// A study stores a run with its gaps, and finds it again.
func TestGapInAStudy(t *testing.T) {
	fed := squares(t)
	st := study.New(t.TempDir())
	st.Log = io.Discard
	st.Add(fed, convex.WithRegressionGap(&strategy.FedSplit{Exact: true}, 0), fedkit.Options{Rounds: 5})
	for range 2 {
		runs := expect.Value(st.Run(t.Context()))(t)
		if gap, ok := runs.Histories()[0].Last().Notes["relative gap"]; !ok || gap > 0.01 || len(runs) != 1 || runs[0].Rounds != 5 {
			t.Errorf("a gap of %v (%v) in %v", gap, ok, runs)
		}
	}
}

// Theorem 1 of the paper: with s = 1/√(ℓL), FedSplit reaches the optimum, and the distance falls by (√κ − 1)/(√κ + 1) per round
// or faster; on least squares the rate is the spectral radius of its map. FedAvg and FedProx do not reach it.
func TestFedSplitHasTheRateOfTheTheorem(t *testing.T) {
	expect.Long(t, "a curve")
	for _, c := range []struct {
		made          func(testing.TB) *fedkit.Federation
		l2            float64
		rounds, first int
	}{{squares, 0, 30, 5}, {logistic, 0.1, 25, 4}} {
		fed := c.made(t)
		least, most := expect.Values(convex.Curvature(fed, c.l2))(t)
		step, root := 1/math.Sqrt(least*most), math.Sqrt(most/least)
		all, bound := gaps(t, fed, &strategy.FedSplit{Exact: true, Step: step, L2: c.l2}, c.rounds, c.l2), (root-1)/(root+1)
		until := slices.IndexFunc(all, func(g float64) bool { return g < 1e-11 })
		if until < 0 && c.l2 == 0 && all[c.rounds-1] < 1e-9 {
			until = c.rounds - 1
		}
		expect.Must(t, until > c.first, "%s: relative gaps %.2g, want some below 1e-11", fed.Task.Name, all)
		rate := math.Pow(all[until]/all[c.first], 1/float64(2*(until-c.first))) // the gap is the distance squared
		t.Logf("%s: κ %.4g, s %.4g; bound %.4f, measured %.4f", fed.Task.Name, root*root, step, bound, rate)
		expect.That(t, rate <= bound, "%s: distances fall by %v per round, the bound is %v", fed.Task.Name, rate, bound)
		if c.l2 == 0 {
			want := expect.Value(convex.SplitRate(fed, 0, step))(t)
			expect.That(t, want <= bound && math.Abs(rate-want) <= 0.05*want,
				"distances fall by %v per round; the spectral radius is %v, the bound %v", rate, want, bound)
		}
	}
}

// Strategies that end at a known optimum on which clients disagree, and which ones miss it. Inexact solves of FedSplit have it as their fixed point, with any
// number of steps, if they start from x; from 2x − z_i they end in a neighborhood that shrinks with the number of steps. Clients are
// weighted by examples, as in the mean loss over all of them, and equal ones act as if there were one. Sketches of Hessians do not move the
// fixed point. SCAFFOLD reaches it with all clients or half of them per round (arXiv 1910.06378, §5).
func TestWhoReachesTheOptimum(t *testing.T) {
	expect.Long(t, "curves")
	fed, labeled, uneven := squares(t), logistic(t), unequal(t)
	alone, twins := *uneven.Data, *uneven.Data
	for _, part := range []*datasets.Split{&twins.Train, &twins.Test} {
		for i, n := 0, part.Len(); i < 3*n; i++ {
			part.Owner = append(part.Owner[:i:i], int32(i/n))
		}
		part.Floats, part.Targets = slices.Repeat(part.Floats, 3), slices.Repeat(part.Targets, 3)
	}
	least, most := expect.Values(convex.Curvature(fed, 0))(t)
	root := math.Sqrt(least * most)
	ends := func(name string, fed *fedkit.Federation, s fedkit.Strategy, rounds int, l2 float64, reaches bool) float64 {
		last := gaps(t, fed, s, rounds, l2)[rounds-1]
		expect.That(t, reaches && last < 1e-9 || !reaches && last > 1e-6, "%s of %s: ends with a relative gap of %v", name, fed, last)
		return last
	}
	before := math.Inf(1)
	for _, e := range []int{1, 3, 10} {
		l := fedkit.Local{Steps: e, Batch: fedkit.FullBatch, LR: 1 / (root + (least+most)/2)}
		ends("FedSplit", fed, &strategy.FedSplit{Step: 1 / root, Local: l}, 50, 0, true)
		last := gaps(t, fed, &strategy.FedSplit{Step: 1 / root, Local: l, ColdStart: true}, 50, 0)[49]
		expect.That(t, last < before/3 && (e == 10 || last >= 1e-6), "%d steps from 2x − z_i: a relative gap of %v, after %v with fewer", e, last, before)
		before = last
	}
	l := fedkit.Local{Steps: 10, Batch: fedkit.FullBatch, LR: 0.05}
	for _, fed := range []*fedkit.Federation{uneven, federation(t, &alone, partition.Natural{}, model.LinearRegression()), federation(t, &twins, partition.Natural{}, model.LinearRegression())} {
		ends("FedSplit, exact", fed, &strategy.FedSplit{Exact: true}, 120, 0, true)
		ends("FedSplit, inexact", fed, &strategy.FedSplit{Local: l}, 120, 0, true)
	}
	ends("FedSplit, sketched", fed, &strategy.FedSplit{Newton: 1, Sketch: 60}, 60, 0, true)
	ends("FedSplit, sketched", labeled, &strategy.FedSplit{Newton: 1, Sketch: 60, L2: 0.1}, 60, 0.1, true)
	l = fedkit.Local{Steps: 20, Batch: fedkit.FullBatch, LR: 0.1}
	for _, s := range []*strategy.SCAFFOLD{{Local: l}, {Local: l, Gradients: true}, {Local: l, Fraction: 0.5}, {Local: l, Fraction: 0.5, Gradients: true}} {
		ends(fmt.Sprintf("SCAFFOLD, fraction %v, gradients %v", s.Fraction, s.Gradients), fed, s, 300, 0, true)
	}
	l.LR, l.Optimizer = 0.3, fedkit.WeightDecay{Lambda: 0.1}
	ends("FedAvg", labeled, &strategy.FedAvg{Local: l}, 30, 0.1, false)
	ends("FedProx", labeled, &strategy.FedProx{Mu: 0.2, Local: l}, 30, 0.1, false)
}

// FedAvg with several steps, and FedProx, converge to other points, as in theory (arXiv 2005.05238, section 2).
func TestOthersStopBesideTheOptimum(t *testing.T) {
	expect.Long(t, "a curve")
	fed, uneven := squares(t), unequal(t)
	steps := func(n int) fedkit.Local { return fedkit.Local{Steps: n, Batch: fedkit.FullBatch, LR: 0.1} }
	tied := func(l fedkit.Local, mu float64) fedkit.Local { l.Prox = mu; return l }
	decayed := steps(20)
	decayed.Optimizer = fedkit.WeightDecay{Lambda: 0.3}
	for name, c := range map[string]struct {
		s    fedkit.Strategy
		same fedkit.Local
		fed  *fedkit.Federation
	}{
		"FedAvg, K = 20":          {&strategy.FedAvg{Local: steps(20)}, steps(20), fed},
		"FedAvg, K = 20, unequal": {&strategy.FedAvg{Local: steps(20)}, steps(20), uneven},
		"FedAvg, K = 20, λ = 0.3": {&strategy.FedAvg{Local: decayed}, decayed, fed},
		"FedProx, K = 200, μ = ½": {&strategy.FedProx{Mu: 0.5, Local: steps(200)}, tied(steps(200), 0.5), fed},
		"FedProx, K = 5, μ = ½":   {&strategy.FedProx{Mu: 0.5, Local: steps(5)}, tied(steps(5), 0.5), fed},
		"FedAvg, one step":        {&strategy.FedAvg{Local: steps(1)}, steps(1), fed},
	} {
		point := expect.Value(convex.FixedPoint(c.fed, c.same))(t)
		last, best := slices.Max(gaps(t, c.fed, c.s, 120, 0)[119:]), precision.Double(expect.Value(convex.FixedPoint(c.fed, steps(1)))(t))
		want, x := precision.Double(point), host(t, c.s.Serve(nil).Global)[0]
		off := floats.Distance(want, best, 2)
		t.Logf("%s: relative gap %.4g, distance to the optimum %.4g, to the fixed point %.2g", name, last, off, floats.Distance(x, want, 2))
		if name == "FedAvg, one step" {
			expect.That(t, last <= 1e-9 && off <= 1e-5,
				"%s: ends with a relative gap of %v, fixed point %v from the optimum, want 0", name, last, off)
			continue
		}
		expect.That(t, last >= 1e-3, "%s: the relative gap is %v: the problem is too easy", name, last)
		d := floats.Distance(x, want, 2)
		expect.That(t, d < 0.01*off, "%s: ends %v from its fixed point, which is %v from the optimum", name, d, off)
	}
}

// FedProx's fixed point converges to that of exact solves, x = mean of (H_i + μI)⁻¹(b_i + μx): there, the clients' solves'
// differences x − w_i sum to 0.
func TestFixedPointOfExactSolves(t *testing.T) {
	fed := squares(t)
	const mu = 0.5
	x := expect.Value(convex.FixedPoint(fed, fedkit.Local{Steps: 10_000, Batch: fedkit.FullBatch, LR: 0.1, Prox: mu}))(t)
	sum, d := mat.NewVecDense(len(x), nil), len(x)
	for _, c := range fed.Clients {
		rows, y := rowsOf(&fed.Data.Train, c.Train)
		h, b := mat.NewDense(d, d, nil), mat.NewVecDense(d, nil)
		for r := range rows {
			v := mat.NewVecDense(d, append(rows[r], 1))
			h.RankOne(h, 1/float64(len(rows)), v, v)
			b.AddScaledVec(b, y[r]/float64(len(rows)), v)
		}
		for j := range d {
			h.Set(j, j, h.At(j, j)+mu)
			b.SetVec(j, b.AtVec(j)+mu*float64(x[j]))
		}
		var w mat.VecDense
		expect.OK(t, w.SolveVec(h, b))
		sum.AddVec(sum, &w)
	}
	for j := range d {
		mean := sum.AtVec(j) / float64(fed.Size())
		expect.That(t, math.Abs(mean-float64(x[j])) <= 1e-5, "x_%d = %v, but its image is %v", j, x[j], mean)
	}
}

// The State has x and every z_i, which is float64 if Exact.
func TestFedSplitKeeps(t *testing.T) {
	fed := quadratic(t, even...)
	model, m := int64(4*fed.Task.Dim()), int64(fed.Size())
	for _, c := range []struct {
		exact bool
		want  int64
	}{{false, model * (1 + m)}, {true, model * (1 + 2*m)}} {
		s := &strategy.FedSplit{Exact: c.exact}
		if !c.exact {
			s.Local = standard
		}
		got := run(t, fed, s, fedkit.Options{Rounds: 2}).Last().StateBytes
		expect.That(t, got == c.want, "exact %v: %d bytes are kept, want %d", c.exact, got, c.want)
	}
}

// FedSplit in plain Go, with unequal clients: Algorithm 1 of the paper with minibatches from either start, exact solves against thousands
// of gradient steps, and Newton's steps with full and with sketched Hessians, (SA)ᵀ(SA): A is written out, and S drawn again.
func TestFedSplitAgainstFloat64(t *testing.T) {
	const seed, step, l2 = 3, 0.4, 0.2
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.05}
	d := expect.Value(datasets.Logistic{Clients: 1, Rows: 60, Features: 2, Classes: 3}.Make())(t)
	labels := federation(t, d, partition.Quantity{Clients: 3, Alpha: 2, Seed: 1}, model.LogisticRegression())
	few, many := rivals(t, model.MLP(), 8, 12, 5), rivals(t, model.MLP(), uneven...)
	line, softmax := oracle.MLP{Sizes: []int{3, 1}, Regression: true}, oracle.MLP{Sizes: []int{2, 3}}
	for _, c := range []struct {
		s      strategy.FedSplit
		fed    *fedkit.Federation
		net    oracle.MLP
		rounds int
	}{
		{strategy.FedSplit{Newton: 2}, few, line, 3}, {strategy.FedSplit{Newton: 2, Sketch: 7}, few, line, 3},
		{strategy.FedSplit{Newton: 2}, labels, softmax, 3}, {strategy.FedSplit{Newton: 2, Sketch: 20}, labels, softmax, 3},
		{strategy.FedSplit{Local: l}, many, line, 6}, {strategy.FedSplit{Local: l, ColdStart: true}, many, line, 6},
		{strategy.FedSplit{Exact: true}, few, line, 4}, {strategy.FedSplit{Exact: true}, labels, softmax, 4},
	} {
		s, o, want := c.s, solver{c.fed, c.net, l, seed}, newSplit(t, c.fed, seed)
		if s.Step, s.L2 = step, l2; testing.Short() && s.Newton == 0 {
			continue
		}
		for r := range each(t, c.fed, &s, fedkit.Options{Rounds: c.rounds, Seed: seed}) {
			want.round(func(i int, share float64, v []float64) []float64 {
				pull := func(w []float64, j int) float64 { return (l2*w[j] + (w[j]-v[j])/step) / share }
				x, y := rowsOf(&c.fed.Data.Train, c.fed.Clients[i].Train)
				w, rng := slices.Clone(want.x), fedkit.Random(seed, fmt.Sprintf("sketch of client %d", i), r.Round)
				switch {
				case s.Exact:
					for range 3000 {
						_, g := c.net.Gradient(w, x, y)
						for j := range w {
							w[j] -= 0.1 * (g[j] + pull(w, j))
						}
					}
				case s.Newton > 0:
					for range s.Newton {
						floats.Sub(w, newton(t, c.net, w, x, y, s.Sketch, rng, (l2+1/step)/share, pull))
					}
				case s.ColdStart:
					w, _ = o.train(r.Round, 1, i, 1, v, nil, pull)
				default:
					w, _ = o.train(r.Round, 1, i, 1, w, nil, pull)
				}
				return w
			})
			z, same := s.State.Wide, func(a, b []float64) bool { return floats.Distance(a, b, 2) < 1e-6 }
			if z == nil {
				z, same = host(t, s.State.Z), agree
			}
			for i, got := range append(host(t, s.State.X), z...) {
				w := append([][]float64{want.x}, want.z...)[i]
				expect.Must(t, same(got, w), "%+v, round %d: row %d of x and all z is %v, want %v", c.s, r.Round, i, got, w)
			}
			travel(t, r, 4*len(want.x)*len(want.z), 4*len(want.x)*len(want.z))
		}
	}
}

// newton is a step of Newton's method on a regression's mean loss and pull, whose second derivative is curvature, with the Hessian of the
// loss or a sketch of m rows.
func newton(t *testing.T, net oracle.MLP, w []float64, x [][]float64, y []float64, m int, rng *rand.Rand, curvature float64, pull func(w []float64, j int) float64) []float64 {
	_, g := net.Gradient(w, x, y)
	half := rootOfHessian(w, x, net.Sizes[1], net.Regression)
	if m > 0 {
		rows, _ := half.Dims()
		draws, sketched := mat.NewDense(m, rows, nil), &mat.Dense{}
		draws.Apply(func(int, int, float64) float64 { return rng.NormFloat64() / math.Sqrt(float64(m)) }, draws)
		sketched.Mul(draws, half)
		half = sketched
	}
	var h mat.Dense
	var move mat.VecDense
	h.Mul(half.T(), half)
	for j := range w {
		h.Set(j, j, h.At(j, j)+curvature)
		g[j] += pull(w, j)
	}
	expect.OK(t, move.SolveVec(&h, mat.NewVecDense(len(g), g)))
	return move.RawVector().Data
}

// rootOfHessian is A [n·k, p·k] with AᵀA = the Hessian of a regression's mean loss at w.
func rootOfHessian(w []float64, x [][]float64, k int, squares bool) *mat.Dense {
	n, p := len(x), len(x[0])+1
	a := mat.NewDense(n*k, p*k, nil)
	for i, features := range x {
		features = append(slices.Clone(features), 1)
		prob := make([]float64, k)
		for c := range k {
			for j, f := range features {
				prob[c] += f * w[j*k+c]
			}
		}
		for c, sum := 0, floats.LogSumExp(prob); c < k; c++ {
			prob[c] = math.Exp(prob[c] - sum)
		}
		for c := range k {
			for j, f := range features {
				for b := range k {
					is := 0.0
					if b == c {
						is = 1
					}
					value := math.Sqrt(prob[c]/float64(n)) * f * (is - prob[b])
					if squares {
						value = f / math.Sqrt(float64(n))
					}
					a.Set(i*k+c, j*k+b, value)
				}
			}
		}
	}
	return a
}

// split is FedSplit in plain Go, except the proximal problems.
type split struct {
	fed *fedkit.Federation
	x   []float64
	z   [][]float64
}

func newSplit(t *testing.T, fed *fedkit.Federation, seed uint64) *split {
	r := &split{fed: fed, x: starts(t, fed, seed, 1)[0]}
	for range fed.Clients {
		r.z = append(r.z, slices.Clone(r.x))
	}
	return r
}

// round calls prox for every client, with its share M n_i/N and v.
func (r *split) round(prox func(i int, share float64, v []float64) []float64) {
	all := 0
	for _, c := range r.fed.Clients {
		all += len(c.Train)
	}
	for i, c := range r.fed.Clients {
		v := make([]float64, len(r.x))
		for j := range v {
			v[j] = 2*r.x[j] - r.z[i][j]
		}
		for j, half := range prox(i, float64(len(c.Train)*len(r.z))/float64(all), v) {
			r.z[i][j] += 2 * (half - r.x[j])
		}
	}
	r.x = meanOf(r.z, nil, nil)
}

// A client that returns NaN keeps its z_i, which still counts. An attack on uploads changes x, but no z_i.
func TestFedSplitSkipsAndIsNotForged(t *testing.T) {
	fed := rivals(t, model.MLP(), even...)
	after := func(fed *fedkit.Federation) (x, z [][]float64) {
		s := &strategy.FedSplit{Local: standard}
		run(t, fed, s, fedkit.Options{Rounds: 1, NotFinite: fedkit.Skip})
		return host(t, s.State.X), host(t, s.State.Z)
	}
	x, z := after(fed)
	start := starts(t, fed, 0, 1)[0]
	left, rest := after(fed.Intercept(poison(2)))
	for i := range rest {
		want := map[bool][]float64{true: start, false: z[i]}[i == 2]
		expect.That(t, agree(rest[i], want), "z_%d = %v, want %v", i, rest[i], want)
	}
	expect.That(t, agree(left[0], meanOf(rest, nil, nil)), "x = %v, want the mean of %v", left[0], rest)
	forged, own := after(fed.Intercept(plusOne{}))
	for i := range own {
		expect.That(t, agree(own[i], z[i]), "z_%d = %v, want %v", i, own[i], z[i])
	}
	for j := range x[0] {
		expect.That(t, math.Abs(forged[0][j]-x[0][j]-2) <= 1e-5, "x = %v, want %v and 2", forged[0], x[0])
	}
}

// On devices, a client that drops out keeps its z_i, and x still reaches the optimum. Exact solves, which the clock cannot
// time, are rejected.
func TestFedSplitOnDevices(t *testing.T) {
	expect.Long(t, "a curve")
	d := expect.Value(datasets.LeastSquares{Clients: 3, Rows: 40, Features: 6, Heterogeneity: 1, Seed: 4}.Make())(t)
	fed := expect.Value(federation(t, d, partition.Natural{}, model.LinearRegression()).WithDevices(sim.Devices{PerExample: sim.Constant(0.01), Drop: sim.Constant(0.4), Seed: 1}))(t)
	s := &strategy.FedSplit{Local: fedkit.Local{Steps: 10, Batch: fedkit.FullBatch, LR: 0.3}}
	h := run(t, fed, convex.WithRegressionGap(s, 0), fedkit.Options{Rounds: 25, EvalEvery: 25})
	missed := 0
	for _, r := range h.Rounds {
		missed += len(r.Absences)
	}
	gap := h.Last().Notes["relative gap"]
	expect.That(t, gap < 1e-9 && missed >= 15 && h.Last().Clock > 25,
		"ends with a relative gap of %v after %v s; %d clients dropped out", gap, h.Last().Clock, missed)
	expect.Error(t, "Newton = 1: must be 0 on a federation with devices")(fedkit.Run(t.Context(), fed, &strategy.FedSplit{Newton: 1}, fedkit.Options{Rounds: 1}))
	_, err := fedkit.Run(t.Context(), fed, &strategy.FedSplit{Exact: true}, fedkit.Options{Rounds: 1})
	want := "fedkit: FedSplit: invalid: Exact = true: must be false on a federation with devices: their clock counts examples, and cannot tell how long an exact solve takes"
	expect.That(t, err != nil && err.Error() == want, "error %v\nwant %s", err, want)
}

// What has no exact solution, gap, rate or fixed point: another model, loss or optimum, data without a unique solution, local work of
// another kind.
func TestConvexRefusals(t *testing.T) {
	fed, labeled := squares(t), logistic(t)
	deep := rivals(t, model.MLP(3), 8, 8)
	few := expect.Value(datasets.LeastSquares{Clients: 1, Rows: 12, Features: 11}.Make())(t)
	few.Train.Floats = slices.Repeat(few.Train.Floats[:11], 12)
	apart := &datasets.Dataset{Name: "apart", Shape: []int{1}, Classes: 2, Train: datasets.Split{Floats: []float32{-1, -2, 1, 2}, Labels: []int32{0, 0, 1, 1}, Owner: make([]int32, 4)}}
	apart.Test = apart.Train
	absolute := func(d *datasets.Dataset) (*fedkit.Task, error) {
		task, err := model.LinearRegression()(d)
		task.Loss = func(out, y *graph.Node) *graph.Node { return graph.Abs(graph.Sub(graph.Squeeze(out, -1), y)) }
		return task, err
	}
	for want, c := range map[string]struct {
		fed *fedkit.Federation
		s   fedkit.Strategy
	}{
		"one without a global model: must be one with":                                                                  {fed, convex.WithRegressionGap(&strategy.LocalOnly{}, 0)},
		"FedProx: invalid: Of.Mu = -1: must be a number > 0, 0 f":                                                       {fed, convex.WithRegressionGap(&strategy.FedProx{Mu: -1}, 0)},
		"fed = another model: must be a federation whose model is linear":                                               {deep, convex.WithRegressionGap(&strategy.FedAvg{}, 0)},
		"optimum of the regression: there is no unique solution":                                                        {federation(t, few, partition.Natural{}, model.LinearRegression()), convex.WithRegressionGap(&strategy.FedAvg{}, 0)},
		"optimum of the regression: 100 steps of Newton":                                                                {federation(t, apart, partition.Natural{}, model.LogisticRegression()), convex.WithRegressionGap(&strategy.FedAvg{}, 0)},
		"Exact = true: must be false unless the model is linear or logistic regression":                                 {deep, &strategy.FedSplit{Exact: true}},
		"Exact = true: must be false unless the loss is half the squared error or the cross entropy of one dense layer": {rivals(t, absolute, 8, 8), &strategy.FedSplit{Exact: true}},
	} {
		expect.Error(t, want)(fedkit.Run(t.Context(), c.fed, c.s, fedkit.Options{Rounds: 1}))
	}
	full := fedkit.Local{Steps: 2, Batch: fedkit.FullBatch, LR: 0.1}
	for want, change := range map[string]func(*fedkit.Local){
		"Local.Batch = 8: must be fedkit.FullBatch":    func(l *fedkit.Local) { l.Batch = 8 },
		"Local.LR = 5: must be less: x does not come":  func(l *fedkit.Local) { l.LR = 5 },
		"Local.Optimizer = {0}: must be SGD, or Weigh": func(l *fedkit.Local) { l.Optimizer = fedkit.Momentum{} },
		"Local.Schedule = {0 0}: must be nil":          func(l *fedkit.Local) { l.Schedule = fedkit.Cosine{} },
	} {
		l := full
		change(&l)
		expect.Error(t, want)(convex.FixedPoint(fed, l))
	}
	expect.Error(t)(convex.FixedPoint(labeled, full))
	expect.Error(t)(convex.SplitRate(labeled, 0, 1))
	expect.Error(t)(convex.SplitRate(fed, 0, 0)) // without a step
	expect.Error(t)(convex.Curvature(deep, 0))
}
