package catalog

import (
	"fmt"
	"slices"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/nearest"
)

func same(a, b string) bool { return nearest.Normal(a) == nearest.Normal(b) }

// unknown is the error for a name that is none of the known ones. It suggests the one with the fewest edits, unless nearly
// everything would have to change.
func unknown(field, value, allowed, name string, known []string) error {
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	if len(known) == 0 {
		return fedkit.Invalid(field, value, allowed+"; there are none")
	}
	if near := nearest.Of(name, known); near != "" {
		allowed += fmt.Sprintf(" (did you mean %s?)", near)
	}
	return fedkit.Invalid(field, value, allowed+": "+strings.Join(known, ", "))
}
