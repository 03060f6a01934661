package strategy_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// directions returns the principal directions of models, from their covariance.
func directions(models [][]float64, n int) (m [][]float64) {
	d := len(models[0])
	mean, cov := meanOf(models, nil, nil), mat.NewSymDense(d, nil)
	for _, w := range models {
		cov.SymRankOne(cov, 1, mat.NewVecDense(d, floats.SubTo(make([]float64, d), w, mean)))
	}
	var e mat.EigenSym
	e.Factorize(cov, true)
	var v mat.Dense
	e.VectorsTo(&v)
	for j := range min(n, len(models)-1) {
		m = append(m, mat.Col(nil, d-1-j, &v))
	}
	return m
}

// membersOf returns the models in a cluster.
func membersOf(w [][]float64, labels []int, k int) (in [][]float64) {
	for i, c := range labels {
		if c == k {
			in = append(in, w[i])
		}
	}
	return in
}

// sameGroups says whether two labelings differ in names only.
func sameGroups(a, b []int) bool {
	for i := range a {
		for j := range a {
			if (a[i] == a[j]) != (b[i] == b[j]) || (a[i] < 0) != (b[i] < 0) {
				return false
			}
		}
	}
	return true
}

// seen counts what happened in replays.
type seen struct{ merged, divided, moved, single int }

// Algorithms 1 to 3 of the paper in plain Go, with unequal clients and partial participation. Clusters are merged and split.
func TestFedACAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	var all seen
	for seed := range uint64(2) {
		replayFedAC(t, seed+1, &all)
	}
	expect.That(t, all.merged != 0 && all.divided != 0 && all.moved != 0 && all.single != 0, "%+v: the replays show too little", all)
}

func replayFedAC(t *testing.T, seed uint64, all *seen) {
	const rounds, mu, lambda, a, b, every, dims = 10, 0.8, 0.3, 0.05, 0.9, 2, 2
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.05}
	fed := rivals(t, model.MLP(3), 20, 31, 8, 24, 17, 40, 12, 16)
	o := solver{fed, oracle.MLP{Sizes: []int{3, 3, 1}, Regression: true}, l, seed}
	split, M := 3*3+3, fed.Size() // the last layer is the decision
	x := starts(t, fed, seed, 1)[0]
	w, omega, phi, labels := make([][]float64, M), [][]float64{x}, x, slices.Repeat([]int{-1}, M)
	for i := range w {
		w[i] = x
	}
	var axes [][]float64
	low := func(v []float64) (at []float64) {
		for _, axis := range axes {
			at = append(at, floats.Dot(axis, v))
		}
		return at
	}
	ratio := func(labels []int, k int) (g []float64) {
		centers := make([][]float64, k)
		for c := range k {
			centers[c] = meanOf(membersOf(w, labels, c), nil, nil)
		}
		for c := range k {
			inter := 0.0
			for j := range k {
				inter += math.Pow(floats.Distance(centers[c], centers[j], 2), 2) / float64(k-1)
			}
			spread, in := 0.0, membersOf(w, labels, c)
			for _, w := range in {
				spread += math.Pow(floats.Distance(w, centers[c], 2), 2) / float64(len(in))
			}
			g = append(g, spread/inter)
		}
		return g
	}
	s := &strategy.FedAC{K: 3, Mu: mu, Lambda: lambda, A: a, B: b, Every: every, D: dims, Fraction: 0.75, Local: l}
	for r := range each(t, fed, s, fedkit.Options{Rounds: rounds, Seed: seed}) {
		var sent [][]float64
		for _, i := range r.Clients() {
			pull := meanOf(omega, nil, nil)
			if labels[i] >= 0 {
				pull = omega[labels[i]]
			}
			w[i], _ = o.train(r.Round, 1, i, 1, w[i], nil, func(v []float64, j int) float64 {
				p := mu * (v[j] - pull[j])
				if j < split {
					p += lambda * (v[j] - phi[j])
				}
				return p
			})
			sent = append(sent, w[i])
		}
		phi = meanOf(sent, nil, nil)
		if r.Round%every == 1 {
			axes = directions(sent, dims)
		}
		first := slices.Max(labels) < 0
		if first {
			var points [][]float64
			for _, v := range sent {
				points = append(points, low(v))
			}
			for at, c := range bestKMeans(points, 3) {
				labels[r.Clients()[at]] = c
			}
		}
		for i := range w {
			if first || labels[i] < 0 && !slices.Contains(r.Clients(), i) {
				continue
			}
			best, most := labels[i], -2.0
			for c := range omega {
				if cos := similarity(low(w[i]), low(omega[c])); cos > most {
					best, most = c, cos
				}
			}
			if labels[i] >= 0 && labels[i] != best {
				all.moved++
			}
			labels[i] = best
		}
		k := pack(labels)
		got := int(r.Notes["clusters before"])
		expect.Must(t, got == k, "seed %d, round %d: %v clusters before tuning, want %d", seed, r.Round, got, k)
		if k == 1 {
			all.single++
			halves := slices.Clone(labels)
			divide(halves, 0, 1, w, low)
			if g := ratio(halves, 2); slices.Min(g) >= a && slices.Max(g) < 1 {
				labels, k = halves, 2
				first = true // no names yet
				all.divided++
			}
		}
		if k > 1 {
			g := ratio(labels, k)
			byNotes(t, r, g, first)
			rest, alone, next := k, map[int]bool{}, k
			before := slices.Clone(labels)
			for c := range k {
				if alone[c] {
					continue
				}
				if g[c] < a && rest > 1 {
					to, near := -1, math.Inf(1)
					for j := range k {
						d := floats.Distance(meanOf(membersOf(w, before, c), nil, nil), meanOf(membersOf(w, before, j), nil, nil), 2)
						if j != c && d < near && slices.Contains(labels, j) {
							to, near = j, d
						}
					}
					for i := range labels {
						if labels[i] == c {
							labels[i] = to
						}
					}
					alone[to] = true
					rest--
					all.merged++
				} else if g[c] > b && divide(labels, c, next, w, low) {
					next++
					rest++
					all.divided++
				}
			}
		}
		k = pack(labels)
		expect.Must(t, sameGroups(r.Clusters, labels), "seed %d, round %d: clusters %v, want %v", seed, r.Round, r.Clusters, labels)
		labels = slices.Clone(r.Clusters) // the numbering of the halves is random
		omega = nil
		for c := range k {
			omega = append(omega, meanOf(membersOf(w, labels, c), nil, nil))
		}
		sameRows(t, s.State.Omega, omega, "seed %d, round %d: Ω", seed, r.Round)
		sameRows(t, s.State.W, w, "seed %d, round %d: w", seed, r.Round)
		// Ω_k and Φ down, w_i up.
		up := int64(4 * 16 * len(sent))
		expect.That(t, r.BytesUp == up && r.BytesDown == up+int64(4*split*len(sent)),
			"seed %d, round %d: %d bytes down and %d up", seed, r.Round, r.BytesDown, r.BytesUp)
	}
}

