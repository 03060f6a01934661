package strategy_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/every"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

// cycle replays one visit to a cluster in float64: the example-weighted mean of its clients' models trained from x.
func (s solver) cycle(round, call int, clients []int, x []float64) []float64 {
	var w [][]float64
	var n []float64
	for _, i := range clients {
		w, n = append(w, s.plain(round, call, i, x)), append(n, float64(len(s.fed.Clients[i].Train)))
	}
	return meanOf(w, nil, n)
}

// visits divides the clients of a round, in training order, into consecutive clusters.
func visits(r *fedkit.Record) (groups [][]int) {
	last := -1
	for _, i := range r.Clients() {
		if r.Clusters[i] != last {
			last, groups = r.Clusters[i], append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], i)
	}
	return groups
}

// Algorithm 1 of the paper in plain Go, with unequal clients and half of each cluster per round.
func TestFedClusterAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, seed, k = 8, 5, 2
	l := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}
	fed := rivals(t, model.MLP(3), uneven...)
	o := solver{fed, oracle.MLP{Sizes: []int{3, 3, 1}, Regression: true}, l, seed}
	w, orders := starts(t, fed, seed, 1)[0], map[int]int{}
	s := &strategy.FedCluster{K: k, Local: l, Fraction: 0.5}
	for r := range each(t, fed, s, fedkit.Options{Rounds: rounds, Seed: seed}) {
		groups := visits(r)
		expect.Must(t, len(groups) == k && len(groups[0]) == 2 && len(groups[1]) == 2, // of three clients
			"round %d: clients %v of clusters %v", r.Round, groups, r.Clusters)
		orders[r.Clusters[groups[0][0]]]++
		for call, group := range groups {
			w = o.cycle(r.Round, call+1, group, w)
		}
		sameRows(t, s.State.W, [][]float64{w}, "round %d: W", r.Round)
		travel(t, r, 4*len(w)*len(r.Results), 4*len(w)*len(r.Results)) // as in FedAvg
	}
	expect.That(t, len(orders) == k, "first clusters of the rounds: %v, want a random order", orders)
}

// skewed is Digits partitioned by label, with few parameters.
func skewed(t testing.TB, clients int) *fedkit.Federation {
	t.Helper()
	return expect.Value(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: clients, Alpha: 0.2, Seed: 4}, model.LogisticRegression()))(t)
}

// complete is a linkage: that of the farthest members.
func complete(x [][]float64, a, b []int) (far float64) {
	for _, i := range a {
		for _, j := range b {
			far = max(far, floats.Distance(x[i], x[j], 2))
		}
	}
	return far
}

// byShares divides clients by the labels that they have.
func byShares(fed *fedkit.Federation, k int) []int {
	return cluster.Renumber(merged(shares(fed), k, math.Inf(1), complete))
}

// shares counts labels.
func shares(fed *fedkit.Federation) [][]float64 {
	all := make([][]float64, fed.Size())
	for i, c := range fed.Clients {
		all[i] = make([]float64, fed.Data.Classes)
		for _, row := range c.Train {
			all[i][fed.Data.Train.Labels[row]] += 1 / float64(len(c.Train))
		}
	}
	return all
}

