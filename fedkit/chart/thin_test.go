package chart

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/table"
)

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
	if at := slices.Index(a.Y, 1000); at < 0 || a.X[at] != 1234 {
		t.Error("the explosion at 1234 is not there")
	}
	if at := slices.Index(c.Lo, -40); at < 0 || c.X[at] != 3210 {
		t.Error("the wide band at 3210 is not there")
	}
	expect.That(t, slices.Contains(b.X, 2000) && slices.Contains(b.X, 2800), "the gap from 2000 to 2800 is not there")
	all := 3*5000 - 799
	for _, line := range []series{a, b, c} {
		expect.That(t, len(line.X) >= 100 && line.X[0] == 0 && line.X[len(line.X)-1] == 4999 && slices.IsSorted(line.X),
			"%d points from %g to %g", len(line.X), line.X[0], line.X[len(line.X)-1])
	}
	if kept, want := len(a.X)+len(b.X)+len(c.X), s.panels[0].Note; want != table.NoBreak("mean; left out: 799 of 15000 points, not finite; drawn from "+strconv.Itoa(kept)+" of "+strconv.Itoa(all)+" points, minima and maxima kept") {
		t.Errorf("%d points, and the note %q", kept, want)
	}
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
		if least := []int{8, 16}[i/500]; line.Thin != (i < 500) || len(line.X) < least || len(line.X) > leastPoints {
			t.Fatalf("line %d has %d points", i, len(line.X))
		}
	}
	if want := table.NoBreak(" of 400000 points, minima and maxima kept; legend: the first 100 of 1000 names"); len(s.legend) != 100 || !strings.HasSuffix(s.panels[0].Note, want) {
		t.Errorf("%d names in the legend, note %q", len(s.legend), s.panels[0].Note)
	}
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
