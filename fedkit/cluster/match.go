package cluster

import "math"

// Align gives new groups the names of the old ones they resemble most: it returns the labels [n] renamed by Match, where
// two groups have in common what the new one's points had as their weights in the old one. before[i][c] is point i's weight
// in the old group c, [n][k]: 1 and 0, or soft weights.
func Align(labels []int, before [][]float64) []int {
	overlap := make([][]float64, len(before[0]))
	for c := range overlap {
		overlap[c] = make([]float64, len(overlap))
		for i, label := range labels {
			overlap[c][label] += before[i][c]
		}
	}
	name, aligned := Match(overlap), make([]int, len(labels))
	for i, label := range labels {
		aligned[i] = name[label]
	}
	return aligned
}

// Match names new groups after the old ones they resemble most, so that a group's model keeps serving the same clients.
// overlap[old][new], [k][k], says how much two groups have in common. The result, name[new] = old, is the one-to-one
// naming with the greatest total overlap (linear assignment, by the Hungarian method in O(k³)). A new group that is empty
// gets an old name that no other takes. It is written by hand because gonum has none.
func Match(overlap [][]float64) (name []int) {
	k := len(overlap)
	// Shortest augmenting paths with potentials: row r is matched to column of[r]; index 0 is a dummy.
	u, v := make([]float64, k+1), make([]float64, k+1)
	row := make([]int, k+1) // by column, the row it is matched to
	for r := 1; r <= k; r++ {
		row[0] = r
		at := 0
		least, from, done := make([]float64, k+1), make([]int, k+1), make([]bool, k+1)
		for j := range least {
			least[j] = math.Inf(1)
		}
		for row[at] != 0 {
			done[at] = true
			i, delta, next := row[at], math.Inf(1), 0
			for j := 1; j <= k; j++ {
				if done[j] {
					continue
				}
				if cost := -overlap[i-1][j-1] - u[i] - v[j]; cost < least[j] {
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
	name = make([]int, k)
	for j := 1; j <= k; j++ {
		name[j-1] = row[j] - 1
	}
	return name
}
