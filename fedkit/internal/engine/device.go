package engine

import (
	"context"

	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/tensors"
)

// Device runs programs. This is the seam between what is computed and where: planning, randomness and mixing stay on this side of
// it, and other machines are another Device.
type Device interface {
	// Run runs a program on arguments: tensors, Go values that become tensors and, on a device away, Rows and Seldom. An end of ctx ends the wait.
	Run(ctx context.Context, p *xla.Program, arguments []any) ([]Value, error)
	// AtOnce returns how many programs should be under way at a time. Results do not depend on it.
	AtOnce() int
	// Away reports whether arguments have to travel. Then a program is given no more rows of a matrix than it reads.
	Away() bool
}

// Value is what a program left where it ran.
type Value interface {
	// Dims returns its dimensions.
	Dims() []int
	// Tensor brings it to the device of this process, if it is not there already.
	Tensor() (*tensors.Tensor, error)
	// Then runs a program where the value is, with the value as its first argument.
	Then(p *xla.Program, arguments ...any) ([]Value, error)
	// Away reports whether it is on another machine.
	Away() bool
	// Free gives its memory back.
	Free()
}

// Rows are some rows of a matrix, as an argument.
type Rows struct {
	Of *tensors.Tensor // [n, d]
	At []int
}

// Seldom is a tensor that few calls need, as an argument: it is better sent with each of them than put where all find it.
type Seldom struct{ *tensors.Tensor }

// few is how many calls that is.
const few = 2

// Here is the device of this process. It runs as many programs at once as it says.
type Here int

// Run implements Device.
func (Here) Run(_ context.Context, p *xla.Program, arguments []any) ([]Value, error) {
	out, err := p.Call(arguments...)
	return Values(out), err
}

// AtOnce implements Device.
func (h Here) AtOnce() int { return int(h) }

// Away implements Device.
func (Here) Away() bool { return false }

// Values returns tensors of this process as values.
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
func (l local) Away() bool                       { return false }
func (l local) Free()                            { xla.Free(l.t) }

func (l local) Then(p *xla.Program, arguments ...any) ([]Value, error) {
	out, err := p.Call(append([]any{l.t}, arguments...)...)
	return Values(out), err
}

// host copies a value to the host, and frees it.
func host(v Value) ([]float32, error) {
	t, err := v.Tensor()
	if err != nil {
		return nil, err
	}
	defer v.Free()
	return xla.Host(t)
}
