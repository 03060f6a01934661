package chart

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

func TestBins(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		n      int
		want   []float64
	}{
		{0, 1, 100, []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}},
		{-0.05, 0.3, 4, []float64{-0.05, 0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3}},
		{0.13, 0.97, 20, []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1}},
		{3, 3, 10, []float64{3, 3.1}},
		{0, 0, 1, []float64{0, 1e-6}},
	} {
		if got := bins(c.lo, c.hi, c.n); !floats.EqualApprox(got, c.want, 1e-12) {
			t.Errorf("[%v, %v]: %v, want %v", c.lo, c.hi, got, c.want)
		}
	}
}

// Every finite value is in one bar, whatever the values are.
func TestEveryValueIsCounted(t *testing.T) {
	for _, v := range [][]float64{
		{0, 0.2, 0.4, 0.6, 0.8, 1}, {-3, 1e9}, {1e-12, 2e-12, 5e-12}, {0.3}, {-0.1, -0.1}, {1e17, 1e17 + 64}, {math.Pi, nan, 1, 1, 1, 7},
		{-1e300, 1e300}, {0.1, 0.2, 0.30000000000000004}, {1, 1 + 1e-15},
	} {
		f := Histogram("t", "x", "values", Series{Name: "a", X: v}, Series{Name: "b", X: v[:1]})
		if f.err != nil {
			t.Fatal(v, f.err)
		}
		finite := len(v) - len(slices.DeleteFunc(slices.Clone(v), func(x float64) bool { return x != x }))
		for i, want := range []int{len(v) - finite, 1} {
			n, s := 0.0, f.Series[i]
			for b := range s.X {
				n += s.Y2[b]
				if !(s.X[b] < s.X2[b]) {
					t.Errorf("%v: a bar from %v to %v", v, s.X[b], s.X2[b])
				}
			}
			if int(n) != want {
				t.Errorf("%v: %v values in the bars of %q, want %d", v, n, s.Name, want)
			}
		}
	}
}

func TestHistogramsThatCannotBeDrawn(t *testing.T) {
	for want, groups := range map[string][]Series{
		"chart: histogram: no group given":                      nil,
		`chart: histogram: "b" has no finite value among its 1`: {{Name: "a", X: []float64{1}}, {Name: "b", X: []float64{nan}}},
	} {
		if err := Histogram("t", "x", "values", groups...).Err(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