func TestFedClusterFormsClusters(t *testing.T) {
	fed := skewed(t, 11)
	given := []int{7, 7, 0, 0, 3, 3, 3, 0, 7, 0, 10} // with gaps
	for name, c := range map[string]struct {
		s     *strategy.FedCluster
		sizes []int // in ascending order
		want  []int
	}{
		"random":            {&strategy.FedCluster{K: 3}, []int{3, 4, 4}, nil},
		"more than clients": {&strategy.FedCluster{K: 40}, slices.Repeat([]int{1}, 11), nil},
		"by data":           {&strategy.FedCluster{K: 3, Clusterer: cluster.Agglomerative{Linkage: cluster.Complete}}, nil, byShares(fed, 3)},
		"given":             {&strategy.FedCluster{Clusters: given}, []int{1, 3, 3, 4}, given},
	} {
		h := run(t, fed, c.s, fedkit.Options{Rounds: 2, EvalEvery: 2})
		labels := h.Rounds[0].Clusters
		sizes := map[int]int{}
		for _, l := range labels {
			sizes[l]++
		}
		var got []int
		for _, n := range sizes {
			got = append(got, n)
		}
		if slices.Sort(got); c.sizes != nil && !slices.Equal(got, c.sizes) || c.want != nil && !slices.Equal(labels, c.want) {
			t.Errorf("%s: clusters %v, want %v, of sizes %v", name, labels, c.want, c.sizes)
		}
		expect.That(t, slices.Equal(labels, h.Rounds[1].Clusters), "%s: clusters %v, then %v", name, labels, h.Rounds[1].Clusters)
		extra := int64(0)
		if c.s.Clusterer != nil {
			extra = 11 * 10 * 8 // the label shares
		}
		first, second := h.Rounds[0], h.Rounds[1]
		expect.That(t, first.BytesUp == second.BytesUp+extra && first.BytesDown == second.BytesDown && len(first.Results) == 11,
			"%s: bytes %d and %d up, %d and %d down", name, first.BytesUp, second.BytesUp, first.BytesDown, second.BytesDown)
	}
}

// A client that returns NaN is excluded from its cluster's mean. Without any client, a cluster has no mean.
func TestFedClusterSkips(t *testing.T) {
	fed := rivals(t, model.MLP(), even...).Intercept(poison(2))
	s := &strategy.FedCluster{Clusters: []int{0, 0, 0, 1, 1, 1}, Local: standard}
	run(t, fed, s, fedkit.Options{Rounds: 3, NotFinite: fedkit.Skip})
	w := host(t, s.State.W)[0]
	expect.That(t, !floats.HasNaN(w), "W = %v", w)
	s.Clusters = []int{0, 0, 1, 0, 0, 0}
	_, err := fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 3, NotFinite: fedkit.Skip})
	if expect.Error(t, "client 2")(err); !errors.Is(err, fedkit.ErrNotFinite) {
		t.Error(err)
	}
}

// attributeBytes is the upload of a client of Digits: ten shares, an encapsulated key and a tag.
const attributeBytes = 10*8 + 32 + 16

// Both schedules in plain Go, with unequal clients and half of each cluster per round. Clusters are by label shares.
func TestFedSCAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, seed, k, eta = 4, 5, 3, 0.7
	l := fedkit.Local{Epochs: 1, Batch: 40, LR: 0.1}
	fed := skewed(t, 9)
	o := solver{fed, oracle.MLP{Sizes: []int{64, 10}}, l, seed}
	want := byShares(fed, k)
	for _, parallel := range []bool{false, true} {
		x := starts(t, fed, seed, 1)[0]
		s := &strategy.FedSC{K: k, Parallel: parallel, Eta: eta, Local: l, Fraction: 0.5}
		for r := range each(t, fed, s, fedkit.Options{Rounds: rounds, Seed: seed}) {
			expect.Must(t, slices.Equal(r.Clusters, want), "clusters %v, want %v", r.Clusters, want)
			if parallel {
				before := slices.Clone(x)
				floats.Scale(eta, floats.SubTo(x, o.cycle(r.Round, 1, r.Clients(), before), before))
				floats.Add(x, before)
			} else {
				groups := visits(r)
				for c, group := range groups {
					expect.That(t, r.Clusters[group[0]] == c, "round %d: clusters %v in the order of clients %v", r.Round, r.Clusters, r.Clients())
					x = o.cycle(r.Round, c+1, group, x)
				}
			}
			took := make([]int, k)
			for _, i := range r.Clients() {
				took[want[i]]++
			}
			for c, members := range cluster.Members(want, k) {
				n := (len(members) + 1) / 2
				expect.That(t, took[c] == n, "round %d: %v clients of the clusters took part, want half of %v", r.Round, took, want)
			}
			sameRows(t, s.State.X, [][]float64{x}, "parallel %v, round %d: x", parallel, r.Round)
			models, first := 4*len(x)*len(r.Results), 0
			if r.Round == 1 {
				first = 9
			}
			travel(t, r, models+first*32, models+first*attributeBytes)
		}
	}
}

