package strategy_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/every"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

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
			if !slices.Equal(r.Clusters, want) {
				t.Fatalf("clusters %v, want %v", r.Clusters, want)
			}
			if parallel {
				before := slices.Clone(x)
				floats.Scale(eta, floats.SubTo(x, o.cycle(r.Round, 1, r.Clients(), before), before))
				floats.Add(x, before)
			} else {
				groups := visits(r)
				for c, group := range groups {
					if r.Clusters[group[0]] != c {
						t.Errorf("round %d: clusters %v in the order of clients %v", r.Round, r.Clusters, r.Clients())
					}
					x = o.cycle(r.Round, c+1, group, x)
				}
			}
			took := make([]int, k)
			for _, i := range r.Clients() {
				took[want[i]]++
			}
			for c, members := range cluster.Members(want, k) {
				if n := (len(members) + 1) / 2; took[c] != n {
					t.Errorf("round %d: %v clients of the clusters took part, want half of %v", r.Round, took, want)
				}
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
	if got := h.Last().Clusters; !slices.Equal(got, []int{0, 1, 0, 1, 2, 1}) {
		t.Errorf("clusters %v", got)
	}
	model := int64(4 * fed.Task.Dim())
	if h.Rounds[0].BytesUp != 2*6*model || h.Rounds[1].BytesUp != 6*model {
		t.Errorf("%d and %d bytes up, want a round more at first", h.Rounds[0].BytesUp, h.Rounds[1].BytesUp)
	}

	h = run(t, fed.Intercept(poison(2)), s, fedkit.Options{Rounds: 2, NotFinite: fedkit.Skip})
	if c := h.Last().Clusters; c[2] != -1 || slices.Min(slices.Delete(slices.Clone(c), 2, 3)) < 0 || slices.Contains(h.Last().Clients(), 2) {
		t.Errorf("clusters %v, clients %v: client 2 has no update", c, h.Last().Clients())
	}
}

// Before the first round there are no clusters yet.
func TestFedSCServesFromTheStart(t *testing.T) {
	for _, k := range []int{0, 40} { // by silhouette; more than there are clients
		h := run(t, skewed(t, 6), &strategy.FedSC{K: k, Local: fedkit.Local{Batch: 20, LR: 0.1}}, fedkit.Options{Rounds: 3, EvalEvery: 3})
		for _, r := range h.Rounds {
			if n := len(slices.Compact(slices.Sorted(slices.Values(r.Clusters)))); len(r.Clusters) != 6 || n < 2 || k == 40 && n != 6 {
				t.Errorf("K = %d, round %d: clusters %v", k, r.Round, r.Clusters)
			}
		}
	}
}
