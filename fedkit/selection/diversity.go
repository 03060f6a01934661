package selection

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit"
)

// Diversity prefers the clients that differed most from the global model when they last took part. It draws n of the M
// ranked clients one after the other without replacement, with the probabilities
//
//	P(rank j) ∝ exp((M − j)/T),  j = 0 … M−1,
//
// among those that are left. Ranks count, not values. In one draw the first rank is e^{(M−1)/T} times as likely as the
// last: nearly e times at T = M, and 1.1 times at T = 10M. T = 1 takes the top n ranks or ranks close to them.
//
// If fewer than n clients have taken part so far, all of these are chosen, plus random others. Otherwise those that never
// took part rank highest, since only Explore would reach them if they did not.
type Diversity struct {
	Temperature float64 `range:"[0,inf]" default:"1"` // T, of the softmax over ranks; fedkit.Zero: the top ranks alone; +Inf: uniform
	By          By      // statistic to rank by; default Drift
}

// At implements Tempered.
func (s Diversity) At(temperature float64) fedkit.Selector {
	s.Temperature = temperature
	return s
}

// Select implements fedkit.Selector.
func (s Diversity) Select(r *fedkit.Round, n int) []int {
	return fill(r, softmax(s.By.rank(r, n), n, fedkit.Defaults(s).Temperature, r.Rand("diversity")), n)
}

// By is the statistic of a client's last round by which Diversity and Hybrid rank clients, largest first.
type By int

const (
	Drift         By = iota // ‖w_i − x‖₂, client drift
	Dissimilarity           // 1 − cos(Δ_i, mean Δ), in [0, 2]: how far its direction is from the mean update's
	Loss                    // mean training loss
)

var names = []string{"drift", "dissimilarity", "loss"}

// String returns the name in charts, "drift".
func (by By) String() string {
	if by.Check(nil, 0) != nil {
		return fmt.Sprintf("By(%d)", int(by))
	}
	return names[by]
}

// MarshalText writes the name into configurations.
func (by By) MarshalText() ([]byte, error) { return []byte(by.String()), nil }

// Check implements fedkit.Checker.
func (by By) Check(*fedkit.Federation, int) error {
	if by < 0 || int(by) >= len(names) {
		return fedkit.Invalid("", int(by), "selection.Drift, selection.Dissimilarity or selection.Loss")
	}
	return nil
}

// UsesSimilarity implements fedkit.SimilarityUser.
func (by By) UsesSimilarity() bool { return by == Dissimilarity }

// of returns the statistic of a client's last round.
func (by By) of(last fedkit.ClientResult) float64 {
	switch by {
	case Dissimilarity:
		return 1 - float64(last.Similarity)
	case Loss:
		return float64(last.Loss)
	}
	return float64(last.Drift)
}

// rank returns the clients in descending order. Those that never took part come first, in random order: they may differ
// most, and would otherwise never be chosen. If fewer than n have taken part, it returns only those that have.
func (by By) rank(r *fedkit.Round, n int) []int {
	order, figure := shuffled(r, "rank"), map[int]float64{}
	var known []int
	for _, c := range order {
		figure[c] = math.Inf(1)
		if last, rounds := r.Last(c); rounds > 0 {
			known, figure[c] = append(known, c), by.of(last)
		}
	}
	if len(known) < n {
		order = known
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(figure[b], figure[a]) })
	return order
}

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
