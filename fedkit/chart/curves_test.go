package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
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
	expect.That(t, l.name == "C" && slices.Equal(l.dash, []float64{16, 8}) && s.panels[0].Note == "a note; lines coincide: A, C, D" && s.panels[0].noted == nil && s.panels[1].noted == s.panels[0],
		"legend %+v, notes %q and %q", l, s.panels[0].Note, s.panels[1].Note)
}

// Names with commas are told apart, and a note lists three groups of lines at most.
func TestCoincidingLinesHaveShortNotes(t *testing.T) {
	f := &Figure{}
	for i := range 10 {
		for _, name := range []string{"again, Ward", "again, C = 10"} {
			f.Series = append(f.Series, Series{Name: fmt.Sprintf("%s, %d", name, i/2), X: []float64{1, 2}, Y: []float64{0, float64(i / 2)}})
		}
	}
	s := expect.Value(Row{f}.prepare())(t)
	want := "lines coincide: “again, Ward, 0”, “again, C = 10, 0”; “again, Ward, 1”, “again, C = 10, 1”; “again, Ward, 2”, “again, C = 10, 2”; …"
	expect.That(t, s.panels[0].Note == want, "%s", s.panels[0].Note)
}

// The dots of an x are shown together, that under the pointer alone is large, and a line crosses the figure there.
func TestPointer(t *testing.T) {
	f := Curves("", "x", "y", Series{Name: "A", X: make([]float64, 20), Y: make([]float64, 20)}, Series{Name: "B", X: make([]float64, 20), Y: make([]float64, 20)})
	for _, s := range f.Series {
		for i := range s.X {
			s.X[i] = float64(i)
		}
	}
	layers := f.VegaLite()["layer"].([]any)[0].(object)["layer"].([]any)
	across, dots := layers[0].(object), layers[2].(object)
	hover := dots["params"].([]any)[0].(object)
	expect.That(t, fmt.Sprint(hover["select"].(object)["fields"]) == "[x s k]", "%v: the points of a series are one row of data, so an id would be that of all", hover)
	expect.That(t, strings.Contains(fmt.Sprint(dots["encoding"].(object)["opacity"]), "indexof(hover_0_0.x, datum.x) >= 0"), "%v", dots)
	size := dots["encoding"].(object)["size"].(object)
	expect.That(t, size["value"] == 36.0 && size["condition"].(object)["param"] == hover["name"] && size["condition"].(object)["value"] == 144.0, "%v", size)
	expect.That(t, fmt.Sprint(across["transform"]) == "[map[filter:map[empty:false param:hover_0_0]]]" && across["mark"].(object)["type"] == "rule", "%v", across)
}

// Names beyond the colors have marks, in cells, as dots and in the legend.
func TestMoreNamesThanColors(t *testing.T) {
	for _, mark := range []Mark{Cells, Dots} {
		f := &Figure{}
		for i := range len(base) + 2 {
			s := Series{Name: fmt.Sprint("cluster ", i), Color: i + 1, Mark: mark}
			s.Cell(float64(i), float64(i+1), 0, 1)
			f.Series = append(f.Series, s)
		}
		spec := fmt.Sprint(f.VegaLite())
		expect.That(t, strings.Contains(spec, "'cross', 'cross'][datum.index]"), "the legend has no marks: %s", spec)
		want := map[Mark]string{Cells: "l:[+ +]", Dots: "circle cross cross]"}[mark]
		expect.That(t, strings.Contains(spec, want), "no %q in %s", want, spec)
	}
}

// A color of its own is the same whatever else the figure has, and takes none from the others.
func TestColorOfItsOwn(t *testing.T) {
	f := &Figure{Series: []Series{{Name: "A", X: []float64{1}, Y: []float64{1}, Mark: Dots}, {Name: "group 3", Color: 4, X: []float64{1}, Y: []float64{1}, Mark: Dots}, {Name: "B", X: []float64{1}, Y: []float64{1}, Mark: Dots}}}
	s := expect.Value(Row{f}.prepare())(t)
	expect.That(t, s.style["A"].color == base[0] && s.style["group 3"].color == base[3] && s.style["B"].color == base[1], "%v %v %v", s.style["A"], s.style["group 3"], s.style["B"])
}

// All columns of a heat map have names: on several lines, or turned in a panel that is too narrow for them.
func TestEveryColumnHasAName(t *testing.T) {
	f := &Figure{X: Axis{Names: []string{"MLP, rotation", "MLP, permuted", "LeNet, rotation", "LeNet, permuted"}}, Y: Axis{Names: []string{"a"}}, Width: 240, Height: 60,
		Series: []Series{{Name: "s", Mark: Cells, X: []float64{-0.5}, X2: []float64{0.5}, Y: []float64{-0.5}, Y2: []float64{0.5}}}}
	s := expect.Value(Row{f}.prepare())(t)
	x := &s.panels[0].x
	expect.That(t, len(x.ticks) == 4 && x.label(0) == "MLP,\nrotation" && x.turn > 0.5 && x.turn < 1, "ticks %v, %q, turned below %v", x.ticks, x.label(0), x.turn)
	axis := x.channel("x")["axis"].(object)
	expect.That(t, axis["labelOverlap"] == false && strings.HasSuffix(axis["labelAngle"].(object)["expr"].(string), "? -40 : 0"), "%v", axis)
	f.X.Names = strings.Split(strings.Repeat("ab ", 60), " ")
	s = expect.Value(Row{f}.prepare())(t)
	expect.That(t, len(s.panels[0].x.ticks) < 20, "%d names in 240 pixels", len(s.panels[0].x.ticks))
}

// A figure that stands alone has a heading that is not as narrow as it is.
func TestNarrowFiguresHaveWideHeadings(t *testing.T) {
	f := sized(160, 200)
	f.Title, f.Note = "Cluster of each client: IFCA", "strip: true group; a column is rounds in which no client moves"
	title := f.VegaLite()["title"].(object)
	expect.That(t, title["text"] == f.Title && strings.HasPrefix(fmt.Sprint(title["subtitle"]), "map[expr:room < 540 ? ["), "%v", title)
	expect.That(t, len(fmt.Sprint(Row{f, f}.VegaLite()["concat"].([]any)[0].(object)["title"])) > 200, "the heading of a row's figure is as wide as the figure")
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
