// Package nearest finds the name that a misspelled one was meant to be.
package nearest

import (
	"cmp"
	"slices"
	"strings"
)

// Normal is a name without case, dashes, underscores and spaces.
func Normal(name string) string {
	return strings.ToLower(apart.Replace(name))
}

var apart = strings.NewReplacer("-", "", "_", "", " ", "")

// Sort returns the known names by their edit distance to name, ties in their order.
func Sort(name string, known []string) []string {
	near := slices.Clone(known)
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(distance(name, a), distance(name, b)) })
	return near
}

// Of returns the known name with the least edit distance, and "" if nearly everything would have to change.
func Of(name string, known []string) string {
	near := Sort(name, known)
	if len(near) == 0 || distance(name, near[0]) > max(2, len(Normal(near[0]))/2) {
		return ""
	}
	return near[0]
}

func distance(name, known string) int {
	const most = 100 // bytes: no longer name is near any
	return edits(Normal(name[:min(len(name), most)]), Normal(known))
}

// edits is the Levenshtein distance: how many insertions, deletions and substitutions turn a into b.
func edits(a, b string) int {
	row := make([]int, len(b)+1) // distances of the current prefix of a to each prefix of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
