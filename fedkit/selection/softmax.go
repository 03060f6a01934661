package selection

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// softmax draws n of the ranked clients (all of them if there are fewer) one after the other without replacement, each
// time with probabilities proportional to e^{score/T} for the scores 0, −1, −2, … of the ranks. This is the same as taking
// the n largest values of score + T·Gumbel noise (W. Kool et al., arXiv 1903.06059, §3), which neither overflows nor
// underflows for any T. T = +Inf is uniform.
func softmax(ranked []int, n int, temperature float64, rng *rand.Rand) []int {
	key := make(map[int]float64, len(ranked))
	for i, c := range ranked {
		gumbel := -math.Log(rng.ExpFloat64())
		key[c] = gumbel
		if !math.IsInf(temperature, 1) {
			key[c] = temperature*gumbel - float64(i)
		}
	}
	drawn := slices.Clone(ranked)
	slices.SortStableFunc(drawn, func(a, b int) int { return cmp.Compare(key[b], key[a]) })
	return drawn[:min(n, len(drawn))]
}
