package engine

import (
	"context"

	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
)

// design is all that a compiled program depends on. Equal designs share a program, and have inputs of the same names.
type design interface {
	name(task *Task) string
	build(e *Engine, in nodes) []*graph.Node
}

// input is an argument of a program by name, nodes are its inputs by name.
type (
	input struct {
		name  string
		value any
	}
	nodes map[string]*graph.Node
)

// run calls the program of a design, which is compiled at the first call.
func (e *Engine) run(ctx context.Context, on Device, d design, inputs []input) ([]Value, error) {
	names, arguments := make([]string, len(inputs)), make([]any, len(inputs))
	for i, in := range inputs {
		names[i], arguments[i] = in.name, in.value
	}
	p := e.programs.Get(d, func() *xla.Program {
		p := xla.NewProgram(d.name(&e.task), func(arguments []*graph.Node) []*graph.Node {
			touchVariables(&e.task, arguments[0].Graph())
			in := nodes{}
			for i, name := range names {
				in[name] = arguments[i]
			}
			return d.build(e, in)
		})
		return withVariables(p, &e.task)
	})
	return on.Run(ctx, p, arguments)
}
