package rows

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"fedkit.example/fedkit/fedtest/expect"
)

func TestColumns(t *testing.T) {
	a, b := NewMatrix([]float32{1, 2, 3, 4, 5, 6}, 2, 3), NewMatrix([]float32{10, 20, 30}, 1, 3)
	mask := NewMatrix([]float32{1, 0, 1}, 1, 3)
	for name, c := range map[string]struct {
		got  *Matrix
		want [][]float64
	}{
		"Mul":              {a.Mul(b), [][]float64{{10, 40, 90}, {40, 100, 180}}},
		"Mul of one row":   {b.Mul(a), [][]float64{{10, 40, 90}, {40, 100, 180}}},
		"Not":              {mask.Not(), [][]float64{{0, 1, 0}}},
		"Blend":            {a.Blend(b, mask), [][]float64{{1, 20, 3}, {4, 20, 6}}},
		"Blend of one row": {b.Blend(a, mask), [][]float64{{10, 2, 30}, {10, 5, 30}}},
		"Blend by row":     {b.Blend(b.Not(), NewMatrix([]float32{1, 0, 0, 0, 1, 0}, 2, 3)), [][]float64{{10, -19, -29}, {-9, 20, -29}}},
		"Columns":          {a.Columns(1, 3), [][]float64{{2, 3}, {5, 6}}},
		"JoinColumns":      {JoinColumns(a, b.Columns(0, 1)), [][]float64{{1, 2, 3, 10}, {4, 5, 6, 10}}},
		"Repeat":           {b.Repeat(2), [][]float64{{10, 20, 30}, {10, 20, 30}}},
		"Zeros":            {Zeros(2, 2), [][]float64{{0, 0}, {0, 0}}},
		"ScaleRows":        {a.ScaleRows([]float64{2, -1}), [][]float64{{2, 4, 6}, {-4, -5, -6}}},
	} {
		expect.Must(t, c.got.Err() == nil, "%s: %v", name, c.got.Err())
		got := rowsOf(t, c.got)
		expect.That(t, equalRows(got, c.want, 0), "%s: %v, want %v", name, got, c.want)
	}
	nan := NewMatrix([]float32{float32(math.NaN()), 2, 3}, 1, 3)
	got := rowsOf(t, b.Blend(nan, NewMatrix([]float32{1, 1, 0}, 1, 3)))
	expect.That(t, equalRows(got, [][]float64{{10, 20, 3}}, 0), "what the mask leaves out of a blend shows: %v", got)
	inner, err := a.Inner(b)
	expect.That(t, err == nil && mat.Equal(inner, mat.NewDense(2, 1, []float64{140, 320})), "inner products %v, %v", inner, err)
}

func equalRows(a, b [][]float64, tolerance float64) bool {
	return slices.EqualFunc(a, b, func(a, b []float64) bool { return floats.EqualApprox(a, b, tolerance) })
}
