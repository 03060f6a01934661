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
	in := NewLoop(g)
	for _, name := range s.names {
		for i, n := range s.nodes[name] {
			in.Add(name, graph.Parameter(g, fmt.Sprintf("%s.%d", name, i), n.Shape()))
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
