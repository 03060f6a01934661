package selection

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"gonum.org/v1/gonum/stat/distuv"
)

const largest = 6 // clients

// world is the state of a run of Fair: rounds taken part in and rounds waited, by client.
type world struct{ took, waited [largest]int }

// after returns the world after a round with the clients of a mask, and whether the bounds hold in it.
func (w world) after(s Fair, t, m int, mask uint) (world, bool) {
	for c := range m {
		w.waited[c]++
		if mask>>c&1 == 1 {
			w.took[c]++
			w.waited[c] = 0
		}
		if s.Wait > 0 && w.waited[c] > s.Wait || s.Quota > 0 && w.took[c] > s.most(t) {
			return w, false
		}
	}
	return w, true
}

// sorted renumbers the clients, since those in the same state are interchangeable, and drops what s does not bound.
func (w world) sorted(s Fair, m int) (v world) {
	if s.Wait == 0 {
		w.waited = v.waited
	}
	if s.Quota == 0 {
		w.took = v.took
	}
	order := make([]int, m)
	for c := range order {
		order[c] = c
	}
	slices.SortFunc(order, func(a, b int) int { return (w.took[a]-w.took[b])*1000 + w.waited[a] - w.waited[b] })
	for k, c := range order {
		v.took[k], v.waited[k] = w.took[c], w.waited[c]
	}
	return v
}

func permutations(m int) (all [][]int) {
	if m == 0 {
		return [][]int{nil}
	}
	for _, p := range permutations(m - 1) {
		for at := range m {
			all = append(all, slices.Insert(slices.Clone(p), at, m-1))
		}
	}
	return all
}

func mask(clients []int) (bits uint) {
	for _, c := range clients {
		bits |= 1 << c
	}
	return bits
}

// bounds lists rules that Check allows for m clients, n per round: as tight as possible, and looser.
func bounds(m, n int) (all []Fair) {
	tight := (m+n-1)/n - 1
	for _, wait := range []int{0, max(1, tight), tight + 1} {
		for _, quota := range []float64{0, float64(n) / float64(m), (float64(n)/float64(m) + 1) / 2, 2. / 3, 0.4} {
			if wait > 0 && quota == 0 || quota > 0 && quota*float64(m) >= float64(n)-tiny {
				all = append(all, Fair{Wait: wait, Quota: quota})
			}
		}
	}
	return all
}

// Every reachable state, if the rule may want any clients, in any order, n or fewer, in every round: the bounds
// hold, and the round has at least as many clients as the rule wants.
func TestFairKeepsBothBounds(t *testing.T) {
	for m := 1; m <= 4; m++ {
		orders := permutations(m)
		for n := 1; n <= m; n++ {
			for _, s := range bounds(m, n) {
				worlds := map[world]bool{{}: true}
				for round := 1; round <= 2*m+2; round++ {
					next := map[world]bool{}
					for w := range worlds {
						for k, order := range orders {
							wanted := n - k%2 // sometimes fewer
							chosen := s.choose(round, n, wanted, order, w.took[:m], w.waited[:m])
							v, ok := w.after(s, round, m, mask(chosen))
							expect.Must(t, ok && len(chosen) >= wanted && len(chosen) <= n && bits.OnesCount(mask(chosen)) == len(chosen),
								"M = %d, n = %d, %+v, round %d: %v of %v chosen after %+v", m, n, s, round, chosen, order, w)
							next[v.sorted(s, m)] = true
						}
					}
					worlds = next
				}
			}
		}
	}
}

// horizon tells by trial whether the bounds can be kept in all rounds from t to a last one.
type horizon struct {
	s       Fair
	m, n, t int
	known   map[string]bool
}

func (h *horizon) possible(w world, t int) bool {
	if t > h.t {
		return true
	}
	key := fmt.Sprint(t, w.sorted(h.s, h.m))
	if p, ok := h.known[key]; ok {
		return p
	}
	p := false
	for choice := range uint(1) << h.m {
		if bits.OnesCount(choice) == h.n && !p {
			v, ok := w.after(h.s, t, h.m, choice)
			p = ok && h.possible(v, t+1)
		}
	}
	h.known[key] = p
	return p
}

// Under one bound a round has as many of the clients that the rule wants as any choice that keeps all later rounds
// feasible.
func TestFairLeavesTheRuleItsChoice(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		m, n int
		s    Fair
	}{{3, 2, Fair{Quota: 2. / 3}}, {4, 3, Fair{Quota: 0.75}}, {5, 2, Fair{Quota: 0.4}}, {5, 3, Fair{Quota: 2. / 3}}, {5, 2, Fair{Wait: 2}}, {5, 2, Fair{Wait: 3}}} {
		for range 4 {
			var w world
			favorites := rng.Perm(c.m)
			h := &horizon{s: c.s, m: c.m, n: c.n, t: 16, known: map[string]bool{}}
			for round := 1; round <= 8; round++ {
				if rng.IntN(3) == 0 {
					favorites = rng.Perm(c.m)
				}
				want := mask(favorites[:c.n])
				best := 0
				for choice := range uint(1) << c.m {
					if v, ok := w.after(c.s, round, c.m, choice); ok && bits.OnesCount(choice) == c.n && h.possible(v, round+1) {
						best = max(best, bits.OnesCount(choice&want))
					}
				}
				chosen := mask(c.s.choose(round, c.n, c.n, favorites, w.took[:c.m], w.waited[:c.m]))
				got := bits.OnesCount(chosen & want)
				expect.That(t, got == best,
					"%+v, round %d: %d of the wanted %v in %b, %d are possible after %+v", c, round, got, favorites[:c.n], chosen, best, w)
				w, _ = w.after(c.s, round, c.m, chosen)
			}
		}
	}
}

