package strategy_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

// parent is a split in the replay of CFL.
type parent struct {
	of    int
	start []float64
	parts [2][]float64
}

// The paper's algorithms in plain Go, with unequal clients and two-thirds participation: splits, parts that split again, and
// clients that missed a split.
func TestCFLAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, seed, d = 10, 5, 4
	l := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}
	fed := rivals(t, model.MLP(), 20, 31, 8, 24, 17, 40, 22, 12, 35)
	o := solver{fed, oracle.MLP{Sizes: []int{3, 1}, Regression: true}, l, seed}
	train := func(round, call, client int, start []float64) []float64 { // the update
		w := o.plain(round, call, client, start)
		return floats.SubTo(w, w, start)
	}
	s := &strategy.CFL{Eps1: 0.8, Eps2: 0.3, GammaMax: 0.5, First: 2, Fraction: 0.67, Local: l}
	models := starts(t, fed, seed, 1)
	in, passed := make([]int, fed.Size()), make([]int, fed.Size())
	var splits []parent
	walked, refused := 0, 0
	for r := range each(t, fed, s, fedkit.Options{Rounds: rounds, Seed: seed, EvalEvery: rounds}) {
		updates, clients := map[int][]float64{}, []int(nil)
		placed := func(i int) bool {
			for n, split := range splits {
				if in[i] != split.of || passed[i] > n {
					continue
				}
				passed[i] = n + 1
				if u := train(r.Round, 1, i, split.start); similarity(u, split.parts[1]) > similarity(u, split.parts[0]) {
					in[i] = n + 1
				}
				return true
			}
			return false
		}
		late := map[int]int{} // clients of the round that missed a split, and their cluster after placement
		for _, i := range r.Clients() {
			before := in[i]
			if placed(i) {
				walked++
				late[i], in[i] = in[i], before
				continue
			}
			clients = append(clients, i)
			updates[i] = train(r.Round, 1, i, models[in[i]])
		}
		for c, k := 0, len(models); c < k; c++ {
			members := slices.DeleteFunc(slices.Clone(clients), func(i int) bool { return in[i] != c })
			step, examples, farthest := make([]float64, d), 0.0, 0.0
			for _, i := range members {
				examples += float64(len(fed.Clients[i].Train))
				farthest = max(farthest, floats.Norm(updates[i], 2))
			}
			for _, i := range members {
				floats.AddScaled(step, float64(len(fed.Clients[i].Train))/examples, updates[i])
			}
			start := slices.Clone(models[c])
			floats.Add(models[c], step)
			if r.Round < 2 || floats.Norm(step, 2) >= 0.8 || farthest <= 0.3 || len(members) < 2 {
				continue
			}
			parts, alpha := optimal(members, updates)
			if (1-alpha)/2 <= 0.5*0.5 {
				refused++
				continue
			}
			split := parent{of: c, start: start}
			for p, part := range parts {
				split.parts[p] = make([]float64, d)
				for _, i := range part {
					floats.AddScaled(split.parts[p], 1/float64(len(part)), updates[i])
					in[i] = c
					if p == 1 {
						in[i] = len(models)
					}
				}
			}
			splits, models = append(splits, split), append(models, slices.Clone(models[c]))
		}
		for _, i := range clients {
			passed[i] = len(splits)
		}
		for i, c := range late {
			in[i] = c
		}
		expect.Must(t, slices.Equal(r.Clusters, in), "round %d: clusters %v, want %v", r.Round, r.Clusters, in)
		sameRows(t, s.State.Models, models, "round %d: models", r.Round)
	}
	expect.That(t, len(splits) >= 3 && walked != 0 && refused != 0,
		"%d splits, %d clients that missed one, and %d that the cosine forbids: the test needs another seed", len(splits), walked, refused)
}

// optimal is Algorithm 1: pairs are joined, by descending cosine, until two parts are left. The first holds the first member.
// alpha is the greatest cosine between the parts.
func optimal(members []int, updates map[int][]float64) (parts [2][]int, alpha float64) {
	type pair struct {
		i, j int
		cos  float64
	}
	var pairs []pair
	name, left := map[int]int{}, len(members)
	for a, i := range members {
		name[i] = i
		for _, j := range members[:a] {
			pairs = append(pairs, pair{i, j, similarity(updates[i], updates[j])})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(b.cos, a.cos) })
	for _, p := range pairs {
		from, to := name[p.i], name[p.j]
		if from == to {
			continue
		}
		if left == 2 {
			alpha = p.cos
			break
		}
		for _, i := range members {
			if name[i] == from {
				name[i] = to
			}
		}
		left--
	}
	for _, i := range members {
		p := 0
		if name[i] != name[members[0]] {
			p = 1
		}
		parts[p] = append(parts[p], i)
	}
	return parts, alpha
}

