package chart

import (
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

var nan = math.NaN()

func TestCurves(t *testing.T) {
	f := Curves("Sensitivity to the server's step size", "η", "test accuracy",
		Series{Name: "FedAvgM", X: []float64{1, 0.1, 0.3}, Y: []float64{0.9, 0.5, 0.8}, Tip: []string{"last", "first", "middle"}},
		Series{Name: "FedAdam", X: []float64{0.001, 0.01, 0.1, 1}, Y: []float64{0.6, 0.93, 0.95, nan},
			Lo: []float64{0.5, 0.92, 0.94, nan}, Hi: []float64{0.7, 0.94, 0.96, nan}})
	if s := f.Series[0]; !slices.Equal(s.X, []float64{0.1, 0.3, 1}) || !slices.Equal(s.Y, []float64{0.5, 0.8, 0.9}) || s.Tip[2] != "last" {
		t.Errorf("the points are %v, %v, %v: want them in the order of X", s.X, s.Y, s.Tip)
	}
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
		if got := s.style[name].dash; !slices.Equal(got, want) {
			t.Errorf("%s has the dashes %v, want %v", name, got, want)
		}
	}
	if l := s.legend[2]; l.name != "C" || !slices.Equal(l.dash, []float64{16, 8}) || s.panels[0].Note != "a note; lines coincide: A, C, D" || s.panels[1].Note != "" {
		t.Errorf("legend %+v, notes %q and %q", l, s.panels[0].Note, s.panels[1].Note)
	}
}
