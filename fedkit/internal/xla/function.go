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

// function is a function of a graph, as a CPU wants it. Operations that XLA compiles to slow code there, above all inside a loop, it writes in
// another form, with the same result: so what GoMLX's layers ask for, and the gradients that it derives from them, are fast too. What
// each form brings is in scripts/bench.md.
type function struct{ *gxla.Function }

// formsEnv is the environment variable that chooses by hand: XLA's own forms, "native", or those of function, "rewritten".
const formsEnv = "FEDKIT_CONVOLUTIONS"

// rewrites says whether convolutions and poolings are rewritten, as they are on a CPU unless the variable says otherwise.
func rewrites(form string, cpu bool) (bool, error) {
	switch form {
	case "":
		return cpu, nil
	case "native", "rewritten":
		return form == "rewritten", nil
	}
	return false, fmt.Errorf("%s = %q: must be native or rewritten", formsEnv, form)
}

// inForms is rewrites of this process.
var inForms = sync.OnceValue(func() bool {
	is, _ := rewrites(os.Getenv(formsEnv), OnCPU()) // Backend refuses other values
	return is
})

// inForm returns a function of go-xla's with these forms, if programs are to have them.
func inForm(f compute.Function) compute.Function {
	if own, is := f.(*gxla.Function); is && inForms() {
		return function{own}
	}
	return f
}

// Closure implements compute.Function, as the methods below do.
func (f function) Closure() (compute.Function, error) {
	c, err := f.Function.Closure()
	if err != nil {
		return nil, err
	}
	return inForm(c), nil
}

func (f function) While(cond, body compute.Function, state ...compute.Value) ([]compute.Value, error) {
	return f.Function.While(plain(cond), plain(body), state...)
}

func (f function) If(which compute.Value, yes, no compute.Function) ([]compute.Value, error) {
	return f.Function.If(which, plain(yes), plain(no))
}

func (f function) Sort(less compute.Function, axis int, stable bool, in ...compute.Value) ([]compute.Value, error) {
	return f.Function.Sort(plain(less), axis, stable, in...)
}

func (f function) Call(target compute.Function, in ...compute.Value) ([]compute.Value, error) {
	return f.Function.Call(plain(target), in...)
}

// plain is the function as go-xla knows it.
func plain(f compute.Function) compute.Function {
	if own, is := f.(function); is {
		return own.Function
	}
	return f
}

// chain is a chain of operations that ends with the first error.
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

// transpose changes the order of axes, if they are in another one.
func (c *chain) transpose(x compute.Value, axes []int) compute.Value {
	if c.err != nil || slices.IsSorted(axes) {
		return x
	}
	return c.do(c.f.Transpose(x, axes...))
}

// number is a constant of some dimensions.
func (c *chain) number(value any, dims ...int) compute.Value {
	var of compute.Value
	t := dtypes.Float32
	switch v := value.(type) {
	case int32:
		of, t = c.do(c.f.Constant([]int32{v})), dtypes.Int32
	case float32:
		of = c.do(c.f.Constant([]float32{v}))
	}
	return c.do(c.f.BroadcastInDim(of, shapes.Make(t, dims...), nil))
}
