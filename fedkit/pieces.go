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
	lent  bool // others have the tensors too

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

// fromRows returns the matrix of some rows, [1, d] each, which is put together only if something else than means is asked of it.
func fromRows(rows []*Matrix) *Matrix {
	p := &pieces{place: sequence(len(rows)), lent: true}
	for _, m := range rows {
		t, err := m.tensor()
		if err != nil {
			return &Matrix{err: err}
		}
		p.tensors = append(p.tensors, t)
	}
	return &Matrix{rows: len(rows), cols: rows[0].cols, pieces: p}
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
		if !p.lent {
			xla.Free(p.tensors...)
		}
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

// mix adds up what each piece gives, of the rows less one [1, d] if that is not nil; nil once they are together.
func (p *pieces) mix(r [][]float64, less *Matrix) *Matrix {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.tensors == nil:
		return nil
	case p.lent:
		return p.mixRows(r, nil)
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
	var sum treeSum
	for g, t := range p.tensors {
		if piece := fromTensor(t); less == nil {
			sum.add(piece.Apply(mix, weights[g]))
		} else {
			sum.add(piece.Apply(mixLess, weights[g], less))
		}
	}
	return sum.total()
}

// mixRows mixes rows that are not in one piece, some at a time; less has what is to be taken away from each, or is nil.
func (p *pieces) mixRows(r [][]float64, less []any) *Matrix {
	const most = 64 // per program
	var sum treeSum
	for from := 0; from < len(p.tensors); from += most {
		to := min(from+most, len(p.tensors))
		var weights []float64
		for _, row := range r {
			weights = append(weights, row[from:to]...)
		}
		first, rest := fromTensor(p.tensors[from]), anys(p.tensors[from+1:to])
		if less == nil {
			sum.add(first.Apply(mixRows, append(rest, weights)...))
		} else {
			sum.add(first.Apply(mixRowsLess, append(append(rest, less[from:to]...), weights)...))
		}
	}
	return sum.total()
}

var (
	mixRows = NewProgram("mix rows", func(a []*graph.Node) *graph.Node { return mixedRows(a[:len(a)-1], a[len(a)-1]) })
	// collect puts pieces together, and their rows in order.
	collect = NewProgram("collect", func(a []*graph.Node) *graph.Node {
		last := len(a) - 1
		return graph.Gather(graph.Concatenate(a[:last], 0), graph.InsertAxes(a[last], -1))
	})
)

// mixedRows mixes rows [1, d] with weights [k·n].
func mixedRows(rows []*graph.Node, weights *graph.Node) (sum *graph.Node) {
	weights = graph.Reshape(weights, -1, len(rows)) // [k, n]
	for i, row := range rows {
		if term := graph.Mul(graph.Slice(weights, graph.AxisRange(), graph.AxisElem(i)), row); i == 0 {
			sum = term
		} else {
			sum = graph.Add(sum, term)
		}
	}
	return sum
}
