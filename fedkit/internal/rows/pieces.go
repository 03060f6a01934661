package rows

import (
	"cmp"
	"slices"
	"sync"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// pieces are rows as the programs that trained them returned them, on any machine: row i of the matrix is row place[i] of the
// stacked pieces. Means, norms and Points work piece by piece, which saves a large cohort a copy of all its models, and leaves
// remote ones where they are. Any other operation joins them first, once.
type pieces struct {
	place    []int
	capacity int  // rows when they are joined, padding included
	shared   bool // the values have other owners: do not free them

	mu     sync.Mutex
	values []engine.Value // [lanes, d] each; nil once joined
	whole  *tensors.Tensor
	err    error
}

// FromPieces returns the matrix whose row i is row place[i] of the stacked values. When it is joined it is padded
// to capacity rows, if there are fewer.
func FromPieces(values []engine.Value, place []int, capacity int) *Matrix {
	capacity = max(capacity, len(place))
	return &Matrix{rows: len(place), cols: values[0].Dims()[1], padded: capacity, pieces: &pieces{place: place, capacity: capacity, values: values}}
}

// FromRows returns the matrix of rows [1, d], which are stacked only for operations other than means.
func FromRows(rows []*Matrix) *Matrix {
	var ts []*tensors.Tensor
	for _, m := range rows {
		t, err := Tensor(m)
		if err != nil {
			return &Matrix{err: err}
		}
		ts = append(ts, t)
	}
	return &Matrix{rows: len(rows), cols: rows[0].cols, pieces: &pieces{place: engine.Sequence(len(rows)), capacity: len(rows), shared: true, values: engine.Values(ts)}}
}

// lanes returns how many rows each piece has.
func (p *pieces) lanes() int { return p.values[0].Dims()[0] }

// maxRequests is how many remote pieces are queried concurrently.
const maxRequests = 32

// each queries every piece, and takes the answers in order.
func (p *pieces) each(ask func(g int, piece engine.Value) *Matrix, take func(g int, answer *Matrix)) {
	if !p.values[0].Remote() {
		for g, v := range p.values {
			take(g, ask(g, v))
		}
		return
	}
	answers, slots := make([]chan *Matrix, len(p.values)), make(chan struct{}, maxRequests)
	for g := range answers {
		answers[g] = make(chan *Matrix, 1)
	}
	go func() {
		for g, v := range p.values {
			slots <- struct{}{}
			go func() { answers[g] <- ask(g, v) }()
		}
	}()
	for g, answer := range answers {
		take(g, <-answer)
		<-slots
	}
}

// runAt runs a program on a value's device, with the value as the first argument, and fetches the result.
func runAt(v engine.Value, program *xla.Program, args ...any) *Matrix {
	if err := forProgram(args); err != nil {
		return &Matrix{err: err}
	}
	out, err := v.Then(program, args...)
	if err != nil {
		return &Matrix{err: fault.Located(err)}
	}
	return FromValue(out[0])
}

// FromValue fetches a value as a matrix.
func FromValue(v engine.Value) *Matrix {
	t, err := v.Tensor()
	if err != nil {
		return &Matrix{err: err}
	}
	return fromTensor(t)
}

// fetch copies all pieces to this process's device.
func (p *pieces) fetch() ([]*tensors.Tensor, error) {
	ts := make([]*tensors.Tensor, len(p.values))
	var err error
	p.each(func(_ int, v engine.Value) *Matrix { return FromValue(v) }, func(g int, m *Matrix) { ts[g], err = m.t, cmp.Or(err, m.err) })
	return ts, err
}

// materialize returns the rows as one tensor, and frees the pieces.
func (p *pieces) materialize() (*tensors.Tensor, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.values != nil {
		p.whole, p.err = p.collect()
		p.values = nil
	}
	return p.whole, p.err
}

func (p *pieces) collect() (*tensors.Tensor, error) {
	ts, err := p.fetch()
	if err != nil {
		return nil, err
	}
	if len(ts) == 1 && slices.Equal(p.place, engine.Sequence(len(p.place))) && p.capacity == p.lanes() {
		return ts[0], nil
	}
	if err := checkMemory("rows", p.capacity, p.values[0].Dims()[1], 2); err != nil { // stacked, and in order
		return nil, err
	}
	place, pieces := p.place, anys(ts)
	for len(place) < p.capacity { // padding repeats the first
		place = append(slices.Clip(place), p.place[0])
	}
	for len(pieces)*p.lanes() < p.capacity {
		pieces = append(pieces, pieces[0])
	}
	out, err := run(collect, append(pieces, place))
	if !p.shared {
		for _, v := range p.values {
			v.Free()
		}
	}
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// apply runs a program on all pieces, with a matrix as its last argument, and returns each row's place too. It returns nil if the
// pieces are joined already, or if there are none.
func (p *pieces) apply(program *xla.Program, last *Matrix) (*Matrix, []int) {
	if p == nil {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.values == nil {
		return nil, nil
	}
	if len(p.values) == 1 { // on its own device
		return runAt(p.values[0], program, last), p.place
	}
	ts, err := p.fetch()
	if err != nil {
		return &Matrix{err: err}, p.place
	}
	p.values = engine.Values(ts)
	return fromTensor(ts[0]).Apply(program, append(anys(ts[1:]), last)...), p.place
}

// anys returns values as arguments.
func anys[T any](ts []T) []any {
	args := make([]any, len(ts))
	for i, t := range ts {
		args[i] = t
	}
	return args
}

// mix sums the contributions of the pieces, of rows minus less [1, d] if that is not nil; nil if the pieces are joined already.
func (p *pieces) mix(r [][]float64, less *Matrix) *Matrix {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.values == nil:
		return nil
	case p.shared:
		return p.mixRows(r, nil)
	}
	lanes := p.lanes()
	weights := make([][]float64, len(p.values)) // of each piece, [k, lanes]
	for g := range weights {
		weights[g] = make([]float64, len(r)*lanes)
	}
	for i, at := range p.place {
		for j := range r {
			weights[at/lanes][j*lanes+at%lanes] = r[j][i]
		}
	}
	var sum treeSum
	p.each(func(g int, piece engine.Value) *Matrix {
		if less == nil {
			return runAt(piece, mix, weights[g])
		}
		return runAt(piece, mixLess, weights[g], less)
	}, func(_ int, term *Matrix) { sum.add(term) })
	return sum.total()
}

// mixRows mixes separate rows, a chunk at a time; less has what to subtract from each, or is nil.
func (p *pieces) mixRows(r [][]float64, less []any) *Matrix {
	const most = 64 // per program
	rows, err := p.fetch()
	if err != nil {
		return &Matrix{err: err}
	}
	var sum treeSum
	for from := 0; from < len(rows); from += most {
		to := min(from+most, len(rows))
		var weights []float64
		for _, row := range r {
			weights = append(weights, row[from:to]...)
		}
		first, rest := fromTensor(rows[from]), anys(rows[from+1:to])
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
	// collect stacks pieces and gathers their rows in order.
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
