package task

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"fedkit.example/fedkit/internal/fault"
	"github.com/gomlx/gomlx/core/graph"
)

// NameLayer is fedkit.NameLayer.
func NameLayer(name string, x *graph.Node, axes ...int) *graph.Node {
	if named, ok := taps.Load(x.Graph()); ok {
		out := x
		if axes != nil {
			out = graph.TransposeAllAxes(x, axes...)
		}
		named.(map[string]*graph.Node)[name] = out
	}
	return x
}

// taps are the named outputs of the models being built, by graph: map[string]*graph.Node.
var taps sync.Map

// Layer returns the output of a named layer, [C, B, …], or the task's Features if the name is empty. A name that the model does not
// have panics, as is usual while a graph is built.
func Layer(t *Task, name string, p []*graph.Node, x *graph.Node) *graph.Node {
	if name == "" && t.Features != nil {
		return t.Features(p, x)
	}
	out, named := outputs(t, p, x)
	if name == "" {
		return out
	}
	found, ok := named[name]
	switch {
	case !ok && len(named) == 0:
		panic(fault.Invalid("layer", strconv.Quote(name), "named by fedkit.NameLayer in the model, which names none"))
	case !ok:
		panic(fault.Invalid("layer", strconv.Quote(name), "one of "+strings.Join(slices.Sorted(maps.Keys(named)), ", ")))
	case t.Store != nil: // a GoMLX model function has no client axis
		found = graph.InsertAxes(found, 0)
	}
	return found
}

// outputs returns the output of the model and those of its named layers.
func outputs(t *Task, p []*graph.Node, x *graph.Node) (out *graph.Node, named map[string]*graph.Node) {
	named = map[string]*graph.Node{}
	taps.Store(x.Graph(), named)
	defer taps.Delete(x.Graph())
	return t.Forward(p, x), named
}

// Representations returns what a task computes beside its outputs: its Features and, with a writer for their names, the outputs of its
// named layers.
func Representations(t *Task, names io.Writer, p []*graph.Node, x *graph.Node) (all []*graph.Node) {
	if t.Features != nil {
		all = append(all, t.Features(p, x))
	}
	if names == nil {
		return all
	}
	_, named := outputs(t, p, x)
	for _, name := range slices.Sorted(maps.Keys(named)) {
		fmt.Fprintf(names, "%q\n", name)
		all = append(all, named[name])
	}
	return all
}
