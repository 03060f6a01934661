package strategy_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

// cycle replays one visit to a cluster in float64: the example-weighted mean of its clients' models trained from x.
func (s solver) cycle(round, call int, clients []int, x []float64) []float64 {
	next, n := make([]float64, len(x)), 0.0
	for _, i := range clients {
		size := float64(len(s.fed.Clients[i].Train))
		floats.AddScaled(next, size, s.plain(round, call, i, x))
		n += size
	}
	floats.Scale(1/n, next)
	return next
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
		if len(groups) != k || len(groups[0]) != 2 || len(groups[1]) != 2 { // of three clients
			t.Fatalf("round %d: clients %v of clusters %v", r.Round, groups, r.Clusters)
		}
		orders[r.Clusters[groups[0][0]]]++
		for call, group := range groups {
			w = o.cycle(r.Round, call+1, group, w)
		}
		sameRows(t, s.State.W, [][]float64{w}, "round %d: W", r.Round)
		travel(t, r, 4*len(w)*len(r.Results), 4*len(w)*len(r.Results)) // as in FedAvg
	}
	if len(orders) != k {
		t.Errorf("first clusters of the rounds: %v, want a random order", orders)
	}
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
		if !slices.Equal(labels, h.Rounds[1].Clusters) {
			t.Errorf("%s: clusters %v, then %v", name, labels, h.Rounds[1].Clusters)
		}
		extra := int64(0)
		if c.s.Clusterer != nil {
			extra = 11 * 10 * 8 // the label shares
		}
		first, second := h.Rounds[0], h.Rounds[1]
		if first.BytesUp != second.BytesUp+extra || first.BytesDown != second.BytesDown || len(first.Results) != 11 {
			t.Errorf("%s: bytes %d and %d up, %d and %d down", name, first.BytesUp, second.BytesUp, first.BytesDown, second.BytesDown)
		}
	}
}

// A client that returns NaN is excluded from its cluster's mean. Without any client, a cluster has no mean.
func TestFedClusterSkips(t *testing.T) {
	fed := rivals(t, model.MLP(), even...).Intercept(poison(2))
	s := &strategy.FedCluster{Clusters: []int{0, 0, 0, 1, 1, 1}, Local: standard}
	run(t, fed, s, fedkit.Options{Rounds: 3, NotFinite: fedkit.Skip})
	if w := host(t, s.State.W)[0]; floats.HasNaN(w) {
		t.Errorf("W = %v", w)
	}
	s.Clusters = []int{0, 0, 1, 0, 0, 0}
	_, err := fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 3, NotFinite: fedkit.Skip})
	if expect.Error(t, "client 2")(err); !errors.Is(err, fedkit.ErrNotFinite) {
		t.Error(err)
	}
}
