package cluster

import "math"

// Match names new groups after the old ones they resemble most, so that a group's model keeps serving the same clients.
// overlap[old][new], [K][L], is the similarity of two groups. The result, name[new] = old, [L], is the one-to-one matching with
// the greatest total overlap; −1 is a new group without an old one left for it. An empty new group gets an unused old name.
// Missing or non-finite entries count as 0.
//
// This is linear assignment, by shortest augmenting paths (Jonker and Volgenant 1987) in O(K L min(K, L)). It is written by hand
// because gonum has none.
func Match(overlap [][]float64) (name []int) {
	olds, news := len(overlap), 0
	for _, row := range overlap {
		news = max(news, len(row))
	}
	common := func(o, n int) float64 {
		if n < len(overlap[o]) && !math.IsNaN(overlap[o][n]) && !math.IsInf(overlap[o][n], 0) {
			return overlap[o][n]
		}
		return 0
	}
	if olds > news {
		return assign(news, olds, func(n, o int) float64 { return common(o, n) })
	}
	name = make([]int, news)
	for n := range name {
		name[n] = -1
	}
	for o, n := range assign(olds, news, common) {
		name[n] = o
	}
	return name
}

// assign matches each row with its own column at the greatest total gain, rows ≤ columns. Row r and column c are at r+1 and c+1;
// row 0 and column 0 are sentinels.
func assign(rows, columns int, gain func(r, c int) float64) []int {
	u, v := make([]float64, rows+1), make([]float64, columns+1) // potentials
	row := make([]int, columns+1)                               // by column, its row
	for r := 1; r <= rows; r++ {
		row[0] = r
		at := 0
		least, from, done := make([]float64, columns+1), make([]int, columns+1), make([]bool, columns+1)
		for j := range least {
			least[j] = math.Inf(1)
		}
		for row[at] != 0 {
			done[at] = true
			i, delta, next := row[at], math.Inf(1), 0
			for j := 1; j <= columns; j++ {
				if done[j] {
					continue
				}
				if cost := -gain(i-1, j-1) - u[i] - v[j]; cost < least[j] {
					least[j], from[j] = cost, at
				}
				if least[j] < delta {
					delta, next = least[j], j
				}
			}
			for j := range done {
				if done[j] {
					u[row[j]] += delta
					v[j] -= delta
				} else {
					least[j] -= delta
				}
			}
			at = next
		}
		for at != 0 {
			row[at] = row[from[at]]
			at = from[at]
		}
	}
	column := make([]int, rows)
	for j := 1; j <= columns; j++ {
		if row[j] > 0 {
			column[row[j]-1] = j - 1
		}
	}
	return column
}
