package chart

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

var nan = math.NaN()

func TestCurves(t *testing.T) {
	f := Curves("Sensitivity to the server's step size", "η", "test accuracy",
		Series{Name: "FedAvgM", X: []float64{1, 0.1, 0.3}, Y: []float64{0.9, 0.5, 0.8}, Tip: []string{"last", "first", "middle"}},
		Series{Name: "FedAdam", X: []float64{0.001, 0.01, 0.1, 1}, Y: []float64{0.6, 0.93, 0.95, nan},
			Lo: []float64{0.5, 0.92, 0.94, nan}, Hi: []float64{0.7, 0.94, 0.96, nan}})
	s := f.Series[0]
	expect.That(t, slices.Equal(s.X, []float64{0.1, 0.3, 1}) && slices.Equal(s.Y, []float64{0.5, 0.8, 0.9}) && s.Tip[2] == "last",
		"the points are %v, %v, %v: want them in the order of X", s.X, s.Y, s.Tip)
	charttest.Golden(t, "curves", f)
}

func TestAxesOfCurves(t *testing.T) {
	for _, c := range []struct {
		label             string
		x, y              []float64
		log, percent, lgY bool
	}{
		{"η", []float64{0.01, 0.1, 1}, []float64{1, 2, 3}, true, false, false},
		{"local epochs", []float64{1, 2, 5, 10, 20}, []float64{1, 2, 3, 1e4, 5}, true, false, true},
		{"round", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, make([]float64, 12), false, false, false},
		{"share of attackers", []float64{0, 0.1, 0.2, 0.3}, []float64{1, 2, -3, 4}, false, true, false},
		{"share of attackers", []float64{0, 10, 20}, []float64{1, 1, 1}, false, false, false},
		{"one value", []float64{0.5}, []float64{1}, false, false, false},
	} {
		f := Curves("t", c.label, c.label, Series{X: c.x, Y: c.y})
		expect.OK(t, f.Err())
		expect.That(t, f.X.Log == c.log && f.X.Percent == c.percent && f.Y.Log == c.lgY, "%s %v against %v: axes %+v and %+v", c.label, c.y, c.x, f.X, f.Y)
	}
}

// Lines on the same points are all seen: those on top have dashes. The note names them.
func TestCoincidingLines(t *testing.T) {
	x, one, other := []float64{1, 2, 3}, []float64{0, 1, 1}, []float64{1, 0, 1}
	line := func(name string, y []float64) Series { return Series{Name: name, X: x, Y: y} }
	f := &Figure{Note: "a note", Series: []Series{line("A", one), line("B", other), line("C", []float64{1e-4, 1, 1}), line("D", one), {Name: "thin", Thin: true, X: x, Y: one}}}
	g := &Figure{Series: []Series{line("B", one), line("A", other), {Name: "E", X: x[:2], Y: one[:2]}}}
	s := expect.Value(Row{f, g}.prepare())(t)
	for name, want := range map[string][]float64{"A": nil, "B": nil, "C": {16, 8}, "D": {8, 16}, "E": nil, "thin": nil} {
		got := s.style[name].dash
		expect.That(t, slices.Equal(got, want), "%s has the dashes %v, want %v", name, got, want)
	}
	l := s.legend[2]
	expect.That(t, l.name == "C" && slices.Equal(l.dash, []float64{16, 8}) && s.panels[0].Note == "a note; lines coincide: A, C, D" && s.panels[1].Note == "",
		"legend %+v, notes %q and %q", l, s.panels[0].Note, s.panels[1].Note)
}

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
		got := bins(c.lo, c.hi, c.n)
		expect.That(t, floats.EqualApprox(got, c.want, 1e-12), "[%v, %v]: %v, want %v", c.lo, c.hi, got, c.want)
	}
}

// Every finite value is in one bar, whatever the values are.
func TestEveryValueIsCounted(t *testing.T) {
	for _, v := range [][]float64{
		{0, 0.2, 0.4, 0.6, 0.8, 1}, {-3, 1e9}, {1e-12, 2e-12, 5e-12}, {0.3}, {-0.1, -0.1}, {1e17, 1e17 + 64}, {math.Pi, nan, 1, 1, 1, 7},
		{-1e300, 1e300}, {0.1, 0.2, 0.30000000000000004}, {1, 1 + 1e-15},
	} {
		f := Histogram("t", "x", "values", Series{Name: "a", X: v}, Series{Name: "b", X: v[:1]})
		expect.Must(t, f.err == nil, "%v: %v", v, f.err)
		finite := len(v) - len(slices.DeleteFunc(slices.Clone(v), func(x float64) bool { return x != x }))
		for i, want := range []int{len(v) - finite, 1} {
			n, s := 0.0, f.Series[i]
			for b := range s.X {
				n += s.Y2[b]
				expect.That(t, s.X[b] < s.X2[b], "%v: a bar from %v to %v", v, s.X[b], s.X2[b])
			}
			expect.That(t, int(n) == want, "%v: %v values in the bars of %q, want %d", v, n, s.Name, want)
		}
	}
}

// Ties are neither winners nor losers: they have a bin of their own.
func TestTiesHaveTheirOwnBin(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   []string
	}{
		"both":    {[]float64{-0.1, -0.01, 0, 0, 0, 0.01, 0.1}, []string{"−10.0 % to −8.0 %: 1", "−2.0 % to 0.0 %: 1", "0.0 %: 3", "0.0 % to 2.0 %: 1", "8.0 % to 10.0 %: 1"}},
		"winners": {[]float64{0, 0, 0.01, 0.1}, []string{"0.0 %: 2", "1.0 % to 2.0 %: 1", "9.0 % to 10.0 %: 1"}},
		"losers":  {[]float64{0, -0.015, -0.1, math.Copysign(0, -1)}, []string{"−10.0 % to −9.0 %: 1", "−2.0 % to −1.0 %: 1", "0.0 %: 2"}},
		"ones":    {[]float64{1, 1}, []string{"98.0 % to 100.0 %: 2"}},
	} {
		f := Histogram("t", "gain in accuracy", "clients", Series{Name: "a", X: c.values})
		err := f.Err()
		expect.That(t, err == nil && slices.Equal(f.Series[0].Tip, c.want), "%s: %q, want %q; %v", name, f.Series[0].Tip, c.want, err)
		s := f.Series[0]
		expect.That(t, slices.IsSorted(s.X) && slices.Max(s.X2) <= 1, "%s: bars from %v to %v", name, s.X, s.X2)
		for i := range f.Series[0].X[1:] {
			expect.That(t, f.Series[0].X[i+1] >= f.Series[0].X2[i], "%s: bars overlap: from %v to %v", name, f.Series[0].X, f.Series[0].X2)
		}
	}
}
