package selection

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit"
)

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
