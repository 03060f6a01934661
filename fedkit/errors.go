package fedkit

import (
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/xla"
)

var (
	// ErrInvalid says that an option, a shape or an index is not allowed. Options are checked before anything runs.
	ErrInvalid = fault.ErrInvalid
	// ErrNotFinite says that a client returned an update that holds NaN or Inf.
	ErrNotFinite = fault.ErrNotFinite
	// ErrStopped says that the program was interrupted, by a notebook's stop button or Ctrl-C: before the run had finished a
	// round, or before it began.
	ErrStopped = fault.ErrStopped
	// ErrNoDevice says that no XLA device could be opened, usually because set-up has not been run.
	ErrNoDevice = xla.ErrNoPlugin
)

// Invalid is the error for a bad option: it names the field, its value and what is allowed. A long value is cut short. Strategies
// and parts return it from their Check method.
func Invalid(field string, value any, allowed string) error {
	return fault.Invalid(field, value, allowed)
}
