package engine

import (
	"context"

	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/tensors"
)

// Device runs programs. It separates what is computed from where: planning, randomness and mixing stay with the caller, and
// other processes are another Device.
type Device interface {
	// Run runs a program on arguments: tensors, Go values that become tensors and, on a remote device, Rows. Canceling
	// ctx ends the wait.
	Run(ctx context.Context, p *xla.Program, arguments []any) ([]Value, error)
	// Concurrency returns the concurrency: how many programs should be in flight. Results do not depend on it.
	Concurrency() int
	// Remote reports whether the device is remote. Arguments then travel, so a program gets only the matrix rows that it reads.
	Remote() bool
}

// Value is a result that stays on the device where its program ran.
type Value interface {
	// Dims returns its dimensions.
	Dims() []int
	// Tensor copies it to this process's device, unless it is there already.
	Tensor() (*tensors.Tensor, error)
	// Then runs a program on the value's device, with the value as its first argument.
	Then(p *xla.Program, arguments ...any) ([]Value, error)
	// Remote reports whether it is on another machine.
	Remote() bool
	// Free releases its memory.
	Free()
}

// Rows is an argument: the rows At of a matrix.
type Rows struct {
	Of *tensors.Tensor // [n, d]
	At []int
}

// Here is the device of this process; its value is the concurrency.
type Here int

// Run implements Device.
func (Here) Run(_ context.Context, p *xla.Program, arguments []any) ([]Value, error) {
	out, err := p.Call(arguments...)
	return Values(out), err
}

// Concurrency implements Device.
func (h Here) Concurrency() int { return int(h) }

// Remote implements Device.
func (Here) Remote() bool { return false }

// Values wraps tensors of this process as values.
func Values(ts []*tensors.Tensor) []Value {
	values := make([]Value, len(ts))
	for i, t := range ts {
		values[i] = local{t}
	}
	return values
}

// local is a tensor on the device of this process.
type local struct{ t *tensors.Tensor }

func (l local) Dims() []int                      { return l.t.Shape().Dimensions }
func (l local) Tensor() (*tensors.Tensor, error) { return l.t, nil }
func (l local) Remote() bool                     { return false }
func (l local) Free()                            { xla.Free(l.t) }

func (l local) Then(p *xla.Program, arguments ...any) ([]Value, error) {
	out, err := p.Call(append([]any{l.t}, arguments...)...)
	return Values(out), err
}

// hosts copies values to the host, and frees them.
func hosts(values []Value) ([][]float32, error) {
	all := make([][]float32, len(values))
	return all, xla.AtOnce(len(values), func(i int) error {
		defer values[i].Free()
		t, err := values[i].Tensor()
		if err != nil {
			return err
		}
		all[i], err = xla.Host(t)
		return err
	})
}
