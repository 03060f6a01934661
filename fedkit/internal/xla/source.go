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

// Source returns the program for arguments of the given shapes as text, memoized by their shapes.
func (p *Program) Source(arguments []shapes.Shape) (*Source, error) {
	v := p.version(arguments)
	v.lowering.Do(func() {
		text, results, err := p.lower(arguments)
		if err != nil {
			v.lowerErr = err
			return
		}
		text = append([]byte("module @program {"), text...)
		hash := sha256.Sum256(text)
		v.source = &Source{Name: p.name, Text: text, Hash: hex.EncodeToString(hash[:]), Results: results}
	})
	return v.source, v.lowerErr
}

// Side returns the values of the parameters that the program adds to its arguments.
func (p *Program) Side() []*tensors.Tensor {
	if p.side == nil {
		return nil
	}
	return p.side()
}
