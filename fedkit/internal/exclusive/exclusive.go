// Package exclusive keeps two runs from sharing a strategy, its State or a checkpoint at the same time.
package exclusive

import (
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"fedkit.example/fedkit/internal/fault"
)

// Claims are the addresses of a run's strategies and their States, and the path of its checkpoint.
type Claims []any

// running holds the claims of all current runs.
var running sync.Map

// Of returns the claims of strategies, their States and a checkpoint; "" is none.
func Of[S any](all []S, states []any, checkpoint string) Claims {
	claims := slices.Clone(states)
	for _, s := range all {
		if v := reflect.ValueOf(s); v.Kind() == reflect.Pointer && v.Elem().Type().Size() > 0 {
			claims = append(claims, v.Interface())
		}
	}
	if path, err := filepath.Abs(checkpoint); checkpoint != "" && err == nil {
		claims = append(claims, path)
	}
	return claims
}

// Take takes all of them, or none, and refuses those that another run holds.
func (c Claims) Take() error {
	for i, claim := range c {
		if _, busy := running.LoadOrStore(claim, true); busy {
			c[:i].Release()
			if path, ok := claim.(string); ok {
				return fault.Invalid("Options.Checkpoint", path, "a file of its own: another run writes this one")
			}
			return fault.Invalid("strategy", "a value that is in another run", "one per run: its State cannot be shared")
		}
	}
	return nil
}

// Release gives them back.
func (c Claims) Release() {
	for _, claim := range c {
		running.Delete(claim)
	}
}
