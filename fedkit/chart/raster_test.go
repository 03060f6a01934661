package chart

import (
	"fmt"
	"image"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

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
		if ends := []float64{img.X[0], img.X2[0], img.Y[0], img.Y2[0]}; img.Mark != Images || !floats.EqualApprox(ends, []float64{0, 48, 0, 48}, 1e-9) {
			t.Fatalf("%+v", img)
		}
		for x := range 48 {
			if got, want := img.Images[0].At(x, 7), bars[0].color(math.Round(shades*bars[0].norm(float64(x)))); got != want {
				t.Errorf("column %d is %v, want %v", x, got, want)
			}
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
	if _, _, _, alpha := image(s).At(0, 0).RGBA(); alpha != 0 {
		t.Error("a value that is not a number is drawn")
	}
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
	if x := s.panels[0].x; !slices.Equal(x.ticks, []float64{0, 2}) {
		t.Errorf("ticks at %v: a place without a name has none", x.ticks)
	}
}