// byNotes compares every G with the notes of a round. Numbers may differ where k-means has just given them.
func byNotes(t *testing.T, r *fedkit.Record, want []float64, sorted bool) {
	t.Helper()
	var got []float64
	for c := range want {
		got = append(got, float64(r.Notes[fmt.Sprintf("G of %d", c)]))
	}
	if want = slices.Clone(want); sorted {
		slices.Sort(got)
		slices.Sort(want)
	}
	expect.That(t, agree(got, want), "round %d: G = %v, want %v", r.Round, got, want)
}

// pack renumbers clusters 0, 1, …, k−1 in order, and returns k.
func pack(labels []int) int {
	used := slices.Clone(labels)
	slices.Sort(used)
	used = slices.DeleteFunc(slices.Compact(used), func(c int) bool { return c < 0 })
	for i, c := range labels {
		labels[i] = slices.Index(used, c)
	}
	return len(used)
}

// divide splits a cluster by the best 2-means, and moves one half to another.
func divide(labels []int, c, to int, w [][]float64, low func([]float64) []float64) bool {
	var members []int
	var points [][]float64
	for i := range labels {
		if labels[i] == c {
			members, points = append(members, i), append(points, low(w[i]))
		}
	}
	if len(points) < 2 {
		return false
	}
	for at, h := range bestKMeans(points, 2) {
		if h == 1 {
			labels[members[at]] = to
		}
	}
	return true
}

// Equal clients stay in one cluster. That four groups of clients go from one cluster to four is in the example.
func TestFedACFindsTheNumber(t *testing.T) {
	expect.Long(t, "a curve")
	s := &strategy.FedAC{K: 1, Local: fedkit.Local{Epochs: 4, Batch: 16, LR: 0.1}}
	last := run(t, dealt(partition.IID{Clients: 20, Seed: 1}, model.LogisticRegression()), s, fedkit.Options{Rounds: 4}).Last()
	expect.That(t, last.Notes["clusters after"] == 1 && slices.Max(last.Clusters) == 0, "clusters %v: %v", last.Clusters, last.Notes)
}

// Two clusters of one client each, with G = 0, are merged unless a is 0.
func TestFedACMergesThoseAlone(t *testing.T) {
	for a, want := range map[float64]int{0: 1, fedkit.Zero: 2} {
		s := &strategy.FedAC{K: 2, A: a, Local: standard}
		h := run(t, quadratic(t, 8, 8), s, fedkit.Options{Rounds: 3})
		got := int(h.Rounds[0].Notes["clusters after"])
		expect.That(t, got == want, "A = %v: %d clusters of two clients, want %d", a, got, want)
	}
}

