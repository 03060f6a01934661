package fault

import (
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Stack returns the calls that led here and that keep wants, innermost first, without the innermost ones.
func Stack(skip int, keep func(f runtime.Frame) bool) (all []runtime.Frame) {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(skip+2, pcs[:])])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function != "" && keep(f) {
			all = append(all, f)
		}
	}
	return all
}

// calls returns the stack of the caller of Located or Panicked, innermost first, without frames of the given packages.
func calls(without ...string) []runtime.Frame {
	return Stack(3, func(f runtime.Frame) bool {
		folder, name := path.Split(f.Function)
		in, _, _ := strings.Cut(name, ".")
		return !slices.Contains(without, folder+in)
	})
}

// own lists the packages whose frames say nothing about a mistake in a strategy.
var own = []string{"runtime", "reflect", "testing", "encoding/gob", "github.com/janpfeifer/must", "fedkit.example/fedkit", "fedkit.example/fedkit/config",
	"fedkit.example/fedkit/internal/engine", "fedkit.example/fedkit/internal/fault", "fedkit.example/fedkit/internal/clientdata", "fedkit.example/fedkit/internal/measure",
	"fedkit.example/fedkit/internal/nested", "fedkit.example/fedkit/internal/rows", "fedkit.example/fedkit/internal/serving", "fedkit.example/fedkit/internal/task",
	"fedkit.example/fedkit/internal/xla", "fedkit.example/fedkit/notebook"}

// line is a line of its own for a call: in a line with colons before it, the notebook kernel GoNB takes other text for a column.
func line(f runtime.Frame) string {
	return fmt.Sprintf("\n\t%s %s:%d", path.Base(f.Function), filepath.Base(f.File), f.Line)
}

// Located adds to an error, where it is made, the line of code that led to it, below: "strategy.(*CFL).Round cfl.go:42".
func Located(err error) error {
	if err == nil {
		return nil
	}
	if all := calls(own...); len(all) > 0 {
		return fmt.Errorf("%w%s", err, line(all[0]))
	}
	return err
}

// Panicked is the error for a recovered panic: its value, and the stack without fedkit's own frames.
func Panicked(p any) error {
	all := calls(own...)
	if len(all) == 0 {
		all = calls("runtime", "reflect", "testing")
	}
	e := &panicError{value: p}
	for _, f := range all[:min(6, len(all))] {
		e.stack += line(f)
	}
	return e
}

type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprint(e.value) + e.stack }

// Unwrap returns the error that was the value of the panic, if it was one.
func (e *panicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}
