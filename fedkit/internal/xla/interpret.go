package xla

import (
	"errors"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// interpreter runs graphs in Go. Its operations must run sequentially: in parallel, they have been seen to deadlock.
var interpreter = sync.OnceValues(func() (compute.Backend, error) { return gobackend.New("ops_sequential") })

// interpreting serializes interpreted programs.
var interpreting sync.Mutex

// mostWork is the most multiplications to interpret: for more, compiling is faster.
const mostWork = 2e8

// Interpret is Call in Go, on the host: nothing is compiled, so that a small program takes milliseconds. Errors: operations that
// the interpreter lacks, too much work, a program built with -race.
func (p *Program) Interpret(args ...any) (out []*tensors.Tensor, err error) {
	defer Caught(&err)
	if raceDetector { // it includes checkptr, which aborts at the interpreter's pointers, as they are integers for a while
		return nil, errors.New("not with the race detector")
	}
	b, err := interpreter()
	if err != nil {
		return nil, err
	}
	interpreting.Lock()
	defer interpreting.Unlock()
	in := inputs{backend: b}
	if err := in.add(args...); err != nil {
		return nil, err
	}
	g, outputs := p.graph(b, in.shapes)
	defer g.Finalize()
	if work(g) > mostWork {
		return nil, errors.New("too much work")
	}
	if err := g.Compile(outputs...); err != nil {
		return nil, err
	}
	return p.execute(g.Executable(), &in)
}

// work estimates the multiplications of a graph.
func work(g *graph.Graph) (n float64) {
	for _, node := range g.Nodes() {
		n += times(node) * (float64(node.Shape().Size()) + multiplyAdds(node))
	}
	return n
}
