package engine

import (
	"context"
	"fmt"

	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
)

// design is all that a compiled program depends on. Equal designs share a program.
type design interface {
	name(task *Task) string
	// inputs names the program's inputs, for both its declaration and its calls.
	inputs() []string
	build(e *Engine, in nodes) []*graph.Node
}

// nodes are a program's inputs by name, values its arguments.
type (
	nodes  map[string]*graph.Node
	values map[string]any
)

// run calls the program of a design, which is compiled at the first call.
func (e *Engine) run(ctx context.Context, on Device, d design, v values) ([]Value, error) {
	names := d.inputs()
	arguments := make([]any, len(names))
	for i, name := range names {
		value, given := v[name]
		if !given {
			return nil, fmt.Errorf("program %q: input %q is missing", d.name(&e.task), name)
		}
		arguments[i] = value
	}
	return on.Run(ctx, e.program(d), arguments)
}

// program returns the program of a design, created at first use.
func (e *Engine) program(d design) *xla.Program {
	return e.programs.Get(d, func() *xla.Program {
		p := xla.NewProgram(d.name(&e.task), func(arguments []*graph.Node) []*graph.Node {
			touchVariables(&e.task, arguments[0].Graph())
			in := nodes{}
			for i, name := range d.inputs() {
				in[name] = arguments[i]
			}
			return d.build(e, in)
		})
		return withVariables(p, &e.task)
	})
}
