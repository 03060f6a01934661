package chart

import (
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

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
		if band := p.series[0]; band.Lo[1] != c.wantLo || band.Hi[1] != c.wantHi {
			t.Errorf("%s: the band is [%g, %g], want [%g, %g]", name, band.Lo[1], band.Hi[1], c.wantLo, c.wantHi)
		}
		if got := []float64{p.y.lo, p.y.hi}; !slices.Equal(got, c.axis) || p.y.ticks[0] < p.y.lo {
			t.Errorf("%s: the axis is %v with ticks %v, want %v", name, got, p.y.ticks, c.axis)
		}
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
			if at := slices.Index(base, st.color); st.name != c.names[i] || at != c.places[i] {
				t.Errorf("%s has color %d, want %s with color %d", st.name, at, c.names[i], c.places[i])
			}
		}
	}
}
