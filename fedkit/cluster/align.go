package cluster

import (
	"math"
	"slices"
)

// Align renames new groups after the old ones they resemble most: it returns the labels [n], renamed by Match. The overlap of an
// old and a new group is the weight that the new one's points had in the old one. before[i][c] is point i's weight in old group
// c, [n][k]: one-hot or soft. New groups beyond k get names from k on. A negative label (no group) becomes −1. Points beyond the
// end of before have no weights.
func Align(labels []int, before [][]float64) []int {
	before = before[:min(len(before), len(labels))]
	k := groups(labels)
	for _, w := range before {
		k = max(k, len(w))
	}
	overlap := zeros(k, k)
	for i, weights := range before {
		for c, w := range weights {
			if labels[i] >= 0 {
				overlap[c][labels[i]] += w
			}
		}
	}
	return rename(labels, Match(overlap))
}

// Follow renames groups whose number may change: each group of labels [n] keeps the name of the group of before [n] with which it
// shares the most points, one to one (see Match). An unmatched group gets the lowest name that no old group has. A negative label
// (no group) becomes −1. Points beyond the end of before had no group.
func Follow(labels, before []int) []int {
	before = before[:min(len(before), len(labels))]
	now, then := Renumber(labels), Renumber(before)
	overlap, old := zeros(groups(then), groups(now)), make([]int, groups(then))
	for i, c := range then {
		if c >= 0 {
			old[c] = before[i]
		}
		if c >= 0 && now[i] >= 0 {
			overlap[c][now[i]]++
		}
	}
	like, name, fresh := Match(overlap), make([]int, groups(now)), 0
	for c := range name {
		if c < len(like) && like[c] >= 0 && overlap[like[c]][c] > 0 {
			name[c] = old[like[c]]
			continue
		}
		for slices.Contains(old, fresh) {
			fresh++
		}
		name[c] = fresh
		fresh++
	}
	return rename(now, name)
}

// groups returns the number of groups: one more than the greatest label.
func groups(labels []int) int {
	if len(labels) == 0 {
		return 0
	}
	return 1 + min(max(-1, slices.Max(labels)), math.MaxInt-1)
}

// rename returns name[label] for each label, −1 for a negative one.
func rename(labels, name []int) []int {
	renamed := make([]int, len(labels))
	for i, label := range labels {
		renamed[i] = -1
		if label >= 0 {
			renamed[i] = name[label]
		}
	}
	return renamed
}

// Renumber returns labels 0, 1, … in the order in which the groups first appear. A negative label (no group) becomes −1.
func Renumber(labels []int) []int {
	name, out := map[int]int{}, make([]int, len(labels))
	for i, l := range labels {
		if l < 0 {
			out[i] = -1
			continue
		}
		if _, known := name[l]; !known {
			name[l] = len(name)
		}
		out[i] = name[l]
	}
	return out
}

// zeros returns a table of zeros [rows][columns] in one allocation.
func zeros(rows, columns int) [][]float64 {
	rows = sized(rows, columns)
	t, all := make([][]float64, rows), make([]float64, rows*columns)
	for i := range t {
		t[i] = all[i*columns : (i+1)*columns : (i+1)*columns]
	}
	return t
}

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
