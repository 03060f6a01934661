package chart

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/lucasb-eyer/go-colorful"
	"gonum.org/v1/gonum/floats"

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
		got := s.panels[i].series[0].place
		expect.That(t, slices.Equal(got, want), "panel %d: places %v, want %v", i, got, want)
	}
	expect.That(t, len(s.bars) == 3 && s.legend == nil && s.panels[0].series[0].bar == s.panels[1].series[0].bar && row[0].Series[0].place == nil,
		"%d bars, legend %v", len(s.bars), s.legend)
	mu, cosine := s.bars[0], s.bars[1]
	for p := 1.; p <= shades; p++ {
		expect.That(t, luminance(mu.color(p)) < luminance(mu.color(p-1)), "place %g is not darker than the one before", p)
	}
	a := []uint8{cosine.color(0).A, cosine.color(shades / 3.).A, cosine.color(shades).A}
	expect.That(t, slices.Equal(a, []uint8{128, 0, 255}), "opacities %v of −0.5, 0 and 1", a)
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

// square returns n × n cells, the lowest row first, whose values grow by column.
func square(n int) (s Series) {
	s.Mark = Cells
	for i := range n * n {
		x, y := float64(i%n), float64(i/n)
		s.Cell(x, x+1, y, y+1, fmt.Sprint(i))
		s.Values = append(s.Values, x)
	}
	return s
}

// Few cells stay cells. Many become an image with the same shades in the same places, gaps between rows or not.
func TestRaster(t *testing.T) {
	if r, _ := (Row{{Series: []Series{square(12)}}}).shaded(); len(r[0].Series) != 1 || len(r[0].Series[0].place) != 144 {
		t.Errorf("%+v", r[0].Series)
	}
	gaps := square(48)
	for i := range gaps.Y {
		gaps.Y[i], gaps.Y2[i] = gaps.Y[i]+0.04, gaps.Y2[i]-0.04
	}
	for _, s := range []Series{square(48), gaps} {
		f := &Figure{Title: "Raster", X: Axis{Names: make([]string, 48)}, Width: 480, Height: 240, Series: []Series{s}}
		r, bars := Row{f}.shaded()
		many := r[0].Series
		expect.Must(t, len(many) == 2 && len(many[0].X) == 1 && len(bars) == 1 && f.Fits(), "%+v", many)
		img := many[1]
		ends := []float64{img.X[0], img.X2[0], img.Y[0], img.Y2[0]}
		expect.Must(t, img.Mark == Images && floats.EqualApprox(ends, []float64{0, 48, 0, 48}, 1e-9), "%+v", img)
		for x := range 48 {
			got, want := img.Images[0].At(x, 7), bars[0].color(math.Round(shades*bars[0].norm(float64(x))))
			expect.That(t, got == want, "column %d is %v, want %v", x, got, want)
		}
		charttest.Spec(t, f)
	}
}

// A cell that has no value stays empty. Cells that are no grid stay cells.
func TestRasterOfOddValues(t *testing.T) {
	s := square(48)
	s.Values[47*48] = nan // at the top left
	image := func(s Series) image.Image {
		r, _ := Row{{Series: []Series{s}}}.shaded()
		if last := r[0].Series[len(r[0].Series)-1]; last.Mark == Images {
			return last.Images[0]
		}
		return nil
	}
	_, _, _, alpha := image(s).At(0, 0).RGBA()
	expect.That(t, alpha == 0, "a value that is not a number is drawn")
	flat, far, bare, askew := s, s, s, s
	flat.X2 = flat.X
	far.X, askew.X = slices.Clone(s.X), slices.Clone(s.X)
	far.X[25], askew.X[25] = -1e300, 0.3
	bare.Y2 = nil
	for what, s := range map[string]Series{"flat": flat, "far": far, "bare": bare, "askew": askew} {
		expect.That(t, image(s) == nil, "%s cells are an image", what)
	}
}

