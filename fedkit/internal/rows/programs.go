package rows

import (
	"fmt"

	"fedkit.example/fedkit/internal/lru"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
)

// Programs are programs that differ in a parameter: see fedkit.Programs.
type Programs[P comparable] struct {
	of      *lru.Cache[P, *xla.Program]
	by      func(P) *xla.Program
	rowWise bool
}

// NewPrograms returns the programs that build describes: see NewProgram.
func NewPrograms[P comparable, R *graph.Node | []*graph.Node](name string, build func(parameter P, args []*graph.Node) R) *Programs[P] {
	return &Programs[P]{of: lru.New[P, *xla.Program](512), by: func(p P) *xla.Program {
		return NewProgram(fmt.Sprintf("%s of %v", name, p), func(args []*graph.Node) R { return build(p, args) })
	}}
}

// RowWise declares that all of the programs are: see Program.RowWise.
func (ps *Programs[P]) RowWise() *Programs[P] {
	ps.rowWise = true
	return ps
}

// Of returns the program with a value of the parameter; nil, which Apply refuses, if NewPrograms did not make them.
func (ps *Programs[P]) Of(parameter P) *xla.Program {
	if ps == nil || ps.by == nil {
		return nil
	}
	return ps.of.Get(parameter, func() *xla.Program {
		p := ps.by(parameter)
		if ps.rowWise {
			p.RowWise()
		}
		return p
	})
}
