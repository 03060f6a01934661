package chart

import (
	"fmt"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/charttest"
)

// square returns n × n cells, the lowest row first, whose values grow by column.
func square(n int) (s Series, values []float64) {
	s.Mark = Cells
	for i := range n * n {
		x, y := float64(i%n), float64(i/n)
		s.Cell(x, x+1, y, y+1, fmt.Sprint(i))
		values = append(values, x)
	}
	return s, values
}

// Few cells stay cells. Many become an image with the same shades in the same places.
func TestRaster(t *testing.T) {
	few := Raster(square(12))
	cells := 0
	for _, s := range few {
		cells += len(s.X)
	}
	if cells != 144 || len(few) != 11 {
		t.Errorf("%d cells in %d steps", cells, len(few))
	}
	s, values := square(12)
	if wide := Raster(s, values, -100, 100); len(wide) != 3 || wide[0].Name != "−10 to 0" || wide[0].Shade != -0.1 || wide[2].Shade != 0.2 {
		t.Errorf("%d steps on a scale from −100 to 100: %+v", len(wide), wide)
	}
	many := Raster(square(48))
	img := many[len(many)-1]
	if img.Mark != Images || !slices.Equal([]float64{img.X[0], img.X2[0], img.Y[0], img.Y2[0]}, []float64{0, 48, 0, 48}) {
		t.Fatalf("%+v", img)
	}
	for k, s := range many[:len(many)-1] {
		if len(s.X) != 1 || s.Name != fmt.Sprintf("%d to %d", 5*k, 5*k+5) {
			t.Errorf("step %q has %d cells", s.Name, len(s.X))
		}
		if got, want := img.Images[0].At(5*k+2, 7), s.style(0).color; got != want {
			t.Errorf("column %d is %v, want %v", 5*k+2, got, want)
		}
	}
	f := &Figure{Title: "Raster", X: Axis{Names: make([]string, 48)}, Width: 480, Height: 240, Legend: true, Series: many}
	charttest.Spec(t, f)
	charttest.Drawn(t, f)
}

// A cell that has no value stays empty, and nothing is drawn of none.
func TestRasterOfOddValues(t *testing.T) {
	s, values := square(48)
	values[47*48] = nan // at the top left
	steps := Raster(s, values)
	if _, _, _, alpha := steps[len(steps)-1].Images[0].At(0, 0).RGBA(); alpha != 0 {
		t.Error("a value that is not a number is drawn")
	}
	// Cells that are no grid stay cells.
	flat, far, bare := s, s, s
	flat.X2 = flat.X
	far.X = slices.Clone(s.X)
	far.X[25] = -1e300
	bare.Y2 = nil
	for what, s := range map[string]Series{"flat": flat, "far": far, "bare": bare} {
		if steps := Raster(s, values); steps[len(steps)-1].Mark != Cells {
			t.Errorf("%s cells are an image", what)
		}
	}
	if Raster(Series{}, nil) != nil || Raster(s, make([]float64, 0)) != nil {
		t.Error("a raster of nothing")
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
	charttest.Drawn(t, f)
	s, err := Row{f}.prepare()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.legend) != 2 || s.legend[0].name != "one" || s.legend[0].color != base[0] || s.legend[1].color != base[1] || s.order[0].color != ink {
		t.Errorf("%+v", s.legend)
	}
	if x := s.panels[0].x; !slices.Equal(x.ticks, []float64{0, 2}) {
		t.Errorf("ticks at %v: a place without a name has none", x.ticks)
	}
}
