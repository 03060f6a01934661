package catalog

import (
	"fmt"
	"slices"
	"strings"

	"fedkit.example/fedkit"
)

// normal is a name without case, dashes, underscores and spaces.
func normal(name string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(name))
}

func same(a, b string) bool { return normal(a) == normal(b) }

// unknown is the error for a name that is none of the known ones. It suggests the one with the fewest edits, unless nearly
// everything would have to change.
func unknown(field, value, allowed, name string, known []string) error {
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	if len(known) == 0 {
		return fedkit.Invalid(field, value, allowed+"; there are none")
	}
	distance := func(k string) int { return edits(normal(name), normal(k)) }
	nearest := slices.MinFunc(known, func(a, b string) int { return distance(a) - distance(b) })
	if distance(nearest) <= max(2, len(normal(nearest))/2) {
		allowed += fmt.Sprintf(" (did you mean %s?)", nearest)
	}
	return fedkit.Invalid(field, value, allowed+": "+strings.Join(known, ", "))
}

// edits is the Levenshtein distance: how many letters must be put in, left out or changed to make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1) // of the first letters of a, from each beginning of b
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
