package chart

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"
)

// series is a Series whose columns all have the same length and hold finite, rounded numbers.
type series struct {
	Series
	cols []column
	all  int // points that could be drawn; fewer are, to keep a notebook light
	lost int // points of a line or of dots that cannot be drawn
}

// column is a named slice of numbers: "x", "y", "lo", …
type column struct {
	name string
	data *[]float64
}

// columns lists the numbers the series has to have, and those that it has beyond them.
func (s *Series) columns() []column {
	c := []column{{"x", &s.X}, {"y", &s.Y}}
	switch {
	case s.Mark == Line && s.Lo != nil && s.Hi != nil:
		c = append(c, column{"lo", &s.Lo}, column{"hi", &s.Hi})
	case s.Mark == Dots && s.Size != nil:
		c = append(c, column{"n", &s.Size})
	case s.Mark == Cells || s.Mark == Segments || s.Mark == Images && s.X2 != nil && s.Y2 != nil:
		c = append(c, column{"x2", &s.X2}, column{"y2", &s.Y2})
	}
	if s.Mark == Cells && s.bar != nil {
		c = append(c, column{"v", &s.place})
	}
	return c
}

// clean returns a copy that holds about this many points at most, all of which can be drawn.
func (s Series) clean(x, y Axis, points int) series {
	if s.Mark < Line || s.Mark > Segments {
		return series{}
	}
	cols, n := s.columns(), s.complete()
	keep := make([]int, 0, n)
	for i := range n {
		if s.drawable(cols, i, x, y) {
			keep = append(keep, i)
		}
	}
	if s.Thin {
		points /= 2
	}
	if s.Mark != Images {
		s.Images = nil
	}
	if s.Mark != Cells {
		s.Text = nil
	}
	c := series{Series: s.at(s.thin(keep, points)), all: len(keep)}
	if s.Mark == Line || s.Mark == Dots && s.Size == nil {
		c.lost = n - len(keep)
	}
	if !(s.Opacity > 0 && s.Opacity <= 1) {
		c.Opacity = 1
		switch {
		case s.Thin:
			c.Opacity = 0.6
		case s.Mark == Dots:
			c.Opacity = 0.75
		}
	}
	c.cols = c.columns()
	for _, col := range c.cols {
		for j, v := range *col.data {
			if col.name == "lo" || col.name == "hi" {
				if v = y.within(v); !y.holds(v) {
					v = c.Y[j]
				}
			}
			(*col.data)[j] = round5(v)
		}
	}
	return c
}

// thin downsamples some points to at most n, but for the smallest n, by M4 aggregation (Jugel et al. 2014), bands included: of
// each stretch of the series it keeps the first and the last one, and those with the least and the greatest value of each column.
func (s Series) thin(points []int, n int) []int {
	if len(points) <= n {
		return points
	}
	cols := s.columns()
	for stretches := max(1, n/2); ; stretches = stretches * 4 / 5 {
		var kept []int
		stretch := func(i int) int { return i * stretches / len(s.X) }
		for from, to := 0, 0; from < len(points); from = to {
			for to = from; to < len(points) && stretch(points[to]) == stretch(points[from]); {
				to++
			}
			kept = append(kept, outermost(cols, points[from:to])...)
		}
		if len(kept) <= n || stretches == 1 {
			return kept
		}
	}
}

