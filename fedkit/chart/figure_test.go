package chart

import (
	"encoding/json"
	"fmt"
	"image"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/table"
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
		got := (&Figure{Title: c[0]}).fileName()
		expect.That(t, got == c[1], "%q: %q, want %q", c[0], got, c[1])
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis   Axis
		values []float64
		want   string
	}{
		{Axis{Percent: true}, []float64{0.12, 0.93}, "0\u00a0% 20\u00a0% 40\u00a0% 60\u00a0% 80\u00a0% 100\u00a0%"},
		{Axis{Percent: true}, []float64{0.931, 0.938}, "93.0\u00a0% 93.2\u00a0% 93.4\u00a0% 93.6\u00a0% 93.8\u00a0%"},
		{Axis{Percent: true}, []float64{1, 1}, "98.0\u00a0% 98.5\u00a0% 99.0\u00a0% 99.5\u00a0% 100.0\u00a0%"},
		{Axis{Percent: true, Log: true}, []float64{1e-6, 0.05}, "0.0001\u00a0% 0.001\u00a0% 0.01\u00a0% 0.1\u00a0% 1\u00a0% 10\u00a0%"},
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
		got := strings.Join(labels, " ")
		expect.That(t, got == c.want, "%+v of %v: %s, want %s", c.axis, c.values, got, c.want)
		for _, v := range c.values {
			n := s.norm(v)
			expect.That(t, n >= -1e-9 && n <= 1+1e-9, "%v lies at %g", v, n)
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
			got := []float64{p.y.lo, p.y.hi}
			expect.That(t, slices.Equal(got, c.want[i]) && (c.row[0].X.Names != nil || p.x.hi == 3), "%s: %v by %v, want %v", name, got, p.x.hi, c.want[i])
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

// Bands and axes end where the quantity does, unless a point lies beyond.
func TestBounds(t *testing.T) {
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		y              Axis
		at, lo, hi     float64   // of a point and its band; another point is at 0.5
		wantLo, wantHi float64   // of the band
		axis           []float64 // its ends
	}{
		"accuracy":             {Axis{Percent: true, Bounds: [2]float64{0, 1}, Include: []float64{0, 1.0015}}, 0.9, -0.3, 1.2, 0, 1, []float64{0, 1}},
		"difference of shares": {Axis{Percent: true}, 0.9, -0.3, 1.2, -0.3, 1, []float64{-0.4, 1}},
		"loss":                 {Axis{Bounds: [2]float64{0, inf}}, 0.9, -0.3, 1.2, 0, 1.2, []float64{0, 1.2}},
		"between two ticks":    {Axis{Bounds: [2]float64{-0.03, 1}}, 0.9, -0.3, 1.2, -0.03, 1, []float64{-0.03, 1}},
		"a point beyond":       {Axis{Percent: true, Bounds: [2]float64{0, 1}}, 1.1, -0.3, 1.2, 0, 1.2, []float64{0, 1.2}},
		"none":                 {Axis{}, 0.9, -0.3, 1.2, -0.3, 1.2, []float64{-0.5, 1.5}},
	} {
		f := &Figure{Y: c.y, Series: []Series{{X: []float64{1, 2}, Y: []float64{0.5, c.at}, Lo: []float64{0.5, c.lo}, Hi: []float64{0.5, c.hi}}}}
		s := expect.Value(Row{f}.prepare())(t)
		p := s.panels[0]
		band := p.series[0]
		expect.That(t, band.Lo[1] == c.wantLo && band.Hi[1] == c.wantHi,
			"%s: the band is [%g, %g], want [%g, %g]", name, band.Lo[1], band.Hi[1], c.wantLo, c.wantHi)
		got := []float64{p.y.lo, p.y.hi}
		expect.That(t, slices.Equal(got, c.axis) && p.y.ticks[0] >= p.y.lo, "%s: the axis is %v with ticks %v, want %v", name, got, p.y.ticks, c.axis)
	}
}

// A method has one color in a row, though its names say what of it is shown.
func TestOneColorForAMethod(t *testing.T) {
	line := func(name, of, like string) Series {
		return Series{Name: name, Of: of, Like: like, X: []float64{0, 1}, Y: []float64{1, 2}}
	}
	s, err := Row{
		{Series: []Series{line("FedAvg", "", ""), line("k-means, own", "k-means", ""), line("k-means, global", "k-means", "k-means, own"), line("Ward", "", "")}},
		{Series: []Series{line("Ward", "", ""), line("k-means", "", "")}},
	}.prepare()
	expect.OK(t, err)
	own, global, ward, k := s.style["k-means, own"].color, s.style["k-means, global"].color, s.style["Ward"].color, s.style["k-means"].color
	expect.That(t, own == base[1] && k == own && ward == base[2] && global != own, "k-means, own %v; global %v; k-means %v; Ward %v", own, global, k, ward)
}

// Dots that count the same are drawn to one scale in all figures of a row.
func TestOneScaleOfDots(t *testing.T) {
	figure := func(area string, largest float64, width int) *Figure {
		return &Figure{Area: area, Width: width, Series: []Series{{Mark: Dots, X: []float64{0, 30}, Y: []float64{0, 1}, Size: []float64{1, largest}}}}
	}
	s := expect.Value(Row{figure("rows", 10, 600), figure("steps", 7, 600), figure("rows", 40, 300)}.prepare())(t)
	a, other, b := s.panels[0], s.panels[1], s.panels[2]
	expect.That(t, a.most == 40 && b.most == 40 && a.side == b.side && other.most == 7 && other.side != b.side,
		"largest %g, %g and %g, drawn %g, %g and %g wide", a.most, other.most, b.most, a.side, other.side, b.side)
}

// Names keep their colors in figures that have other names too, or not all of them.
func TestColors(t *testing.T) {
	defer Colors()
	Colors("FedAvg", "IFCA", "FedAvg", "FedSC")
	for _, c := range []struct {
		names  []string
		places []int
	}{{[]string{"FedSC", "FedAvg"}, []int{2, 0}}, {[]string{"CFL", "IFCA", "FedAC"}, []int{3, 1, 4}}, {[]string{"CFL", "FedAC"}, []int{0, 1}}} {
		var all []Series
		for _, name := range c.names {
			all = append(all, Series{Name: name, X: []float64{0, 1}, Y: []float64{0, 1}})
		}
		s := expect.Value(Row{Curves("", "x", "y", all...)}.prepare())(t)
		for i, st := range s.order {
			at := slices.Index(base, st.color)
			expect.That(t, st.name == c.names[i] && at == c.places[i], "%s has color %d, want %s with color %d", st.name, at, c.names[i], c.places[i])
		}
	}
}

func TestGrouped(t *testing.T) {
	// Rows from the top: d, c, b, a.
	make := func(names ...string) *Figure {
		line := Series{Mark: Segments}
		line.Cell(0, 0, -0.5, 3.5)
		return &Figure{Y: Axis{Names: names}, Height: 80, Series: []Series{line, {Mark: Dots, X: []float64{1, 2, 3, 4}, Y: []float64{0, 1, 2, 3}}}}
	}
	r := Row{make("a", "b", "c", "d"), make("", "", "", "")}.Grouped(Group{"none:", []string{"e"}}, Group{"one:", []string{"a", "c"}}, Group{"two:", []string{"b"}})
	want := []string{"d", "b", "two:", "a", "c", "one:"}
	expect.That(t, slices.Equal(r[0].Y.Names, want), "%q", r[0].Y.Names) // from below
	expect.That(t, len(r[1].Y.Names) == 6 && r[1].Y.Names[0] == "" && r[1].Height == 120, "%q, %d", r[1].Y.Names, r[1].Height)
	for _, f := range r {
		if line, dots := f.Series[0], f.Series[1]; line.Y[0] != -0.5 || line.Y2[0] != 5.5 || !slices.Equal(dots.Y, []float64{3, 1, 4, 0}) {
			t.Error(line.Y, line.Y2, dots.Y)
		}
	}
	if f := (&Figure{Height: 80}).Grouped(Group{"one:", []string{"a"}}); f.Height != 80 {
		t.Error(f.Height)
	}
}

// long is a figure of lines with too many points for a notebook. The line "a" explodes for one point, "b" has a gap, and the band
// of "c" is wide at one point.
func long(explodes float64) *Figure {
	const n = 5000
	f := &Figure{Title: "long", Note: "mean"}
	for _, name := range []string{"a", "b", "c"} {
		s := Series{Name: name}
		for i := range n {
			y := 2 + math.Sin(float64(i)/700)
			s.X, s.Y, s.Lo, s.Hi = append(s.X, float64(i)), append(s.Y, y), append(s.Lo, y-0.1), append(s.Hi, y+0.1)
		}
		f.Series = append(f.Series, s)
	}
	f.Series[0].Y[1234], f.Series[0].Hi[1234] = explodes, explodes
	for i := 2001; i < 2800; i++ {
		f.Series[1].Y[i] = nan
	}
	f.Series[2].Lo[3210] = -40
	return f
}

// Peaks of lines and bands stay, however few points are drawn, and so do gaps and both ends.
func TestThinningKeepsWhatStandsOut(t *testing.T) {
	f := long(1000)
	charttest.Spec(t, f) // light enough
	s := expect.Value(Row{f}.prepare())(t)
	a, b, c := s.panels[0].series[0], s.panels[0].series[1], s.panels[0].series[2]
	at := slices.Index(a.Y, 1000)
	expect.That(t, at >= 0 && a.X[at] == 1234, "the explosion at 1234 is not there")
	at = slices.Index(c.Lo, -40)
	expect.That(t, at >= 0 && c.X[at] == 3210, "the wide band at 3210 is not there")
	expect.That(t, slices.Contains(b.X, 2000) && slices.Contains(b.X, 2800), "the gap from 2000 to 2800 is not there")
	all := 3*5000 - 799
	for _, line := range []series{a, b, c} {
		expect.That(t, len(line.X) >= 100 && line.X[0] == 0 && line.X[len(line.X)-1] == 4999 && slices.IsSorted(line.X),
			"%d points from %g to %g", len(line.X), line.X[0], line.X[len(line.X)-1])
	}
	kept, want := len(a.X)+len(b.X)+len(c.X), s.panels[0].Note
	expect.That(t, want == table.NoBreak("mean; left out: 799 of 15000 points, not finite; drawn from "+strconv.Itoa(kept)+" of "+strconv.Itoa(all)+" points, minima and maxima kept"),
		"%d points, and the note %q", kept, want)
	spec := expect.Value(json.Marshal(f.VegaLite()))(t)
	expect.That(t, strings.Contains(string(spec), "1000") && strings.Contains(string(spec), "drawn from"), "the specification has no explosion or no note")
}

// A thousand lines keep their shape, and their legend its size.
func TestManyLines(t *testing.T) {
	f := &Figure{}
	for i := range 1000 {
		s := Series{Name: strconv.Itoa(i), Thin: i%2 > 0}
		for x := range 400 {
			s.X, s.Y = append(s.X, float64(x)), append(s.Y, math.Sin(float64(x*(i+1))/100))
		}
		f.Series = append(f.Series, s)
	}
	s := expect.Value(Row{f}.prepare())(t)
	for i, line := range s.panels[0].series {
		least := []int{8, 16}[i/500]
		expect.Must(t, line.Thin == (i < 500) && len(line.X) >= least && len(line.X) <= leastPoints, "line %d has %d points", i, len(line.X))
	}
	want := table.NoBreak(" of 400000 points, minima and maxima kept; legend: the first 100 of 1000 names")
	expect.That(t, len(s.legend) == 100 && strings.HasSuffix(s.panels[0].Note, want), "%d names in the legend, note %q", len(s.legend), s.panels[0].Note)
}

// However few points are asked for, and whatever the values are, the first and the last stay.
func TestThin(t *testing.T) {
	s := Series{}
	for i := range 300 {
		s.X, s.Y = append(s.X, float64(i%7)), append(s.Y, math.Sin(float64(i*i)))
	}
	for n := 1; n <= 301; n++ {
		kept := s.thin(indices(300), n)
		expect.Must(t, len(kept) <= max(n, 6) && kept[0] == 0 && kept[len(kept)-1] == 299 && slices.IsSorted(kept) && (n <= 30 || len(kept) >= n/3),
			"%d points of 300 where %d were asked for", len(kept), n)
	}
}
