package fedkit

import (
	"context"
	"fmt"
	"sync"

	"fedkit.example/datasets"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// examples fetches rows [C, B] of a part of the data: inputs [C, B, shape…] as float32, and labels or targets [C, B].
func examples(d *datasets.Dataset, part Part, x, y, rows *graph.Node) (in, labels *graph.Node) {
	at := graph.InsertAxes(rows, -1)
	in, labels = graph.Gather(x, at), graph.Gather(y, at)
	if in.DType() != dtypes.Float32 { // pictures are kept as bytes
		in = graph.ConvertDType(in, dtypes.Float32)
		split := &d.Train
		if part == TestPart {
			split = &d.Test
		}
		in = graph.MulScalar(in, float64(split.Scale))
		if split.Shift != 0 {
			in = graph.AddScalar(in, float64(split.Shift))
		}
	}
	return graph.Reshape(in, append(append([]int{}, rows.Shape().Dimensions...), d.Shape...)...), labels
}

// loopState is the state of a graph.While by name: lists of nodes in the order in which they were added.
type loopState struct {
	g     *graph.Graph
	names []string
	nodes map[string][]*graph.Node
}

func stateOf(g *graph.Graph) *loopState { return &loopState{g: g, nodes: map[string][]*graph.Node{}} }

func (s *loopState) add(name string, nodes ...*graph.Node) {
	if _, known := s.nodes[name]; !known {
		s.names = append(s.names, name)
	}
	s.nodes[name] = append(s.nodes[name], nodes...)
}

func (s *loopState) set(name string, nodes ...*graph.Node) { s.nodes[name] = nodes }
func (s *loopState) one(name string) *graph.Node           { return s.nodes[name][0] }
func (s *loopState) all(name string) []*graph.Node {
	return append([]*graph.Node(nil), s.nodes[name]...)
}

func (s *loopState) flat() (nodes []*graph.Node) {
	for _, name := range s.names {
		nodes = append(nodes, s.nodes[name]...)
	}
	return nodes
}

// inside returns the same state as parameters of the closure that is being built.
func (s *loopState) inside(g *graph.Graph) *loopState {
	in := &loopState{g: g, names: s.names, nodes: map[string][]*graph.Node{}}
	for _, name := range s.names {
		for i, n := range s.nodes[name] {
			in.nodes[name] = append(in.nodes[name], graph.Parameter(g, fmt.Sprintf("%s.%d", name, i), n.Shape()))
		}
	}
	return in
}

// loop runs body while cond holds, and leaves the final state in s.
func (s *loopState) loop(cond func(*loopState) *graph.Node, body func(*loopState)) {
	c := graph.NewClosure(s.g, func(g *graph.Graph) []*graph.Node { return []*graph.Node{cond(s.inside(g))} })
	b := graph.NewClosure(s.g, func(g *graph.Graph) []*graph.Node {
		in := s.inside(g)
		body(in)
		return in.flat()
	})
	out := graph.While(c, b, s.flat()...)
	for _, name := range s.names {
		n := len(s.nodes[name])
		s.nodes[name], out = out[:n:n], out[n:]
	}
}

// touchVariables makes the variables of a GoMLX model function known to the graph before any closure is built: a
// variable first met inside a loop body would become a parameter of the body.
func touchVariables(t *Task, g *graph.Graph) {
	if t.Store == nil {
		return
	}
	for _, p := range t.Params {
		t.Store.GetVariable(p.Name).NodeValue(g)
	}
}

// withVariables feeds the parameters that touchVariables adds. Their values are never read: the rows of a Matrix take
// their place.
func withVariables(p *Program, t *Task) *Program {
	if t.Store == nil {
		return p
	}
	var once sync.Once
	var values []*tensors.Tensor
	return p.WithSide(func(*graph.Graph) []*tensors.Tensor {
		once.Do(func() {
			for _, p := range t.Params {
				values = append(values, tensors.FromShape(t.Store.GetVariable(p.Name).Shape()))
			}
		})
		return values
	})
}

// parallel runs work(0), …, work(n−1), at most workers at once, and returns the first error by index.
func parallel(ctx context.Context, workers, n int, work func(i int) error) error {
	errs := make([]error, n)
	slots := make(chan struct{}, max(1, workers))
	var wg sync.WaitGroup
	for i := range n {
		if ctx.Err() != nil {
			errs[i] = ctx.Err()
			break
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = work(i)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
