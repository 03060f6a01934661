package rows

import (
	"fmt"

	"fedkit.example/fedkit/internal/lru"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
)

// Programs are programs that differ in a parameter: see fedkit.Programs.
type Programs[P comparable] struct {
	of *lru.Cache[P, *xla.Program]
	by func(P) *xla.Program
}

// NewPrograms returns the programs that build describes: see NewProgram.
func NewPrograms[P comparable, R *graph.Node | []*graph.Node](name string, build func(parameter P, args []*graph.Node) R) *Programs[P] {
	return &Programs[P]{lru.New[P, *xla.Program](512), func(p P) *xla.Program {
		return NewProgram(fmt.Sprintf("%s of %v", name, p), func(args []*graph.Node) R { return build(p, args) })
	}}
}

// RowWise declares that all of the programs are: see Program.RowWise.
func (ps *Programs[P]) RowWise() *Programs[P] {
	by := ps.by
	if by == nil {
		return ps
	}
	ps.by = func(p P) *xla.Program { return by(p).RowWise() }
	return ps
}

// Of returns the program with a value of the parameter; nil, which Apply refuses, if NewPrograms did not make them.
func (ps *Programs[P]) Of(parameter P) *xla.Program {
	if ps == nil || ps.by == nil {
		return nil
	}
	return ps.of.Get(parameter, func() *xla.Program { return ps.by(parameter) })
}
