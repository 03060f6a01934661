package selection

import (
	"slices"

	"fedkit.example/fedkit"
)

// fill adds clients at random until n are chosen.
func fill(r *fedkit.Round, chosen []int, n int) []int {
	for _, c := range r.Rand("fill").Perm(r.Clients()) {
		if len(chosen) >= n {
			break
		}
		if !slices.Contains(chosen, c) {
			chosen = append(chosen, c)
		}
	}
	return chosen
}