// A large federation: this takes minutes if any step takes time for every pair of clients.
func TestFairIsFast(t *testing.T) {
	const m, n = 100_000, 20_000
	rng := rand.New(rand.NewPCG(1, 2))
	took, waited := make([]int, m), make([]int, m)
	s := Fair{Wait: 8, Quota: 0.25}
	for round := range 3 {
		order := rng.Perm(m)
		chosen := s.choose(round+1, n, n, order, took, waited)
		expect.Must(t, len(chosen) == n, "%d chosen, want %d", len(chosen), n)
		for c := range waited {
			waited[c]++
		}
		for _, c := range chosen {
			took[c], waited[c] = took[c]+1, 0
		}
	}
}

// With both bounds and more clients, the quota holds in every round of n clients; a client may wait longer than T,
// but not forever.
func TestFairKeepsTheQuotaFirst(t *testing.T) {
	const m, n, rounds = 11, 5, 60
	s := Fair{Wait: 2, Quota: float64(n) / m}
	longest := 0
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		took, waited := make([]int, m), make([]int, m)
		for r := 1; r <= rounds; r++ {
			order := rng.Perm(m) // a rule that prefers those it had last
			slices.SortStableFunc(order, func(a, b int) int { return waited[a] - waited[b] })
			chosen := s.choose(r, n, n, order, took, waited)
			expect.Must(t, len(chosen) == n, "seed %d, round %d: %d clients, want %d", seed, r, len(chosen), n)
			for c := range m {
				waited[c]++
			}
			for _, c := range chosen {
				took[c]++
				waited[c] = 0
			}
			most := slices.Max(took)
			expect.Must(t, most <= s.most(r), "seed %d, round %d: a client took part %d times, want at most %d", seed, r, most, s.most(r))
			longest = max(longest, slices.Max(waited))
		}
	}
	expect.That(t, longest <= 2*s.Wait, "a client waited %d rounds where %d were asked for", longest, s.Wait)
}

// Under the race detector the plugin's destructors abort when the process exits normally.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

// exact lists the probability of every ordered draw of n from the ranks 0 … m−1 by definition: draw one from
// the softmax over the scores m, m−1, …, remove it, and repeat.
func exact(m, n int, temperature float64) map[string]float64 {
	all := map[string]float64{}
	var draw func(taken []int, p float64)
	draw = func(taken []int, p float64) {
		if len(taken) == n {
			all[fmt.Sprint(taken)] += p
			return
		}
		sum := 0.0
		weight := func(i int) float64 { return math.Exp(float64(-i) / temperature) }
		for i := range m {
			if !slices.Contains(taken, i) {
				sum += weight(i)
			}
		}
		for i := range m {
			if !slices.Contains(taken, i) {
				draw(append(slices.Clone(taken), i), p*weight(i)/sum)
			}
		}
	}
	draw(nil, 1)
	return all
}

// Chi-square tests against the exact probabilities, at 99.9%.
func TestSoftmaxIsSamplingWithoutReplacement(t *testing.T) {
	for i, c := range []struct {
		m, n        int
		temperature float64
	}{{4, 2, 1}, {4, 2, 1.5}, {5, 3, 8}, {4, 3, math.Inf(1)}, {6, 1, 0.7}} {
		ranked := make([]int, c.m)
		for j := range ranked {
			ranked[j] = j
		}
		rng, seen := rand.New(rand.NewPCG(uint64(i), 5)), map[string]int{}
		const draws = 40_000
		for range draws {
			seen[fmt.Sprint(softmax(ranked, c.n, c.temperature, rng))]++
		}
		stat, cells := 0.0, 0
		for draw, p := range exact(c.m, c.n, c.temperature) {
			expected := p * draws
			stat += math.Pow(float64(seen[draw])-expected, 2) / expected
			cells++
		}
		most := (distuv.ChiSquared{K: float64(cells - 1)}).Quantile(0.999)
		expect.That(t, stat <= most, "%d of %d at T = %v: χ² = %.1f, at most %.1f with %d cells", c.n, c.m, c.temperature, stat, most, cells)
	}
}

// NumPy 2.4.6: rng = numpy.random.default_rng(0); rng.choice(4, size=2, replace=False, p=p), a million times, with p the
// softmax of 4, 3, 2, 1. The share of a draw may be off by four standard deviations.
func TestExactProbabilitiesAreNumPys(t *testing.T) {
	p := exact(4, 2, 1)
	for draw, share := range map[string]float64{
		"[0 1]": 0.4284, "[0 2]": 0.1567, "[0 3]": 0.0579, "[1 0]": 0.2002, "[1 2]": 0.0273, "[1 3]": 0.0101,
		"[2 0]": 0.0614, "[2 1]": 0.0228, "[2 3]": 0.0032, "[3 0]": 0.0214, "[3 1]": 0.0078, "[3 2]": 0.0030,
	} {
		expect.That(t, math.Abs(p[draw]-share) <= 4*math.Sqrt(share/1e6)+5e-5, "P(%s) = %v, NumPy drew it in a share of %v", draw, p[draw], share)
	}
}

func TestSoftmaxLimits(t *testing.T) {
	rng, ranked := rand.New(rand.NewPCG(1, 1)), []int{7, 3, 9, 1}
	for range 50 {
		got := softmax(ranked, 2, math.SmallestNonzeroFloat64, rng)
		expect.Must(t, slices.Equal(got, []int{7, 3}), "T → 0 chose %v, want the top ranks 7 and 3", got)
	}
	if got := softmax(ranked, 9, 1e300, rng); len(got) != 4 {
		t.Errorf("%d of 4 chosen, 9 wanted", len(got))
	}
	got := softmax(nil, 2, 1, rng)
	expect.That(t, len(got) == 0, "%v chosen from nobody", got)
}
