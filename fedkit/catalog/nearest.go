package catalog

import (
	"fmt"
	"slices"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/nearest"
)

func same(a, b string) bool { return nearest.Normal(a) == nearest.Normal(b) }

// unknown is the error for an unknown name. It suggests the known name with the smallest edit distance, unless nearly everything
// would have to change.
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