// outermost returns the first and the last of some points, and those with the least and the greatest value of each column.
func outermost(cols []column, points []int) []int {
	kept := []int{points[0], points[len(points)-1]}
	for _, c := range cols {
		by := func(i, j int) int { return cmp.Compare((*c.data)[i], (*c.data)[j]) }
		if some := slices.DeleteFunc(slices.Clone(points), func(i int) bool { return !finite((*c.data)[i]) }); len(some) > 0 {
			kept = append(kept, slices.MinFunc(some, by), slices.MaxFunc(some, by))
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}

// at returns the series with these points alone, in this order. Slices that are too short for them are left out.
func (s Series) at(points []int) Series {
	for _, v := range []*[]float64{&s.X, &s.Y, &s.Lo, &s.Hi, &s.Size, &s.X2, &s.Y2, &s.Values, &s.place} {
		*v = pick(*v, points)
	}
	s.Text, s.Tip, s.Images = pick(s.Text, points), pick(s.Tip, points), pick(s.Images, points)
	return s
}

// complete returns how many points have all that their mark needs.
func (s *Series) complete() int {
	n := len(s.X)
	for _, c := range s.columns() {
		n = min(n, len(*c.data))
	}
	if s.Mark == Images {
		n = min(n, len(s.Images))
	}
	return n
}

// drawable reports whether point i can be drawn. It may lack its band, which is then as narrow as the line.
func (s *Series) drawable(cols []column, i int, x, y Axis) bool {
	good := s.Mark != Images || s.Images[i] != nil && !s.Images[i].Bounds().Empty()
	for _, c := range cols {
		switch v := (*c.data)[i]; c.name {
		case "x", "x2":
			good = good && x.holds(v)
		case "y", "y2":
			good = good && y.holds(v)
		case "v":
			good = good && finite(v)
		case "n":
			good = good && finite(v) && v > 0
		}
	}
	return good
}

// margin is the room that whole-numbered positions need on either side.
func (s *Series) margin() float64 {
	switch {
	case s.Mark == Dots && s.Size != nil:
		return 0.7
	case s.Mark == Images && s.X2 == nil:
		return 0.5
	}
	return 0
}

// jsonBytes is how many bytes the data of a row of figures take at most in its Vega-Lite specification, unless its series would be
// left with fewer than leastPoints, and lose their shape.
const (
	jsonBytes   = 30_000
	leastPoints = 24
)

const everyPoint = math.MaxInt32

// budget returns how many points a series of the row may keep, so that all together fit into jsonBytes, or four times as many with picks.
func (r Row) budget() int {
	var points, width, share []int
	limit := jsonBytes
	for _, f := range r {
		for i := range f.Series {
			s, part := &f.Series[i], 1
			if len(s.when) > 0 {
				limit = 4 * jsonBytes
			}
			if s.Thin {
				part = 2
			}
			points, width, share = append(points, len(s.X)), append(width, s.width()), append(share, part)
		}
	}
	tooMany := func(most int) bool { // the bytes of JSON if each series keeps this many points at most, a thin one half
		bytes := 0
		for i, n := range points {
			bytes += min(most/share[i], n) * width[i]
		}
		return bytes > limit
	}
	if !tooMany(everyPoint) {
		return everyPoint
	}
	return max(leastPoints, sort.Search(limit, tooMany)-1) // a point takes a byte at least
}

// width estimates how many bytes of JSON a point takes, from the first, the last and a few points in between.
func (s *Series) width() (bytes int) {
	points := Thin(indices(len(s.X)), 20)
	for _, i := range points {
		for _, c := range s.columns() {
			if i < len(*c.data) {
				bytes += len(strconv.FormatFloat(round5((*c.data)[i]), 'g', -1, 64)) + 1
			}
		}
		for _, words := range [][]string{s.Tip, s.Text} {
			if i < len(words) {
				bytes += len(words[i]) + 3
			}
		}
		if s.Mark == Images && i < len(s.Images) {
			bytes += len(dataURL(s.Images[i])) + 3
		}
	}
	return bytes/max(1, len(points)) + 1
}

func finite(v float64) bool { return v-v == 0 }

// round5 keeps five significant digits, and whole numbers as they are.
func round5(v float64) float64 {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return v + 0 // -0 becomes 0
	}
	return round(v, 5)
}

// round keeps this many significant digits.
func round(v float64, digits int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	return r
}

// Thin keeps at most n of the elements, evenly spread, the first and the last included.
func Thin[T any](a []T, n int) []T {
	if len(a) <= n || n < 2 {
		return a
	}
	b := make([]T, n)
	for i := range b {
		b[i] = a[i*(len(a)-1)/(n-1)]
	}
	return b
}

// each returns f of every element.
func each[A, B any](all []A, f func(A) B) []B {
	of := make([]B, len(all))
	for i, a := range all {
		of[i] = f(a)
	}
	return of
}

// indices returns 0, 1, …, n−1.
func indices(n int) []int {
	a := make([]int, n)
	for i := range a {
		a[i] = i
	}
	return a
}

// pick returns the elements at these indices, nil if one of them is not there.
func pick[T any](a []T, at []int) (b []T) {
	for _, i := range at {
		if i >= len(a) {
			return nil
		}
		b = append(b, a[i])
	}
	return b
}
