package chart

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

// columnOf is cells over each other, with these values.
func columnOf(of string, values ...float64) Series {
	s := Series{Mark: Cells, Of: of, Values: values}
	for i := range values {
		s.Cell(0, 1, float64(i), float64(i)+1)
	}
	return s
}

// Values of one thing have one scale in a row, and those of another thing have theirs; larger is darker, or, of both signs, the more
// colored the farther from 0.
func TestShades(t *testing.T) {
	row := Row{{Series: []Series{columnOf("μ", 0.1, 0.3)}}, {Series: []Series{columnOf("μ", 0.2, 0.8)}},
		{Series: []Series{columnOf("cosine", -0.5, 0, 1)}}, {Series: []Series{columnOf("loss", 0.001, 0.1, 1)}}}
	s := expect.Value(row.prepare())(t)
	for i, want := range [][]float64{{6, 19}, {13, 50}, {0, 17, 50}, {0, 33, 50}} {
		if got := s.panels[i].series[0].place; !slices.Equal(got, want) {
			t.Errorf("panel %d: places %v, want %v", i, got, want)
		}
	}
	expect.That(t, len(s.bars) == 3 && s.legend == nil && s.panels[0].series[0].bar == s.panels[1].series[0].bar && row[0].Series[0].place == nil,
		"%d bars, legend %v", len(s.bars), s.legend)
	mu, cosine := s.bars[0], s.bars[1]
	for p := 1.; p <= shades; p++ {
		expect.That(t, luminance(mu.color(p)) < luminance(mu.color(p-1)), "place %g is not darker than the one before", p)
	}
	if a := []uint8{cosine.color(0).A, cosine.color(shades / 3.).A, cosine.color(shades).A}; !slices.Equal(a, []uint8{128, 0, 255}) {
		t.Errorf("opacities %v of −0.5, 0 and 1", a)
	}
	charttest.Golden(t, "values", row[2:])
	charttest.Spec(t, row)
}

func TestShadesOfOddValues(t *testing.T) {
	for _, c := range []struct {
		values []float64
		points int
	}{{[]float64{}, 0}, {[]float64{nan, nan, nan}, 0}, {[]float64{nan, 5}, 1}, {[]float64{1, 1, 1}, 3}, {[]float64{0, 1e300, -1e300}, 3}, {[]float64{0, 1e301}, 1}} {
		cells := columnOf("", 1, 2, 3)
		cells.Values = c.values
		f := &Figure{Series: []Series{cells}}
		s, err := Row{f}.prepare()
		if c.points == 0 {
			expect.That(t, err != nil && strings.Contains(err.Error(), "finite"), "%v: %v", c.values, err)
			continue
		}
		expect.OK(t, err)
		if got := s.panels[0].series[0].place; len(got) != c.points || slices.ContainsFunc(got, func(p float64) bool { return !(p >= 0 && p <= shades) || p != math.Trunc(p) }) {
			t.Errorf("%v: places %v, want %d", c.values, got, c.points)
		}
		charttest.Spec(t, f)
	}
}
