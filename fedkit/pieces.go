package fedkit

import (
	"slices"
	"sync"

	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// pieces are rows as they came out of the programs that trained them: row i of the matrix is row place[i] of the pieces
// on top of each other. Means and Points take them as they are, which saves a large cohort a copy of all its models. Anything
// else puts them together first, once.
type pieces struct {
	place []int

	mu      sync.Mutex
	tensors []*tensors.Tensor // [lanes, d] each; nil once they are together
	whole   *tensors.Tensor
	err     error
}

// fromPieces returns the matrix whose rows lie at the given places.
func fromPieces(ts []*tensors.Tensor, place []int) *Matrix {
	if len(ts) == 1 && slices.IsSorted(place) && len(place) == ts[0].Shape().Dimensions[0] {
		return fromTensor(ts[0])
	}
	return &Matrix{rows: len(place), cols: ts[0].Shape().Dimensions[1], pieces: &pieces{place: place, tensors: ts}}
}

// together returns the rows in one piece, and gives the pieces back.
func (p *pieces) together() (*tensors.Tensor, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tensors != nil {
		out, err := run(collect, append(anys(p.tensors), p.place))
		if err == nil {
			p.whole = out[0]
		}
		xla.Free(p.tensors...)
		p.tensors, p.err = nil, err
	}
	return p.whole, p.err
}

// apply runs a program on all pieces, with a matrix as its last argument, and says in which row of theirs each row lies. It
// returns nil if they are together, or if there are none.
func (p *pieces) apply(program *Program, last *Matrix) (*Matrix, []int) {
	if p == nil {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tensors == nil {
		return nil, nil
	}
	return fromTensor(p.tensors[0]).Apply(program, append(anys(p.tensors[1:]), last)...), p.place
}

func anys(ts []*tensors.Tensor) []any {
	args := make([]any, len(ts))
	for i, t := range ts {
		args[i] = t
	}
	return args
}

// mix adds up what each piece gives; nil once they are together.
func (p *pieces) mix(r [][]float64) (sum *Matrix) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tensors == nil {
		return nil
	}
	lanes := p.tensors[0].Shape().Dimensions[0]
	weights := make([][]float64, len(p.tensors)) // of each piece, [k, lanes]
	for g := range weights {
		weights[g] = make([]float64, len(r)*lanes)
	}
	for i, at := range p.place {
		for j := range r {
			weights[at/lanes][j*lanes+at%lanes] = r[j][i]
		}
	}
	for g, t := range p.tensors {
		if piece := fromTensor(t); g == 0 {
			sum = piece.Apply(mix, weights[g])
		} else {
			sum = piece.Apply(mixOnto, weights[g], sum)
		}
	}
	return sum
}

var (
	mixOnto = NewProgram("mix onto", func(a []*graph.Node) *graph.Node { return graph.Add(a[2], mixed(a)) })
	// collect puts pieces together, and their rows in order.
	collect = NewProgram("collect", func(a []*graph.Node) *graph.Node {
		last := len(a) - 1
		return graph.Gather(graph.Concatenate(a[:last], 0), graph.InsertAxes(a[last], -1))
	})
)
