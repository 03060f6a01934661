package rows

import (
	"fmt"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

var (
	rowWise = NewProgram("row-wise", func(a []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.Mul(a[0], graph.InsertAxes(a[1], -1)), graph.Slice(a[0], graph.AxisRange(), graph.AxisRange(0, 1))}
	}).RowWise()
	cubes = NewProgram("cubes", func(a []*graph.Node) *graph.Node { return graph.Mul(a[0], graph.Square(a[0])) })
)

// Cohorts of one to seven rows, padded to seven in pieces of three, give what their rows give by themselves, and compile nothing
// after the first.
func TestPaddingCompilesNothing(t *testing.T) {
	const most, lanes = 7, 3
	x := row(10, 20)
	memory := NewMatrix(slices.Repeat([]float32{1, 2, 3, 4}, 10), 20, 2)
	do := func(m, noise *Matrix, by []float64) string {
		clients := engine.Sequence(m.Rows())
		m = m.Add(memory.Take(clients...))
		kept := memory.Put(clients, m)
		scaled := m.Sub(x).ScaleRows(by).Scale(2).Add(noise.Mul(m)).Blend(m, row(1, 0)).Not()
		both := scaled.ApplyN(2, rowWise, by)
		joined := JoinColumns(both[1], x.Columns(0, 1), both[1].Add(both[1]))
		norms, inner := expect.Value(scaled.Norms())(t), expect.Value(scaled.Inner(row(1, 2)))(t)
		return fmt.Sprintf("%.3f %.3f %.3f %.3f %.3f %.3f", rowsOf(t, kept), rowsOf(t, scaled.Mix([][]float64{by, norms})), rowsOf(t, both[0]), rowsOf(t, joined), norms, inner.RawMatrix().Data)
	}
	xla.NewEra()
	for at, n := range []int{5, 1, 2, 3, 4, 6, 7, 5} {
		values, by, keys := make([]float32, 2*lanes*3), make([]float64, n), make([]uint64, n)
		for i := range n {
			values[2*i], values[2*i+1], by[i], keys[i] = float32(i*i), 1-float32(i), 0.5*float64(i+1), uint64(i)
		}
		var pieces []*tensors.Tensor
		for from := 0; from < n; from += lanes {
			pieces = append(pieces, NewMatrix(values[2*from:2*(from+lanes)], lanes, 2).t)
		}
		before := len(xla.Fresh())
		got := do(Less(FromPieces(engine.Values(pieces), engine.Sequence(n), most), row(0, 0)), Normal(keys, 2, most), by)
		if fresh := xla.Fresh()[before:]; at > 0 && len(fresh) > 0 {
			t.Errorf("%d rows: new programs %v", n, fresh)
		}
		want := do(NewMatrix(values[:2*n], n, 2), Normal(keys, 2, 0), by)
		expect.That(t, got == want, "%d rows: %s\nwant %s", n, got, want)
	}
}

// Other programs, and matrices with other padding, get the rows that count.
func TestPaddingWithOthers(t *testing.T) {
	with := func(capacity int) *Matrix {
		ts := engine.Values([]*tensors.Tensor{NewMatrix([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2).t})
		return FromPieces(ts, []int{0, 1}, capacity)
	}
	used := func(m *Matrix) *Matrix { rowsOf(t, m); return m }
	for name, got := range map[string]*Matrix{
		"not row-wise":    with(4).Apply(cubes).Sub(with(4).Apply(cubes)).Add(with(4)),
		"other padding":   with(4).Add(with(5)).Scale(0.5),
		"no padding":      with(4).Add(with(0)).Scale(0.5),
		"taken before":    with(4).Add(used(NewMatrix([]float32{5, 6, 3, 4, 1, 2}, 3, 2).Take(2, 1))).Scale(0.5),
		"put":             NewMatrix([]float32{3, 4, 9, 9, 1, 2}, 3, 2).Put([]int{2, 0}, with(4).Scale(1)).Take(2, 0),
		"one row of many": with(4).Mul(with(4).Take(0)).Add(with(4)).Sub(with(4).Mul(with(4).Take(0))),
	} {
		rows := rowsOf(t, got)
		expect.That(t, equalRows(rows, [][]float64{{1, 2}, {3, 4}}, 1e-6), "%s: %v", name, rows)
	}
	lost := NewProgram("lost", func(a []*graph.Node) *graph.Node { return graph.ReduceAndKeep(a[0], graph.ReduceSum, 0) }).RowWise()
	expect.Invalid(t, `program "lost" is row-wise and returned (Float32)[1, 2] for 4 rows: want a row for each`)(with(4).Apply(lost).Err())
	expect.Invalid(t, `program "row-wise" returned 2 results: want 1, as ApplyN(2, …) takes`)(with(0).Apply(rowWise, []float64{1, 2}).Err())
	for _, m := range with(0).ApplyN(3, cubes) {
		expect.Invalid(t, `program "cubes" returned 1 results: want 3`)(m.Err())
	}
}

// A row that several clients have used stays one row for a single client. Where each has its own row, a single client's is padded like
// all.
func TestOneRowForCohortsOfAnySize(t *testing.T) {
	m := NewMatrix([]float32{1, 2, 3, 4}, 2, 2)
	anchor := m.Take(1)
	for _, c := range []struct {
		of            *Matrix
		clients, want int
	}{{anchor, 3, 1}, {anchor, 1, 1}, {m.Take(1), 1, 3}, {m.Take(1, 0), 2, 3}} {
		got := expect.Value(TensorFor(c.of, c.clients, 3))(t).Shape().Dimensions[0]
		expect.That(t, got == c.want, "%d clients, %d rows taken: %d rows, want %d", c.clients, c.of.Rows(), got, c.want)
	}
	expect.That(t, m.Take(0, 1) == m, "all rows are copied when they are taken")
}
