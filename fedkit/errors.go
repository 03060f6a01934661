package fedkit

import (
	"errors"
	"fmt"

	"fedkit.example/fedkit/internal/xla"
)

var (
	// ErrInvalid says that an option, a shape or an index is not allowed. It is found before anything runs.
	ErrInvalid = errors.New("invalid")
	// ErrNotFinite says that a client returned an update that holds NaN or Inf.
	ErrNotFinite = errors.New("not finite")
	// ErrNoDevice says that no XLA device could be opened, usually because set-up has not been run.
	ErrNoDevice = xla.ErrNoPlugin
)

// Invalid is the error for a bad option: it names the field, the value it has and what is allowed. Strategies and parts
// return it from their Check method.
func Invalid(field string, value any, allowed string) error {
	return fmt.Errorf("%w: %s = %v: must be %s", ErrInvalid, field, value, allowed)
}