func similarity(a, b []float64) float64 {
	return floats.Dot(a, b) / (floats.Norm(a, 2) * floats.Norm(b, 2))
}

// Clusters split until every client is alone; a single client cannot split.
func TestCFLSplitsDownToOne(t *testing.T) {
	always := &strategy.CFL{Eps1: 100, Eps2: fedkit.Zero, Local: standard}
	for _, fed := range []*fedkit.Federation{quadratic(t, 8), quadratic(t, 8, 8)} {
		r := run(t, fed, always, fedkit.Options{Rounds: 3}).Last()
		expect.That(t, slices.Max(r.Clusters) == fed.Size()-1, "clusters %v of %d clients", r.Clusters, fed.Size())
	}
}

// Parallel updates of different lengths have cosines that rounding takes beyond 1. No cluster splits.
func TestCFLKeepsParallelUpdatesTogether(t *testing.T) {
	s := &strategy.CFL{Eps1: 100, Eps2: fedkit.Zero, GammaMax: 0.01, Local: standard}
	run(t, quadratic(t, even...).Intercept(oneWay{}), s, fedkit.Options{Rounds: 3})
	expect.That(t, s.State.Models.Rows() == 1, "%d clusters", s.State.Models.Rows())
}

// oneWay is an interceptor that makes all updates multiples of the first one.
type oneWay struct{}

func (oneWay) String() string { return "one way" }

func (oneWay) Intercept(u *fedkit.Updates, _ *rand.Rand) *fedkit.Matrix {
	lengths := make([]float64, len(u.Clients()))
	for i, c := range u.Clients() {
		lengths[i] = 1 + 0.37*float64(c)
	}
	return u.Start.Add(u.Delta().Take(0).Repeat(len(lengths)).ScaleRows(lengths))
}

// In the first round all clients train longer; later a share of the clients does the usual work, and a cluster without any
// of them keeps its model.
func TestOneShotClustersOnce(t *testing.T) {
	fed := quadratic(t, even...)
	s := &strategy.OneShot{K: 3, WorkFactor: 4, Fraction: 1. / 6, Local: standard}
	var centers [][]float64
	var first []int
	for r := range each(t, fed, s, fedkit.Options{Rounds: 3}) {
		work := 2 * 16 / 8 // epochs, examples, batch
		if r.Round == 1 {
			work *= 4
			centers, first = host(t, s.State.Models), r.Clusters
		}
		for _, solve := range r.Results {
			expect.That(t, solve.Steps == work, "round %d: client %d did %d steps, want %d", r.Round, solve.Client, solve.Steps, work)
		}
		expect.That(t, slices.Equal(r.Clusters, first) && slices.Max(r.Clusters) == 2,
			"round %d: clusters %v, were %v", r.Round, r.Clusters, first)
		if r.Round == 1 {
			continue
		}
		now := host(t, s.State.Models)
		for c := range now {
			trained := c == r.Clusters[r.Clients()[0]]
			expect.That(t, slices.Equal(now[c], centers[c]) != trained,
				"round %d: one client of cluster %d took part, and the model of cluster %d changed: %v", r.Round, r.Clusters[r.Clients()[0]], c, trained)
		}
		centers = now
	}
}

// witness puts the first point into a cluster of its own, and keeps its input.
type witness struct{ seen **cluster.Points }

func (w witness) Cluster(p *cluster.Points, _ int, _ *rand.Rand) ([]int, error) {
	*w.seen = p
	labels := make([]int, p.Len())
	labels[0] = 1
	return labels, nil
}

