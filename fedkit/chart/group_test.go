package chart

import (
	"fedkit.example/fedkit/fedtest/expect"
	"slices"
	"testing"
)

func TestGrouped(t *testing.T) {
	// Rows from the top: d, c, b, a.
	make := func(names ...string) *Figure {
		line := Series{Mark: Segments}
		line.Cell(0, 0, -0.5, 3.5)
		return &Figure{Y: Axis{Names: names}, Height: 80, Series: []Series{line, {Mark: Dots, X: []float64{1, 2, 3, 4}, Y: []float64{0, 1, 2, 3}}}}
	}
	r := Row{make("a", "b", "c", "d"), make("", "", "", "")}.Grouped(Group{"none:", []string{"e"}}, Group{"one:", []string{"a", "c"}}, Group{"two:", []string{"b"}})
	if want := []string{"d", "b", "two:", "a", "c", "one:"}; !slices.Equal(r[0].Y.Names, want) { // from below
		t.Errorf("%q", r[0].Y.Names)
	}
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
