package engine

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
)

// loopState is the state of a graph.While by name: lists of nodes in the order of their addition.
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

// inside returns the same state as parameters of the closure being built.
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
