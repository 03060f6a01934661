package xla

import (
	"fmt"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
)

// Loop is the state of a graph.While by name: lists of nodes in the order of their addition.
type Loop struct {
	g     *graph.Graph
	names []string
	nodes map[string][]*graph.Node
}

// NewLoop returns an empty state of a loop in g.
func NewLoop(g *graph.Graph) *Loop { return &Loop{g: g, nodes: map[string][]*graph.Node{}} }

// Add appends nodes under a name.
func (s *Loop) Add(name string, nodes ...*graph.Node) {
	if _, known := s.nodes[name]; !known {
		s.names = append(s.names, name)
	}
	s.nodes[name] = append(s.nodes[name], nodes...)
}

// Set replaces the nodes under a name.
func (s *Loop) Set(name string, nodes ...*graph.Node) { s.nodes[name] = nodes }

// One returns the only node under a name.
func (s *Loop) One(name string) *graph.Node { return s.nodes[name][0] }

// All returns a copy of the nodes under a name.
func (s *Loop) All(name string) []*graph.Node { return slices.Clone(s.nodes[name]) }

// Flat returns all nodes, in the order in which their names were added.
func (s *Loop) Flat() (nodes []*graph.Node) {
	for _, name := range s.names {
		nodes = append(nodes, s.nodes[name]...)
	}
	return nodes
}

// inside returns the same state as parameters of the closure being built.
func (s *Loop) inside(g *graph.Graph) *Loop {
	in, nested := NewLoop(g), ""
	if !g.CurrentFunc().Parent().IsMain() { // names of an outer loop stay visible
		nested = fmt.Sprint(" of ", len(g.Nodes()))
	}
	for _, name := range s.names {
		for i, n := range s.nodes[name] {
			in.Add(name, graph.Parameter(g, fmt.Sprintf("%s.%d%s", name, i, nested), n.Shape()))
		}
	}
	return in
}

// Run runs body while cond holds, and leaves the final state in s.
func (s *Loop) Run(cond func(*Loop) *graph.Node, body func(*Loop)) {
	c := graph.NewClosure(s.g, func(g *graph.Graph) []*graph.Node { return []*graph.Node{cond(s.inside(g))} })
	b := graph.NewClosure(s.g, func(g *graph.Graph) []*graph.Node {
		in := s.inside(g)
		body(in)
		return in.Flat()
	})
	out := graph.While(c, b, s.Flat()...)
	for _, name := range s.names {
		n := len(s.nodes[name])
		s.nodes[name], out = out[:n:n], out[n:]
	}
}

// Repeat runs body for t = 0, 1, …, n−1, also inside the body of another loop. body must not use scalar constants, which GoMLX caches for
// the function outside as well, but those of graph.Const; nor reductions.
func (s *Loop) Repeat(n int, body func(t *graph.Node, s *Loop)) {
	number := func(i int) *graph.Node { return graph.Const(s.g, int32(i)) }
	var r repeated
	s.Add("t", number(0))
	s.Run(func(s *Loop) *graph.Node { return graph.LessThan(s.One("t"), number(n)) }, func(s *Loop) {
		t := s.One("t")
		r = repeated{from: int(t.Id()), times: n}
		body(t, s)
		s.Set("t", graph.Add(t, number(1)))
		r.to = len(s.g.Nodes())
	})
	known, _ := s.g.State(repeated{}).([]repeated)
	s.g.AttachState(repeated{}, append(known, r))
}

// repeated are the nodes from one to before another, which a loop repeats. It is the key of all of a graph's, too.
type repeated struct{ from, to, times int }

// times returns how often the loops of Repeat compute a node.
func times(n *graph.Node) (product float64) {
	product = 1
	known, _ := n.Graph().State(repeated{}).([]repeated)
	for _, r := range known {
		if id := int(n.Id()); r.from <= id && id < r.to {
			product *= float64(r.times)
		}
	}
	return product
}