// Lines in ink hold a figure together: they have no color of the palette and no line in the legend, even if an axis has names.
func TestSegments(t *testing.T) {
	one, two := Series{Name: "one", Mark: Segments}, Series{Name: "two", Mark: Segments}
	border := Series{Name: "border", Mark: Segments, Ink: true}
	border.Cell(0, 2, 1, 1)
	one.Cell(0, 1, 0, 2, "first")
	two.Cell(1, 2, 2, 0, "second")
	two.Cell(1, nan, 2, 0, "nowhere")
	f := &Figure{Title: "Segments", X: Axis{Names: []string{"a", "", "c"}}, Legend: true, Series: []Series{border, one, two}}
	charttest.Golden(t, "segments", f)
	s := expect.Value(Row{f}.prepare())(t)
	expect.That(t, len(s.legend) == 2 && s.legend[0].name == "one" && s.legend[0].color == base[0] && s.legend[1].color == base[1] && s.order[0].color == ink,
		"%+v", s.legend)
	x := s.panels[0].x
	expect.That(t, slices.Equal(x.ticks, []float64{0, 2}), "ticks at %v: a place without a name has none", x.ticks)
}

// The matrices are those of G. M. Machado, M. M. Oliveira and L. A. F. Fernandes, "A Physiologically-based Model for
// Simulation of Color Vision Deficiency" (2009), for a severity of 1. They multiply linear RGB.
var sights = map[string][3][3]float64{
	"normal":       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// seen is how a color looks to somebody.
func seen(c color.NRGBA, sight [3][3]float64) colorful.Color {
	all, _ := colorful.MakeColor(c)
	r, g, b := all.LinearRgb()
	var v [3]float64
	for i, row := range sight {
		v[i] = max(0, min(1, row[0]*r+row[1]*g+row[2]*b))
	}
	return colorful.LinearRgb(v[0], v[1], v[2])
}

func difference(a, b color.NRGBA, sight [3][3]float64) float64 {
	return 100 * seen(a, sight).DistanceCIEDE2000(seen(b, sight))
}

// dark is the background of cells in JupyterLab's dark theme.
var dark = color.NRGBA{0x11, 0x11, 0x11, 0xff}

func contrast(a, b color.NRGBA) float64 {
	x, y := luminance(a)+0.05, luminance(b)+0.05
	return max(x/y, y/x)
}

// Everybody can tell series apart, on white and in the dark theme.
func TestPalette(t *testing.T) {
	expect.That(t, len(base) >= 16, "%d colors, want 16", len(base))
	for i, c := range base {
		for _, c := range []color.NRGBA{c, style{color: c}.companion("").color} {
			for _, background := range []color.NRGBA{white, dark} {
				if r := contrast(c, background); r < 3 {
					t.Errorf("color %d, %s: a contrast of %.2f to %s, want at least 3", i, hex(c), r, hex(background))
				}
			}
		}
		for sight, m := range sights {
			for j := range i {
				want := 4. // their dashes differ
				switch {
				case j == i-1:
					want = 15
				case j/8 == i/8:
					want = 6
				}
				if d := difference(c, base[j], m); d < want {
					t.Errorf("colors %d and %d, %s and %s: a difference of %.1f under %s, want at least %g", j, i, hex(base[j]), hex(c), d, sight, want)
				}
			}
		}
	}
}

// Names that share a color have other dashes: 32 series all look different.
func TestStylesDiffer(t *testing.T) {
	used := map[string]int{}
	for i := range 32 {
		s := (&Series{}).style(i)
		look := fmt.Sprint(s.color, s.dash)
		j, ok := used[look]
		expect.That(t, !ok, "series %d looks like series %d", i, j)
		used[look] = i
	}
	for c, i := range map[string]int{hex(base[8]): 8, hex(base[0]): 16} {
		if s := (&Series{}).style(i); hex(s.color) != c || s.dash == nil {
			t.Errorf("series %d is %s with dashes %v", i, hex(s.color), s.dash)
		}
	}
}

// Both ends of the shades can be seen on either background.
func TestShadesAreVisible(t *testing.T) {
	for _, value := range []float64{0.01, 0.5, 1} {
		c := (&Series{Shade: value}).style(0).color
		if r := math.Min(contrast(c, white), contrast(c, dark)); r < 1.3 {
			t.Errorf("shade %g, %s: a contrast of %.2f to a background", value, hex(c), r)
		}
	}
}
