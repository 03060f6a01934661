package xla

import (
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	gxla "github.com/gomlx/go-xla/compute/xla"
)

// function is a graph function for a CPU. It rewrites operations that XLA compiles to slow code there, above all inside a loop,
// into equivalent ones, so that GoMLX's layers and their gradients are fast. scripts/bench.md has the speedups. On any device, its
// closures nest: GoMLX asks the main function for each, and go-xla would make that the parent of a loop's body inside another's.
type function struct {
	*gxla.Function
	rewrites bool
	open     *[]*gxla.Function // closures of the program that are being built, the innermost last
}

// formEnv is the environment variable that overrides the form of convolutions.
const formEnv = "FEDKIT_CONVOLUTIONS"

// The forms of convolutions and poolings: XLA's own; those of function, on a CPU, with oneDNN's convolutions or without; and, for
// model.Convolution on a GPU, one matrix product of all clients, which has the precision of the others: XLA's own convolution takes TF32 there.
const (
	Native    = "native"
	OneDNN    = "onednn"
	Rewritten = "rewritten"
	Patches   = "patches"
)

// form returns the form of convolutions that the variable asks for or, if it is empty, that of the device.
func form(asked string, cpu bool) (string, error) {
	switch asked {
	case "":
		if cpu {
			return OneDNN, nil
		}
		return Patches, nil
	case Native, OneDNN, Rewritten, Patches:
		return asked, nil
	}
	return "", fmt.Errorf("%s = %q: must be %s, %s, %s or %s", formEnv, asked, Native, OneDNN, Rewritten, Patches)
}

// Form is the form of convolutions in this process.
var Form = sync.OnceValue(func() string {
	is, _ := form(os.Getenv(formEnv), OnCPU()) // Backend refuses other values
	return is
})

// rewritten returns a go-xla function that rewrites, if this process does, and whose closures nest.
func rewritten(f compute.Function, open *[]*gxla.Function) compute.Function {
	if own, is := f.(*gxla.Function); is {
		return function{own, Form() == OneDNN || Form() == Rewritten, open}
	}
	return f
}

// Closure implements compute.Function, as the methods below do.
func (f function) Closure() (compute.Function, error) {
	parent := f.Function
	if n := len(*f.open); n > 0 {
		parent = (*f.open)[n-1]
	}
	c, err := parent.Closure()
	if own, is := c.(*gxla.Function); is && err == nil {
		*f.open = append(*f.open, own)
	}
	return rewritten(c, f.open), err
}

func (f function) Return(outputs []compute.Value, shardings []*compute.ShardingSpec) error {
	if n := len(*f.open); n > 0 && (*f.open)[n-1] == f.Function {
		*f.open = (*f.open)[:n-1]
	}
	return f.Function.Return(outputs, shardings)
}

func (f function) While(cond, body compute.Function, state ...compute.Value) ([]compute.Value, error) {
	return f.Function.While(unwrap(cond), unwrap(body), state...)
}

func (f function) If(which compute.Value, yes, no compute.Function) ([]compute.Value, error) {
	return f.Function.If(which, unwrap(yes), unwrap(no))
}

func (f function) Sort(less compute.Function, axis int, stable bool, in ...compute.Value) ([]compute.Value, error) {
	return f.Function.Sort(unwrap(less), axis, stable, in...)
}

func (f function) Call(target compute.Function, in ...compute.Value) ([]compute.Value, error) {
	return f.Function.Call(unwrap(target), in...)
}

// unwrap returns go-xla's own function.
func unwrap(f compute.Function) compute.Function {
	if own, is := f.(function); is {
		return own.Function
	}
	return f
}

// chain builds operations one after the other, and keeps the first error.
type chain struct {
	f   function
	err error
}

func (c *chain) do(v compute.Value, err error) compute.Value {
	if c.err == nil {
		c.err = err
	}
	return v
}

// dims returns the dimensions of a value.
func (c *chain) dims(v compute.Value) []int {
	if c.err != nil {
		return nil
	}
	s, err := c.f.Shape(v)
	c.do(nil, err)
	return s.Dimensions
}

// transpose permutes the axes, unless they are in order.
func (c *chain) transpose(x compute.Value, axes []int) compute.Value {
	if c.err != nil || slices.IsSorted(axes) {
		return x
	}
	return c.do(c.f.Transpose(x, axes...))
}

// full is a constant tensor of the given dimensions.
func full[T interface{ int32 | float32 }](c *chain, value T, dims ...int) compute.Value {
	of := c.do(c.f.Constant([]T{value}))
	return c.do(c.f.BroadcastInDim(of, shapes.Make(dtypes.FromGenericsType[T](), dims...), nil))
}