// With one cluster both schedules are FedAvg; in parallel with all clients, so is any number of clusters.
func TestFedSCIsFedAvg(t *testing.T) {
	fed := skewed(t, 6)
	l, o := fedkit.Local{Batch: 20, LR: 0.1}, fedkit.Options{Rounds: 3, EvalEvery: 3, Seed: 3}
	for _, c := range []struct {
		s        strategy.FedSC
		fraction float64
	}{
		{strategy.FedSC{K: 1}, 0}, {strategy.FedSC{K: 1}, 0.5}, {strategy.FedSC{K: 1, Parallel: true}, 0.5}, {strategy.FedSC{K: 3, Parallel: true}, 0},
		{strategy.FedSC{K: 1, Selector: fedkit.SelectorFunc(every.Sorted)}, 0.5},
	} {
		avg := &strategy.FedAvg{Fraction: c.fraction, Selector: c.s.Selector, Local: l}
		c.s.Fraction, c.s.Local = c.fraction, l
		run(t, fed, avg, o)
		run(t, fed, &c.s, o)
		sameRows(t, c.s.State.X, host(t, avg.State.X), "K = %d, parallel %v, C = %v: x", c.s.K, c.s.Parallel, c.fraction)
	}
}

// pulled is an interceptor that leaves updates in two directions, and one of them zero.
type pulled struct{}

func (pulled) String() string { return "pulled" }

func (pulled) Intercept(u *fedkit.Updates, _ *rand.Rand) *fedkit.Matrix {
	d := u.Models.Cols()
	v := make([]float32, 0, len(u.Results)*d)
	for _, c := range u.Clients() {
		row := make([]float32, d)
		row[c%2] = float32(1 + 10*c) // of very different lengths
		if c == 4 {
			row[0] = 0
		}
		v = append(v, row...)
	}
	return u.Start.Add(fedkit.NewMatrix(v, len(u.Results), d))
}

// With Updates, clusters are directions, whatever the lengths.
func TestFedSCByUpdates(t *testing.T) {
	fed := quadratic(t, even...)
	s := &strategy.FedSC{K: 3, Updates: true, Local: standard}
	h := run(t, fed.Intercept(pulled{}), s, fedkit.Options{Rounds: 2})
	expect.That(t, slices.Equal(h.Last().Clusters, []int{0, 1, 0, 1, 2, 1}), "clusters %v", h.Last().Clusters)
	model := int64(4 * fed.Task.Dim())
	expect.That(t, h.Rounds[0].BytesUp == 2*6*model && h.Rounds[1].BytesUp == 6*model,
		"%d and %d bytes up, want a round more at first", h.Rounds[0].BytesUp, h.Rounds[1].BytesUp)

	h = run(t, fed.Intercept(poison(2)), s, fedkit.Options{Rounds: 2, NotFinite: fedkit.Skip})
	c := h.Last().Clusters
	expect.That(t, c[2] == -1 && slices.Min(slices.Delete(slices.Clone(c), 2, 3)) >= 0 && !slices.Contains(h.Last().Clients(), 2),
		"clusters %v, clients %v: client 2 has no update", c, h.Last().Clients())
}

// Before the first round there are no clusters yet.
func TestFedSCServesFromTheStart(t *testing.T) {
	for _, k := range []int{0, 40} { // by silhouette; more than there are clients
		h := run(t, skewed(t, 6), &strategy.FedSC{K: k, Local: fedkit.Local{Batch: 20, LR: 0.1}}, fedkit.Options{Rounds: 3, EvalEvery: 3})
		for _, r := range h.Rounds {
			n := len(slices.Compact(slices.Sorted(slices.Values(r.Clusters))))
			expect.That(t, len(r.Clusters) == 6 && n >= 2 && (k != 40 || n == 6), "K = %d, round %d: clusters %v", k, r.Round, r.Clusters)
		}
	}
}
