package xla

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
)

// Source is a program for arguments of given shapes, for another machine to compile.
type Source struct {
	Name    string
	Text    []byte         // StableHLO
	Hash    string         // of the text
	Results []shapes.Shape // that it returns
}

const opening = "module @program {"

// Source returns the program for arguments of the given shapes as text, memoized by their shapes.
func (p *Program) Source(arguments []shapes.Shape) (*Source, error) {
	return p.version(arguments).source()
}

// lower lowers the program for arguments of the given shapes.
func (p *Program) lower(arguments []shapes.Shape) (s *Source, err error) {
	defer Caught(&err)
	var text []byte
	g, outputs := p.shared(&text, arguments)
	if err := g.Compile(outputs...); err != errLowered && text == nil {
		return nil, err
	}
	text = append([]byte(opening), text...)
	hash := sha256.Sum256(text)
	s = &Source{Name: p.name, Text: text, Hash: hex.EncodeToString(hash[:])}
	for _, o := range outputs {
		s.Results = append(s.Results, o.Shape())
	}
	return s, nil
}

// Side returns the values of the parameters that the program adds to its arguments.
func (p *Program) Side() []*tensors.Tensor {
	if p.side == nil {
		return nil
	}
	return p.side()
}