// A client without a finite model keeps its own, and has no cluster. Unseen clients choose among the Ω_k by loss.
func TestFedACSkipsAndWelcomes(t *testing.T) {
	fed := expect.Value(quadratic(t, 16, 16, 16, 16, 16, 16, 16, 16).HoldOut(2, 1))(t)
	s := &strategy.FedAC{K: 2, Fixed: true, Local: standard}
	h := run(t, fed.Intercept(poison(2)), s, fedkit.Options{Rounds: 2, NotFinite: fedkit.Skip})
	for i, c := range h.Last().Clusters {
		expect.That(t, (c < 0) == (i == 2), "clusters %v, want one of each client but the third", h.Last().Clusters)
	}
	if got, want := host(t, s.State.W)[2], starts(t, fed, 0, 1)[0]; !slices.Equal(got, want) {
		t.Errorf("the model of a client that was skipped is %v, want %v", got, want)
	}
	n := len(h.Last().Unseen)
	expect.That(t, n == 2 && s.State.Omega.Rows() == 2, "%d unseen clients have scores, and there are %d clusters", n, s.State.Omega.Rows())
}

// The whole algorithm in plain Go, with all three ways to combine x, and a warm-up.
func TestAdaptiveClusteringAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, seed, prob = 7, 4, 0.4
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.05}
	for _, s := range []*strategy.AdaptiveClustering{{}, {Reuse: true}, {AsPublished: true}, {Reuse: true, Warmup: 1}} {
		s.First, s.SAProb, s.StabilizeRounds, s.Local = true, prob, 2, l
		fed := rivals(t, model.MLP(), uneven...)
		o := solver{fed, oracle.MLP{Sizes: []int{3, 1}, Regression: true}, l, seed}
		x, p, d, calm, last := starts(t, fed, seed, 1)[0], fed.Size(), 1, 0, math.Inf(1)
		fell := 0
		for r := range each(t, fed, s, fedkit.Options{Rounds: rounds, Seed: seed}) {
			if r.Round <= s.Warmup {
				next := make([]float64, 4)
				for i := range fed.Size() {
					floats.AddScaled(next, 1/float64(fed.Size()), o.plain(r.Round, 1, i, x))
				}
				x = next
				sameRows(t, s.State.X, [][]float64{x}, "%+v\nround %d: x", s, r.Round)
				continue
			}
			for name, want := range map[string]int{"p": p, "d": d} {
				expect.Must(t, int(r.Notes[name]) == want, "%+v\nround %d: %s = %d, want %d", s, r.Round, name, int(r.Notes[name]), want)
			}
			w := make([][]float64, fed.Size())
			for i := range w {
				w[i] = o.plain(r.Round, 1, i, x)
			}
			loss, sum, steps := float64(r.Notes["loss"]), 0.0, 0 // a mean over all local steps, more of them of clients with more examples
			for _, s := range r.Results {
				sum, steps = sum+float64(s.Loss)*float64(s.Steps), steps+s.Steps
			}
			if want := sum / float64(steps); s.Reuse { // else some have trained again
				expect.That(t, math.Abs(loss-want) <= 1e-12, "loss %v, want %v", loss, want)
			}
			ratio := last / loss
			expect.That(t, math.Abs(ratio-float64(r.Notes["ratio"])) <= 1e-12 || math.IsInf(ratio, 1),
				"round %d: ratio %v, want %v", r.Round, r.Notes["ratio"], ratio)
			calm++
			if last/loss > 0.5 && fedkit.Random(seed, "keep", r.Round).Float64() >= prob {
				p, d, calm = max(p-d, 1), min(d+1, fed.Size()-1), 0
				fell++
			}
			if calm == 2 {
				d, calm = 1, 0
			}
			last = loss
			groups := cluster.Members(cluster.Renumber(merged(w, p, math.Inf(1), ward)), p)
			labels, next := make([]int, fed.Size()), make([]float64, 4)
			at := append([]float64(nil), x...)
			for c, g := range groups {
				for _, i := range g {
					labels[i] = c
				}
				again := w[g[0]]
				switch {
				case s.AsPublished:
					again = o.plain(r.Round, 2+c, g[0], at)
				case !s.Reuse:
					again = o.plain(r.Round, 2, g[0], at)
				}
				floats.AddScaled(next, 1/float64(p), again)
				if s.AsPublished {
					floats.AddScaled(at, 1/float64(p), again)
				}
			}
			if x = next; s.AsPublished {
				x = at
			}
			expect.Must(t, slices.Equal(r.Clusters, labels), "%+v\nround %d: clusters %v, want %v", s, r.Round, r.Clusters, labels)
			sameRows(t, s.State.X, [][]float64{x}, "%+v\nround %d: x", s, r.Round)
			if got, want := float64(r.Notes["norm"]), floats.Norm(x, 2); math.Abs(got-want) > 1e-5*want {
				t.Errorf("%+v\nround %d: ‖x‖ = %v, want %v", s, r.Round, got, want)
			}
			model, second := int64(4*4), int64(p)
			if s.Reuse {
				second = 0
			}
			expect.That(t, r.BytesUp == (model*(6+second)), "%+v\nround %d: %d bytes up, want %d", s, r.Round, r.BytesUp, (model * (6 + second)))
		}
		expect.That(t, fell != 0 && fell != rounds && (fell != 1 || s.AsPublished), // x grows with its loss, so that the ratio is low
			"p fell %d times in %d rounds: the replay shows too little", fell, rounds)
	}
}
