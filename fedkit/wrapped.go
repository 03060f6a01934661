package fedkit

import (
	"cmp"
	"reflect"
	"strconv"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/nested"
)

// Clone returns a copy of a strategy that can run concurrently with the original. The strategy, those it wraps and those in its
// exported fields are copied, with their options and without their States; their other parts are shared. Errors: a strategy that
// Run refuses, one in an unexported field, a wrapper whose copy still wraps the original.
func Clone(s Strategy) (Strategy, error) { return nested.Clone(s) }

// cohort returns a strategy's cohort size: from the participation rate in its field Fraction, or all clients if it has none.
func cohort(all []Strategy, m int) (int, error) {
	f, tag := nested.Field(all, "Fraction")
	if !f.IsValid() || f.Kind() != reflect.Float64 {
		return m, nil
	}
	share := f.Float()
	if !(share >= 0 && share <= 1) {
		return 0, Invalid("Fraction", share, config.Allowed("(0,1]", cmp.Or(tag.Get("default"), "every client"), false))
	}
	if usual, err := strconv.ParseFloat(tag.Get("default"), 64); err == nil && share == 0 {
		share = usual
	}
	return cohortSize(share, m), nil
}