// LCFL in plain Go: two rounds of FedAvg with equal weights, distances by the clients' losses on each other's models, and
// FedAvg within the clusters.
func TestLCFLAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const seed = 3
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.1}
	fed := rivals(t, model.MLP(), uneven...)
	o := solver{fed, oracle.MLP{Sizes: []int{3, 1}, Regression: true}, l, seed}
	var seen *cluster.Points
	s := &strategy.LCFL{K: 2, Warmup: 2, Clusterer: witness{&seen}, Local: l}
	h := run(t, fed, s, fedkit.Options{Rounds: 3, Seed: seed})

	now := clusters{starts(t, fed, seed, 1), make([]int, fed.Size())}
	w, all := make([][]float64, fed.Size()), []int{0, 1, 2, 3, 4, 5}
	loss := func(i int, w []float64) float64 {
		x, y := rowsOf(&fed.Data.Train, fed.Clients[i].Train)
		v, _ := o.net.Gradient(w, x, y)
		return v
	}
	for round := 1; round <= 3; round++ {
		for i := range w {
			w[i] = o.plain(round, 1, i, now.own(now.of[i]))
		}
		if now.average(all, w, nil); round != 2 {
			continue
		}
		for i := range w {
			for j := range i {
				want := math.Abs(loss(i, w[i])-loss(i, w[j])) + math.Abs(loss(j, w[j])-loss(j, w[i]))
				got := seen.Distances().At(i, j)
				expect.That(t, math.Abs(got-want) <= 1e-4*want, "clients %d and %d are %v apart, want %v", i, j, got, want)
			}
		}
		now.of[0], now.models = 1, append(now.models, slices.Clone(now.models[0]))
	}
	sameRows(t, s.State.Models, now.models, "models")
	// The clustering sends every client the models of all.
	const m, d = 6, 4
	for i, down := range []int{m, m + m*m, m} {
		travel(t, &h.Rounds[i], 4*d*down, 4*d*m)
	}
}

// Algorithm 1 of the paper in plain Go, both options, with unequal clients and half of them per round. Close choices
// would be decided by rounding: these seeds have none.
func TestIFCAAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, k, trial = 6, 3, 2
	l := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.1}
	for _, test := range []struct {
		strategy.IFCA
		seed  uint64
		keeps int // the set of models that goes on after the restarts
	}{
		{IFCA: strategy.IFCA{}, seed: 6},
		{IFCA: strategy.IFCA{Gradients: true}, seed: 6},
		{IFCA: strategy.IFCA{Gradients: true, Batch: 5}, seed: 6},
		{IFCA: strategy.IFCA{Gradients: true, AllClients: true}, seed: 6},
		{IFCA: strategy.IFCA{Gradients: true, Restarts: 2}, seed: 9},
		{IFCA: strategy.IFCA{Gradients: true, Restarts: 2}, seed: 7, keeps: 1},
	} {
		fed := rivals(t, model.MLP(), uneven...)
		o := solver{fed, oracle.MLP{Sizes: []int{3, 1}, Regression: true}, l, test.seed}
		s := &test.IFCA
		what := fmt.Sprintf("gradients %v, batch %d, all %v, restarts %d", s.Gradients, s.Batch, s.AllClients, s.Restarts)
		s.K, s.Fraction, s.Local, s.Gamma, s.Trial = k, 0.5, l, 0.3, trial
		var theta, best [][]float64
		least, loss, kept := math.Inf(1), 0.0, 0
		last, moved := slices.Repeat([]int{-1}, fed.Size()), false
		for r := range each(t, fed, s, fedkit.Options{Rounds: rounds, Seed: test.seed, EvalEvery: rounds}) {
			if set := (r.Round - 1) / trial; r.Round == 1 {
				theta = starts(t, fed, test.seed, k)
			} else if (r.Round-1)%trial == 0 && set <= s.Restarts {
				if loss < least {
					best, least, kept = theta, loss, set-1
				}
				if theta = best; set < s.Restarts {
					theta = starts(t, fed, test.seed, k*(set+1))[k*set:]
				}
				last = slices.Repeat([]int{-1}, fed.Size())
			}
			loss = 0
			sum, count := make([][]float64, k), make([]float64, k)
			for j := range sum {
				sum[j] = make([]float64, 4)
			}
			m := float64(len(r.Results))
			if s.AllClients {
				m = float64(fed.Size())
			}
			for _, i := range r.Clients() {
				x, y := rowsOf(&fed.Data.Train, fed.Clients[i].Train)
				losses := make([]float64, k)
				for j := range losses {
					losses[j], _ = o.net.Gradient(theta[j], x, y)
				}
				j := floats.MinIdx(losses)
				moved = moved || last[i] >= 0 && last[i] != j
				last[i] = j
				count[j]++
				if !s.Gradients {
					floats.Add(sum[j], o.plain(r.Round, 1, i, theta[j]))
					continue
				}
				if s.Batch > 0 {
					order := slices.Clone(fed.Clients[i].Train)
					fedkit.Random(test.seed, "batches", r.Round, i, 0).Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
					x, y = rowsOf(&fed.Data.Train, order[:min(s.Batch, len(order))])
				}
				_, g := o.net.Gradient(theta[j], x, y)
				floats.AddScaled(sum[j], -0.3/m, g)
				loss += losses[j] / float64(len(r.Results))
			}
			for j := range theta {
				switch {
				case s.Gradients:
					theta[j] = floats.AddTo(make([]float64, 4), theta[j], sum[j])
				case count[j] > 0:
					theta[j] = floats.ScaleTo(sum[j], 1/count[j], sum[j])
				}
			}
			sameRows(t, s.State.Theta, theta, "%s, seed %d, round %d: θ", what, test.seed, r.Round)
			travel(t, r, 4*4*k*len(r.Results), 4*4*len(r.Results)) // k models to choose from, of which the client trains one
			expect.That(t, slices.Equal(s.State.Choice, last) && (r.Round >= rounds || slices.Equal(r.Clusters, last)),
				"%s, round %d: choices %v, recorded %v, want %v", what, r.Round, s.State.Choice, r.Clusters, last)
		}
		expect.That(t, moved || s.Restarts != 0, "%s: no client changed its mind: the test needs another seed", what)
		expect.That(t, kept == test.keeps, "%s, seed %d: kept set %d: the test needs another seed", what, test.seed, kept)
	}
}

