package selection

import "fedkit.example/fedkit"

// fill adds clients at random until n are chosen.
func fill(r *fedkit.Round, chosen []int, n int) []int {
	in := make([]bool, r.Clients())
	for _, c := range chosen {
		in[c] = true
	}
	for _, c := range shuffled(r, "fill") {
		if len(chosen) >= n {
			break
		}
		if !in[c] {
			chosen = append(chosen, c)
		}
	}
	return chosen
}
