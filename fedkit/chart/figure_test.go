package chart

import (
	"fmt"
	"image"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

func flow() *Figure {
	return Diagram("When p falls", []Box{
		{Text: "all clients train", Kind: "clients"},
		{X: 1, Text: "ratio of losses\nabove 0.5?", Kind: "server"},
		{X: 2, Text: "coin: keep p?", Kind: "server"},
		{X: 2, Y: 1, Text: "p ← max(p − d, 1)\nd ← d + 1", Kind: "server"},
		{X: 1, Y: 1, Text: "p clusters"},
		{Y: 1, Text: "one client of each\ntrains again", Kind: "clients"},
	}, []Arrow{{From: 0, To: 1}, {From: 1, To: 2, Text: "yes"}, {From: 1, To: 4, Text: "no"}, {From: 2, To: 4, Text: "keep"}, {From: 2, To: 3, Text: "fall"}, {From: 3, To: 4}, {From: 4, To: 5}, {From: 5, To: 0}, {From: 0, To: 5, Text: "again"}})
}

// figures is one of each kind.
func figures() map[string]*Figure {
	return map[string]*Figure{
		"diagram": flow(),
		"histogram": Histogram("Who gains", "gain in accuracy", "clients",
			Series{Name: "FedRep", X: []float64{-0.05, 0.1, 0.12, 0.3, nan}}, Series{Name: "Local", X: []float64{0.2, 0.3, 0}}),
		"log": {
			Title: "Distance to the optimum", X: Axis{Title: "time (s)"}, Y: Axis{Title: "f − f*", Log: true},
			Targets: []float64{1e-3, -1}, Series: []Series{{Name: "a", X: []float64{0, 1, 2, 3}, Y: []float64{1, 0.1, 0, 1e-6}}},
		},
	}
}

func TestSpecifications(t *testing.T) {
	for name, f := range figures() {
		t.Run(name, func(t *testing.T) { charttest.Golden(t, name, f) })
	}
}

func TestFileNames(t *testing.T) {
	for _, c := range [][2]string{{"Time to accuracy", "time-to-accuracy"}, {"../../etc/x", "etc-x"}, {"", "figure"}, {"α = 0.3", "α-0.3"}} {
		if got := (&Figure{Title: c[0]}).fileName(); got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis   Axis
		values []float64
		want   string
	}{
		{Axis{Percent: true}, []float64{0.12, 0.93}, "0% 20% 40% 60% 80% 100%"},
		{Axis{Percent: true}, []float64{0.931, 0.938}, "93.0% 93.2% 93.4% 93.6% 93.8%"},
		{Axis{Percent: true}, []float64{1, 1}, "98.0% 98.5% 99.0% 99.5% 100.0%"},
		{Axis{Percent: true, Log: true}, []float64{1e-6, 0.05}, "0.0001% 0.001% 0.01% 0.1% 1% 10%"},
		{Axis{Whole: true}, []float64{1, 60}, "10 20 30 40 50 60"},
		{Axis{Whole: true}, []float64{3, 3}, "3"},
		{Axis{Whole: true}, []float64{-0.7, 9.7}, "0 2 4 6 8"},
		{Axis{Whole: true}, []float64{100001, 100004}, "100001 100002 100003 100004"},
		{Axis{}, []float64{1e-200, 2e-200}, "10⁻²⁰⁰ 1.2×10⁻²⁰⁰ 1.4×10⁻²⁰⁰ 1.6×10⁻²⁰⁰ 1.8×10⁻²⁰⁰ 2×10⁻²⁰⁰"},
		{Axis{}, []float64{0, 2.3e7}, "0 5×10⁶ 10⁷ 1.5×10⁷ 2×10⁷ 2.5×10⁷"},
		{Axis{}, []float64{-0.02, 0.03}, "−0.02 −0.01 0.00 0.01 0.02 0.03"},
		{Axis{Log: true}, []float64{0.03, 4}, "0.02 0.05 0.1 0.2 0.5 1 2 5"},
		{Axis{Log: true}, []float64{1e-7, 10}, "10⁻⁷ 10⁻⁵ 10⁻³ 10⁻¹ 10¹"},
		{Axis{Log: true}, []float64{1, 1}, "1 2"},
		{Axis{Names: []string{"a", "b"}}, nil, "a b"},
	} {
		s := newScale(c.axis)
		s.cover(c.values, 0)
		s.finish(6, 6, 25)
		var labels []string
		for _, v := range s.ticks {
			labels = append(labels, s.label(v))
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%+v of %v: %s, want %s", c.axis, c.values, got, c.want)
		}
		for _, v := range c.values {
			if n := s.norm(v); !(n >= -1e-9 && n <= 1+1e-9) {
				t.Errorf("%v lies at %g", v, n)
			}
		}
	}
}

func FuzzFigure(f *testing.F) {
	f.Add(1.0, 2.0, 3.0, 4.0, uint8(0), false, false)
	f.Add(math.NaN(), math.Inf(1), -1e308, 1e308, uint8(1), true, false)
	f.Add(0.0, 0.0, 5e-324, 1e-300, uint8(2), true, true)
	f.Add(1e15, 1e15+1, -1e15, 3e299, uint8(0), false, true)
	f.Fuzz(func(t *testing.T, a, b, c, d float64, mark uint8, log, whole bool) {
		fig := &Figure{
			X: Axis{Whole: whole, Title: "x"}, Y: Axis{Log: log, Title: "y"}, Targets: []float64{d},
			Series: []Series{
				{Name: "1", Mark: Mark(mark % 6), Images: []image.Image{image.White, nil}, X: []float64{a, b}, Y: []float64{c, d}, X2: []float64{b, b}, Y2: []float64{d, d}, Size: []float64{d, a}},
				{Name: "2", X: []float64{a, b}, Y: []float64{d, c}, Lo: []float64{a, b}, Hi: []float64{b, c}},
				{Mark: Cells, X: []float64{0, 1}, X2: []float64{1, 2}, Y: []float64{a, a}, Y2: []float64{b, b}, Values: []float64{c, d}, Covers: []float64{b}},
			},
		}
		if fig.VegaLite() == nil {
			return
		}
		charttest.Spec(t, fig)
	})
}

// What cannot be drawn carries the reason, and has no specification.
func TestRefusals(t *testing.T) {
	boxes := []Box{{Text: "a"}, {X: 1, Text: "b"}}
	for _, c := range []struct {
		says  string
		chart charttest.Chart
	}{
		{"no series has a point with finite values", &Figure{}},
		{"finite", &Figure{Series: []Series{{X: []float64{nan, 1}, Y: []float64{1, math.Inf(1)}}}}},
		{"finite", &Figure{Series: []Series{{X: []float64{1, 2}}}}},
		{"finite", &Figure{Y: Axis{Log: true}, Series: []Series{{X: []float64{1}, Y: []float64{-1}}}}},
		{"finite", &Figure{Series: []Series{{Mark: 9, X: []float64{1}, Y: []float64{1}}}}},
		{"chart: no figure given", Row{}},
		{"chart: a figure is nil", Row{nil}},
		{"chart: a figure is nil", (*Figure)(nil)},
		{"chart: curves: no series has a point with finite values", Curves("t", "x", "y")},
		{"chart: curves: no series has a point with finite values", Curves("t", "x", "y", Series{X: []float64{nan}, Y: []float64{1}})},
		{`"a": 2 X, 1 Y, 0 Lo and 0 Hi do not go together`, Curves("t", "x", "y", Series{Name: "a", X: []float64{1, 2}, Y: []float64{1}})},
		{"2 X, 2 Y, 1 Lo", Curves("t", "x", "y", Series{X: []float64{1, 2}, Y: []float64{1, 2}, Lo: []float64{1}})},
		{"chart: histogram: no group given", Histogram("t", "x", "values")},
		{`chart: histogram: "b" has no finite value among its 1`, Histogram("t", "x", "values", Series{Name: "a", X: []float64{1}}, Series{Name: "b", X: []float64{nan}})},
		{"an arrow of a diagram does not lead from one of its boxes to another", Diagram("", boxes, []Arrow{{From: 0, To: 0}})},
		{"an arrow of a diagram", Diagram("", boxes, []Arrow{{From: 0, To: 2}})},
		{"an arrow of a diagram", Diagram("", boxes, []Arrow{{From: -1, To: 0}})},
		{"a diagram of 102 columns", Diagram("", []Box{{X: 101}}, nil)},
		{"the size is 20000 × 320: must be at most 16384 each", &Figure{Width: 20000, Series: line("a").Series}},
	} {
		expect.Error(t, c.says)(c.chart.Err())
		expect.That(t, c.chart.VegaLite() == nil, "%s: a specification of nothing", c.says)
	}
}

// A series that goes with another has its color, another shade and with dashes, and takes none from the next.
func TestLike(t *testing.T) {
	line := func(name, like string) Series {
		return Series{Name: name, Like: like, X: []float64{0, 1}, Y: []float64{1, float64(len(name))}}
	}
	s := expect.Value(Row{{Series: []Series{line("a", ""), line("a too", "a"), line("bb", "nobody")}}}.prepare())(t)
	a, too, b := s.order[0], s.order[1], s.order[2]
	expect.That(t, too.color == a.companion("").color && too.color != a.color && too.dash != nil && a.dash == nil && b.color == base[1] && b.dash == nil,
		"%+v", s.order)
}

// The legend has names that differ in numbers alone in the order of these, and colors follow it.
func TestNamesInOrder(t *testing.T) {
	f := &Figure{}
	for _, name := range []string{"FedAvg", "10 clients", "CIFAR-100", "α = −1", "2 clients", "α = 0.5", "α = -2", "CIFAR-10", "100 clients"} {
		f.Series = append(f.Series, Series{Name: name, X: []float64{0, 1}, Y: []float64{1, 2}})
	}
	s := expect.Value(Row{f}.prepare())(t)
	var got []string
	for _, l := range s.order {
		got = append(got, l.name)
	}
	if want := "FedAvg, 2 clients, CIFAR-10, α = -2, 10 clients, α = −1, α = 0.5, CIFAR-100, 100 clients"; strings.Join(got, ", ") != want || s.order[1].color != base[1] {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
}

// Axes of one title have one range in a row, and a title that all have stands once; those of other quantities keep theirs.
func TestSharedAxes(t *testing.T) {
	figure := func(title string, least, most float64, names ...string) *Figure {
		return &Figure{X: Axis{Title: "round", Whole: true, Names: names}, Y: Axis{Title: title}, Series: []Series{{X: []float64{0, most}, Y: []float64{least, most}}}}
	}
	for name, c := range map[string]struct {
		row  Row
		want [][]float64 // of y
		once bool
	}{
		"one quantity":   {Row{figure("loss", 0, 1), figure("loss", 2, 3)}, [][]float64{{0, 3}, {0, 3}}, true},
		"two quantities": {Row{figure("loss", 0, 1), figure("time", 2, 3)}, [][]float64{{0, 1}, {2, 3}}, false},
		"named places":   {Row{figure("height", 0, 1, "a", "b"), figure("height", 2, 3, "a", "b")}, [][]float64{{0, 1}, {2, 3}}, true},
	} {
		s := expect.Value(c.row.prepare())(t)
		for i, p := range s.panels {
			if got := []float64{p.y.lo, p.y.hi}; !slices.Equal(got, c.want[i]) || c.row[0].X.Names == nil && p.x.hi != 3 {
				t.Errorf("%s: %v by %v, want %v", name, got, p.x.hi, c.want[i])
			}
			if once := p.y.beside > 0; once != (c.once && i > 0) {
				t.Errorf("%s: figure %d leaves its title to the first: %v", name, i, once)
			}
		}
	}
}

// Names stand at the ends of a few lines that end together, moved a little if need be. Otherwise there is a legend.
func TestNamesAtEnds(t *testing.T) {
	figure := func(ends ...float64) *Figure {
		f := &Figure{Y: Axis{Include: []float64{0, 40}}} // 8 pixels each
		for i, y := range ends {
			f.Series = append(f.Series, Series{Name: fmt.Sprint("line ", i), X: []float64{0, 1}, Y: []float64{16, y}})
		}
		return f
	}
	short, long, dots := figure(10, 20), figure(10, 20), figure(10, 20)
	short.Series[1].X[1], long.Series[0].Name, dots.Series[0].Mark = 0.9, strings.Repeat("long ", 20), Dots
	for name, c := range map[string]struct {
		row  Row
		want []float64
	}{
		"apart":   {Row{figure(20, 10, 30)}, []float64{10, 20, 30}},
		"near":    {Row{figure(10, 10.5)}, []float64{9.4375, 11.0625}},
		"one":     {Row{figure(10)}, nil},
		"equal":   {Row{figure(10, 10, 10)}, nil},
		"many":    {Row{figure(0, 4, 8, 12, 16, 20, 24)}, nil},
		"short":   {Row{short}, nil},
		"long":    {Row{long}, nil},
		"dots":    {Row{dots}, nil},
		"a row":   {Row{figure(10, 20), figure(10, 20)}, nil},
		"an edge": {Row{figure(39.9, 40, 20)}, nil},
	} {
		s := expect.Value(c.row.prepare())(t)
		var got []float64
		for _, e := range s.panels[0].ends {
			got = append(got, e.y)
		}
		expect.That(t, floats.EqualApprox(got, c.want, 1e-9) && (s.entries() == nil) == (got != nil || name == "one"),
			"%s: names at %v, want %v; legend %v", name, got, c.want, s.entries())
		charttest.Spec(t, c.row)
	}
	charttest.Golden(t, "ends", figure(10, 20))
}
