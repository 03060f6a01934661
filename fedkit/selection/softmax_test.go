package selection

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

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
		if most := (distuv.ChiSquared{K: float64(cells - 1)}).Quantile(0.999); stat > most {
			t.Errorf("%d of %d at T = %v: χ² = %.1f, at most %.1f with %d cells", c.n, c.m, c.temperature, stat, most, cells)
		}
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
		if math.Abs(p[draw]-share) > 4*math.Sqrt(share/1e6)+5e-5 {
			t.Errorf("P(%s) = %v, NumPy drew it in a share of %v", draw, p[draw], share)
		}
	}
}

func TestSoftmaxLimits(t *testing.T) {
	rng, ranked := rand.New(rand.NewPCG(1, 1)), []int{7, 3, 9, 1}
	for range 50 {
		if got := softmax(ranked, 2, math.SmallestNonzeroFloat64, rng); !slices.Equal(got, []int{7, 3}) {
			t.Fatalf("T → 0 chose %v, want the top ranks 7 and 3", got)
		}
	}
	if got := softmax(ranked, 9, 1e300, rng); len(got) != 4 {
		t.Errorf("%d of 4 chosen, 9 wanted", len(got))
	}
	if got := softmax(nil, 2, 1, rng); len(got) != 0 {
		t.Errorf("%v chosen from nobody", got)
	}
}
