package strategy_test

import (
	"slices"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/strategy"
)

// Algorithm 1 in plain Go, with partial participation.
func TestFeSEMAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, seed, k = 8, 7, 2
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.05}
	moved := 0
	for _, random := range []bool{false, true} {
		s := strategy.FeSEM{K: k, Random: random, Fraction: 0.6, Local: l}
		fed, o, unseen := replay(t, l, seed)
		initial := startOf(t, fed, seed)
		now := clusters{[][]float64{initial, initial}, slices.Repeat([]int{-1}, fed.Size())}
		for h, err := range fedkit.Rounds(t.Context(), fed, &s, fedkit.Options{Rounds: rounds, Seed: seed}) {
			expect.OK(t, err)
			r := h.Last()
			S := r.Clients()
			var w [][]float64
			for _, i := range S {
				w = append(w, o.trained(r.Round, i, now.own(now.of[i])))
			}
			if r.Round == 1 {
				got := make([]int, len(S)) // whose numbers are free
				for at, i := range S {
					got[at] = s.State.Of[i]
				}
				want := bestKMeans(w, k)
				if random {
					if want = slices.Clone(got); len(S) != 6 || !slices.Equal(sizes(got, k), []int{3, 3}) {
						t.Errorf("the first clusters are %v: want two of equal size", got)
					}
				}
				if !sameGroups(got, want) {
					t.Fatalf("the first clusters are %v, want %v", got, want)
				}
				for at, i := range S {
					now.of[i] = got[at]
				}
			} else {
				next := slices.Clone(now.of)
				for at, i := range S {
					next[i] = 0
					for c := range k {
						if distance(w[at], now.models[c]) < distance(w[at], now.models[next[i]]) {
							next[i] = c
						}
					}
					if now.of[i] >= 0 && next[i] != now.of[i] {
						moved++
					}
				}
				now.of = next
			}
			now.average(S, w, nil)
			now.same(t, s.State.Clustered, o, r)
			var serve [][]float64
			for i := range fed.Unseen.Clients {
				serve = append(serve, now.own(now.nearest(unseen.trained(r.Round, i, now.own(-1)), now.models)))
			}
			unseen.sameLosses(t, "unseen clients", r.Unseen, serve)
		}
	}
	if moved == 0 {
		t.Error("no client changed its cluster: the seed is no test")
	}
}

func sizes(labels []int, k int) (n []int) {
	for _, group := range members(labels, k) {
		n = append(n, len(group))
	}
	return n
}