// After five rounds of FedAvg, one round of all clients' updates shows the two groups, and their number.
func ExampleFLHC() {
	show(&strategy.FLHC{Warmup: 5, Local: short}, &strategy.FLHC{Warmup: 5, K: 2, Cosine: true, Clusterer: cluster.Agglomerative{}, Local: short})
	// Output:
	// 2 clusters, ARI 1 true true
	// 2 clusters, ARI 1 true true
}

// Algorithm 1 of the paper in plain Go, by distance and by angle, with unequal clients and half of them per round.
func TestFLHCAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, warmup, seed, k = 6, 2, 5, 3
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.05}
	fed := rivals(t, model.MLP(), uneven...)
	o := solver{fed, oracle.MLP{Sizes: []int{3, 1}, Regression: true}, l, seed}
	for _, cosine := range []bool{false, true} {
		s := &strategy.FLHC{K: k, Warmup: warmup, Cosine: cosine, Fraction: 0.5, Local: l}
		now := clusters{starts(t, fed, seed, 1), make([]int, fed.Size())}
		for r := range each(t, fed, s, fedkit.Options{Rounds: rounds, Seed: seed}) {
			var w [][]float64
			var n []float64
			for _, i := range r.Clients() {
				w, n = append(w, o.plain(r.Round, 1, i, now.own(now.of[i]))), append(n, float64(len(fed.Clients[i].Train)))
			}
			if r.Round != warmup+1 {
				now.average(r.Clients(), w, n)
			} else {
				for i := range w {
					if floats.Sub(w[i], now.models[0]); cosine {
						floats.Scale(1/floats.Norm(w[i], 2), w[i])
					}
				}
				x := now.models[0]
				now = clusters{[][]float64{x, slices.Clone(x), slices.Clone(x)}, cluster.Renumber(merged(w, k, math.Inf(1), complete))}
			}
			expect.Must(t, slices.Equal(r.Clusters, now.of), "cosine %v, round %d: clusters %v, want %v", cosine, r.Round, r.Clusters, now.of)
			sameRows(t, s.State.Models, now.models, "cosine %v, round %d: models", cosine, r.Round)
			travel(t, r, 4*4*len(w), 4*4*len(w))
		}
	}
}

// Before the clustering it is FedAvg. With one cluster it is FedAvg with a round more, in which the model stays: the same if batches,
// which depend on the round, are full.
func TestFLHCIsFedAvg(t *testing.T) {
	expect.OK(t, fedtest.Identical(&strategy.FLHC{Warmup: 99, Fraction: 0.5, Local: standard}, &strategy.FedAvg{Fraction: 0.5, Local: standard}, uneven...))
	fed, full := quadratic(t, uneven...), fedkit.Local{Batch: fedkit.FullBatch, LR: 0.2}
	one, avg := &strategy.FLHC{K: 1, Warmup: 2, Local: full}, &strategy.FedAvg{Local: full}
	run(t, fed, one, fedkit.Options{Rounds: 5})
	run(t, fed, avg, fedkit.Options{Rounds: 4})
	sameRows(t, one.State.Models, host(t, avg.X), "K = 1: x")
}
