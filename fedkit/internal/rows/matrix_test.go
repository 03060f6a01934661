package rows

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/engine"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// away is a value on another machine.
type away struct{ engine.Value }

func (away) Remote() bool { return true }

func row(a, b float32) *Matrix { return NewMatrix([]float32{a, b}, 1, 2) }

// two are two pieces of two lanes plus a row: those of the matrix are in places 2, 0 and 1, and place 3 is an idle lane.
func two(a, b float32) []engine.Value {
	return engine.Values([]*tensors.Tensor{NewMatrix([]float32{3, 4, 5, 6}, 2, 2).Add(row(a, b)).t, NewMatrix([]float32{1, 2, 7, 8}, 2, 2).Add(row(a, b)).t})
}

// However a matrix is made, it behaves the same: in pieces from two programs, in another order and with an idle lane; with pieces on another
// machine; of shared rows; as a lazy difference; and with padding, in pieces and joined.
func TestMatrix(t *testing.T) {
	pieces := func(capacity int) *Matrix { return FromPieces(two(0, 0), []int{2, 0, 1}, capacity) }
	far := func() *Matrix {
		v := two(0, 0)
		return FromPieces([]engine.Value{away{v[0]}, away{v[1]}}, []int{2, 0, 1}, 0)
	}
	rows := func(less float32) *Matrix {
		return FromRows([]*Matrix{row(1+less, 2+less), row(3+less, 4+less), row(5+less, 6+less)})
	}
	for _, fresh := range []func() *Matrix{
		func() *Matrix { return NewMatrix([]float32{1, 2, 3, 4, 5, 6}, 3, 2) },
		func() *Matrix { return pieces(0) },
		far,
		func() *Matrix { return Less(far(), row(0, 0)) },
		func() *Matrix { return rows(0) },
		func() *Matrix { return Less(rows(1), row(1, 1)) },
		func() *Matrix {
			return Less(FromRows([]*Matrix{row(2, 3), row(5, 6), row(8, 9)}), FromRows([]*Matrix{row(1, 1), row(2, 2), row(3, 3)}))
		},
		func() *Matrix {
			m := Less(FromPieces(two(10, 20), []int{2, 0, 1}, 0), row(10, 20))
			expect.That(t, m.difference != nil, "it is subtracted at once")
			return m
		},
	} {
		testMatrix(t, fresh)
	}
	whole := func() []engine.Value {
		return engine.Values([]*tensors.Tensor{NewMatrix([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2).t})
	}
	for _, capacity := range []int{3, 4, 5, 9} {
		for _, fresh := range []func() *Matrix{
			func() *Matrix { return pieces(capacity) },
			func() *Matrix { return FromPieces(whole(), []int{0, 1, 2}, capacity) },
			func() *Matrix { return Less(pieces(capacity), row(0, 0)) },
			func() *Matrix { return pieces(capacity).Scale(1) },
			func() *Matrix { return Less(pieces(capacity), row(1, 1)).Add(row(1, 1)) },
			func() *Matrix { return Less(pieces(capacity), Zeros(3, 2)) },
		} {
			testMatrix(t, fresh)
		}
	}
}

// More rows than are mixed at once, and more pieces than are queried at once, which are summed in order.
func TestMeanOfMany(t *testing.T) {
	rows := []*Matrix{row(1, 2), row(3, 4), row(5, 6)}
	for len(rows) < 150 {
		rows = append(rows, rows[len(rows)-3])
	}
	var many []engine.Value
	var place []int
	for i := range 5 * maxRequests {
		v := two(0, 0)
		many, place = append(many, away{v[0]}, away{v[1]}), append(place, 4*i+2, 4*i, 4*i+1)
	}
	for _, m := range []*Matrix{FromRows(rows), FromPieces(many, place, 0)} {
		got := rowsOf(t, m.Mean(nil))
		expect.That(t, equalRows(got, [][]float64{{3, 4}}, 1e-4), "the mean of %d rows is %v, want [[3 4]]", m.Rows(), got)
	}
}

// More columns than one block of columnsAtOnce.
func TestPointsOfManyColumns(t *testing.T) {
	d := 2*columnsAtOnce + 3
	values := make([]float32, 2*d)
	values[0], values[d-1], values[d], values[2*d-1] = 3, 4, 3, -4
	points := expect.Value(NewMatrix(values, 2, d).Points())(t)
	got := points.Distances().At(0, 1)
	expect.That(t, got == 8, "distance %v, want 8", got)
}

func testMatrix(t *testing.T, fresh func() *Matrix) {
	points := expect.Value(fresh().Points())(t)
	for at, want := range map[[2]int]float64{{0, 0}: 5, {0, 1}: 11, {1, 2}: 39, {2, 2}: 61} {
		got := points.Gram().At(at[0], at[1])
		expect.That(t, got == want, "Points: the inner product of rows %v is %v, want %v", at, got, want)
	}
	m := fresh()
	one := row(10, 20)
	for _, c := range []struct {
		name string
		got  *Matrix
		want [][]float64
	}{
		{"Mix at once", fresh().Mix([][]float64{{1, 0, 1}, {0, 2, 0}}), [][]float64{{6, 8}, {6, 8}}},
		{"weighted Mean at once", fresh().Mean([]float64{1, 0, 3}), [][]float64{{4, 5}}},
		{"Add", m.Add(m), [][]float64{{2, 4}, {6, 8}, {10, 12}}},
		{"Add row", m.Add(one), [][]float64{{11, 22}, {13, 24}, {15, 26}}},
		{"Sub from row", one.Sub(m), [][]float64{{9, 18}, {7, 16}, {5, 14}}},
		{"Scale", m.Scale(-0.5), [][]float64{{-0.5, -1}, {-1.5, -2}, {-2.5, -3}}},
		{"Take", m.Take(2, 0, 2), [][]float64{{5, 6}, {1, 2}, {5, 6}}},
		{"Put", m.Put([]int{2, 0}, m.Take(0, 1)), [][]float64{{3, 4}, {3, 4}, {1, 2}}},
		{"Mix", m.Mix([][]float64{{1, 0, 1}, {0, 2, 0}}), [][]float64{{6, 8}, {6, 8}}},
		{"Mean", m.Mean(nil), [][]float64{{3, 4}}},
		{"weighted Mean", m.Mean([]float64{1, 0, 3}), [][]float64{{4, 5}}},
		{"Center", m.Center(), [][]float64{{-2, -2}, {0, 0}, {2, 2}}},
		{"StackRows", StackRows(one, m), [][]float64{{10, 20}, {1, 2}, {3, 4}, {5, 6}}},
	} {
		expect.Must(t, c.got.Err() == nil, "%s: %v", c.name, c.got.Err())
		got := rowsOf(t, c.got)
		expect.Must(t, equalRows(got, c.want, 1e-6), "%s: %v, want %v", c.name, got, c.want)
	}
	norms, err := m.Norms()
	expect.That(t, err == nil && math.Abs(norms[2]-math.Sqrt(61)) <= 1e-6, "Norms: %v, %v", norms, err)
	gram, err := m.Gram()
	expect.That(t, err == nil && gram.At(0, 2) == 17 && gram.At(1, 1) == 25, "Gram: %v, %v", gram, err)
}

func TestPutIsExact(t *testing.T) {
	// A row is replaced, not corrected: large old values must leave nothing behind.
	m := NewMatrix([]float32{1e30, -1e30, 3, 4}, 2, 2).Put([]int{0}, NewMatrix([]float32{1, 2}, 1, 2))
	got := rowsOf(t, m)
	expect.That(t, got[0][0] == 1 && got[0][1] == 2 && got[1][0] == 3, "%v, want [[1 2] [3 4]]", got)
}

func TestMatrixErrorsStay(t *testing.T) {
	m := NewMatrix([]float32{1, 2, 3, 4}, 2, 2)
	var none *Matrix
	expect.That(t, none.Rows() == 0 && none.Cols() == 0, "a nil matrix has rows or columns")
	for want, of := range map[string]*Matrix{"a matrix [2, 2]": m, "a matrix that failed: invalid: the matrix is nil": none, "a matrix that failed: invalid: Matrix.Take: row 7 ": m.Take(7)} {
		got := of.String()
		expect.That(t, strings.HasPrefix(got, want), "%s, want %s", got, want)
	}
	a, b := Zeros(2, 3), Zeros(3, 3)
	for want, got := range map[string]*Matrix{
		"NewMatrix: 3 values do not fill a matrix [2, 2]":     NewMatrix([]float32{1, 2, 3}, 2, 2),
		"Matrix.Add: [2, 2] and [1, 3] do not fit":            m.Add(NewMatrix([]float32{1, 2, 3}, 1, 3)),
		"Matrix.Take: row 2 of a matrix [2, 2]":               m.Take(2),
		"Matrix.Take: no rows named":                          m.Take(),
		"Matrix.Put: [2, 2] does not fill 1 rows of 2":        m.Put([]int{0}, m),
		"Matrix.Put: row 0 is named twice":                    m.Put([]int{0, 0}, m),
		"Matrix.Mean: 1 weights for 2 rows":                   m.Mean([]float64{1}),
		"Matrix.Mean: the weights sum to 0":                   m.Mean([]float64{0, 0}),
		"Matrix.Mean: the weights sum to NaN":                 m.Mean([]float64{math.NaN(), 1}),
		"Matrix.Mix: row 0 has 1 weights for a matrix [2, 2]": m.Mix([][]float64{{1}}),
		"the matrix is nil":                                   m.Add(none),
		"Matrix.Take: row 7 of a matrix [2, 2]":               m.Take(7).Add(m).Scale(2).Take(0).Mean(nil).Center(),
		"Matrix.Take: row 9 of a matrix [2, 2]":               StackRows(m, m.Take(9)),
		"Matrix.Mul: [2, 3] and [3, 3] do not fit":            a.Mul(b),
		"Matrix.Blend: [1, 3] and [1, 4] do not fit":          Zeros(1, 3).Blend(a, Zeros(1, 4)),
		"Matrix.Repeat: a matrix [2, 3], 4 times":             a.Repeat(4),
		"Matrix.Columns: 2 to 4 of a matrix [2, 3]":           a.Columns(2, 4),
		"JoinColumns: 2 rows beside 3":                        JoinColumns(a, b),
		"Matrix.ScaleRows: 3 numbers for 2 rows":              a.ScaleRows(make([]float64, 3)),
		"Zeros: [0, 3] is no shape of a matrix":               Zeros(0, 3),
		"invalid: the matrix is nil":                          a.Blend(nil, a),
		"JoinColumns: nothing to join":                        JoinColumns(),
		"Matrix.Columns: 2 to 2 of a matrix [2, 3]":           a.Columns(2, 2),
		"Matrix.Repeat: a matrix [1, 3], 0 times: want one r": Zeros(1, 3).Repeat(0),
		// A program must return a matrix of float32.
		`invalid: program "sum" returned (Float32): want (Float32)[n, d]`:       m.Apply(NewProgram("sum", func(a []*graph.Node) *graph.Node { return graph.ReduceAllSum(a[0]) })),
		`invalid: program "row" returned (Float32)[2]: want (Float32)[n, d]`:    m.Apply(NewProgram("row", func(a []*graph.Node) *graph.Node { return graph.ReduceSum(a[0], 0) })),
		`invalid: program "whole" returned (Int32)[2, 2]: want (Float32)[n, d]`: m.Apply(NewProgram("whole", func(a []*graph.Node) *graph.Node { return graph.ConvertDType(a[0], dtypes.Int32) })),
		"invalid: Matrix.Apply: the program is nil":                             m.Apply(nil),
		"invalid: argument 2 is nil":                                            m.Apply(addRows, m, nil),
	} {
		expect.Invalid(t, want)(got.Err())
		expect.Error(t)(got.Gram())
	}
	expect.Error(t, "must be [k, 3]")(a.Inner(Zeros(1, 4)))
}

func TestMatrixBinary(t *testing.T) {
	m := NewMatrix([]float32{1, -2, 0.1, 4, 5e-9, 6, 7, 8, 9, 1e30, 11, 12, 13, 14, 15}, 3, 5)
	b := expect.Value(m.MarshalBinary())(t)
	var back Matrix
	expect.OK(t, back.UnmarshalBinary(b))
	want, got := rowsOf(t, m), rowsOf(t, &back)
	expect.Must(t, reflect.DeepEqual(got, want), "%v, want %v", got, want)
}

func FuzzMatrixUnmarshal(f *testing.F) {
	b := expect.Value(NewMatrix([]float32{1, -2, 0.1, 4}, 2, 2).MarshalBinary())(f)
	f.Add(b)
	f.Add(b[:10])
	f.Add(append([]byte{255, 255, 255, 255, 255, 255, 255, 255}, b[8:]...))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Matrix
		expect.That(t, m.UnmarshalBinary(b) != nil || m.Rows()*m.Cols()*4+16 == len(b), "%d bytes were accepted as [%d, %d]", len(b), m.Rows(), m.Cols())
	})
}
