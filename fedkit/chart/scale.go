package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit/table"
)

// scale maps the values of an axis to [0, 1] and knows its ticks.
type scale struct {
	Axis
	lo, hi float64
	ticks  []float64
	format string  // of the ticks, for Vega-Lite
	digits int     // decimals of the ticks; -1 if they are written in another way, and format does not say how
	beside int     // place in a row of figures whose y axes have one title, which the first of a line shows for all
	turn   float64 // names of columns turn in panels that are narrower than this share of what they ask for
	top    bool    // the axis is above a figure whose lower end is out of sight
	zoom   bool    // the range is that of the brush, if there is one
	powers bool    // all ticks are written as powers of ten, since some would be long
}

// holds reports whether a value can be drawn on the axis. Beyond some bounds, ticks would no longer be numbers.
func (a Axis) holds(v float64) bool {
	switch most := math.Abs(v); {
	case !finite(v) || most > 1e300 || a.Whole && most > 1e9:
		return false
	case a.Log:
		return v > 1e-300
	}
	return true
}

// bounded returns the axis, "x" or "y", with bounds that all points of a figure keep, infinite ones if there are none.
func (a Axis) bounded(all []Series, name string) Axis {
	lo, hi := a.bounds()
	const room = 1e-9 // for what arithmetic adds
	for _, s := range all {
		for _, c := range s.columns() {
			for _, v := range *c.data {
				switch on := strings.HasPrefix(c.name, name) && a.holds(v); {
				case on && v < lo-room:
					lo = math.Inf(-1)
				case on && v > hi+room:
					hi = math.Inf(1)
				}
			}
		}
	}
	a.Bounds = [2]float64{lo, hi}
	return a
}

// floored bounds a logarithmic axis by the least value that it can show, for bands that reach down to 0 or below.
func (a Axis) floored(all []Series) Axis {
	least := math.Inf(1)
	for _, s := range all {
		for _, v := range slices.Concat(s.Y, s.Y2, s.Lo, a.Include) {
			if a.holds(v) {
				least = min(least, v)
			}
		}
	}
	a.Bounds[0] = max(a.Bounds[0], least)
	return a
}

// bounds returns the axis's own bounds or the default ones, which are infinite for none.
func (a Axis) bounds() (lo, hi float64) {
	switch {
	case a.Bounds[0] < a.Bounds[1]:
		return a.Bounds[0], a.Bounds[1]
	case a.Percent:
		return -1, 1
	}
	return math.Inf(-1), math.Inf(1)
}

func newScale(a Axis) scale { return scale{Axis: a, lo: math.Inf(1), hi: math.Inf(-1)} }

// cover widens the range to hold the values, with room around each if these are positions.
func (s *scale) cover(values []float64, room float64) {
	if !s.Whole && s.Names == nil {
		room = 0
	}
	for _, v := range values {
		s.lo, s.hi = min(s.lo, v-room), max(s.hi, v+room)
	}
}

// coverOwn widens the range to hold what the axis covers beside the data, within its bounds.
func (s *scale) coverOwn() {
	for _, v := range s.Include {
		if s.holds(v) {
			s.cover([]float64{s.within(v)}, 0)
		}
	}
}

// within returns the value, or the bound of the axis that it exceeds.
func (a Axis) within(v float64) float64 {
	lo, hi := a.bounds()
	return min(max(v, lo), hi)
}

// finish chooses about n ticks, whole of them if the axis is one of whole numbers, or at most as many names as there is
// room for. It rounds the range up to the ticks if that is natural.
func (s *scale) finish(n, whole, names int) {
	n, whole, names = max(2, n), max(2, whole), max(2, names)
	switch {
	case s.Names != nil:
		s.lo, s.hi = -0.5, float64(len(s.Names))-0.5
		named := slices.DeleteFunc(indices(len(s.Names)), func(i int) bool { return s.Names[i] == "" })
		for i := 0; i < len(named); i += (len(named) + names - 1) / names {
			s.ticks = append(s.ticks, float64(named[i]))
		}
	case s.Log:
		s.finishLog(n)
	case s.Whole:
		if s.hi-s.lo < 1e-9 {
			s.lo, s.hi = s.lo-0.5, s.hi+0.5
		}
		step := max(1, niceStep((s.hi-s.lo)/float64(whole)))
		s.ticks = multiples(step, math.Ceil(s.lo/step), math.Floor(s.hi/step))
		s.format = "d"
	default:
		s.finishLinear(n)
	}
}

func (s *scale) finishLinear(n int) {
	if most := max(math.Abs(s.lo), math.Abs(s.hi)); s.hi-s.lo <= max(2e-4*most, 1e-300) { // as good as one value, see round5
		room := max(0.02*most, 1e-6)
		if s.Percent {
			room = 0.02
		}
		share := s.Percent && s.lo >= 0
		s.lo, s.hi = s.within(s.lo-room), s.within(s.hi+room)
		if share {
			s.lo = max(s.lo, 0)
		}
	}
	step := niceStep((s.hi - s.lo) / float64(n))
	lo, hi := math.Floor(s.lo/step+1e-9), math.Ceil(s.hi/step-1e-9)
	all := multiples(step, lo, hi)
	s.lo, s.hi = s.within(all[0]), s.within(all[len(all)-1])
	s.ticks = slices.DeleteFunc(all, func(v float64) bool { return v < s.lo || v > s.hi })
	if s.Percent {
		step *= 100
	}
	s.digits = max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	switch {
	case s.Percent:
		s.format = fmt.Sprintf(".%d%%", s.digits)
	case max(math.Abs(s.lo), math.Abs(s.hi)) >= 1e6 || s.digits > 5:
		s.digits = -1
	default:
		s.format = fmt.Sprintf(".%df", s.digits)
	}
}

func (s *scale) finishLog(n int) {
	s.digits = -1
	lo, hi := math.Floor(math.Log10(s.lo)+1e-9), math.Ceil(math.Log10(s.hi)-1e-9)
	if lo == hi {
		lo, hi = lo-1, hi+1
	}
	mantissas := []float64{1}
	if s.hi <= 300*s.lo {
		mantissas = []float64{1, 2, 5}
	}
	every := math.Ceil((hi - lo) / float64(n))
	for e := lo; e <= hi; e += every {
		for _, m := range mantissas {
			if v := power(m, int(e)); e < hi || m == 1 {
				s.ticks = append(s.ticks, v)
			}
		}
	}
	// The range is cut down to the ticks around the data.
	for len(s.ticks) > 2 && s.ticks[1] <= s.lo {
		s.ticks = s.ticks[1:]
	}
	for k := len(s.ticks) - 1; k > 1 && s.ticks[k-1] >= s.hi; k-- {
		s.ticks = s.ticks[:k]
	}
	s.lo, s.hi = min(s.lo, s.ticks[0]), max(s.hi, s.ticks[len(s.ticks)-1])
	s.powers = slices.ContainsFunc(s.ticks, lengthy)
}

// norm returns where a value lies: 0 at the low end, 1 at the high one.
func (s *scale) norm(v float64) float64 {
	if s.Log {
		return math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	}
	return (v - s.lo) / (s.hi - s.lo)
}

// label writes a tick.
func (s *scale) label(v float64) string {
	switch {
	case s.Names != nil:
		return s.Names[int(v)]
	case s.Percent:
		return table.Minus(strconv.FormatFloat(round(100*v, 12), 'f', s.digits, 64)) + "\u00a0%"
	case s.digits < 0 && v != 0 && (s.powers || lengthy(math.Abs(v))):
		return table.Minus(strconv.FormatFloat(v, 'e', -1, 64))
	}
	return table.Minus(strconv.FormatFloat(v, 'f', s.digits, 64))
}

// niceStep returns the smallest of …, 0.5, 1, 2, 5, 10, … that is not below v.
func niceStep(v float64) float64 {
	e := int(math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if s := power(m, e); s >= v*(1-1e-9) {
			return s
		}
	}
	return power(1, e+1)
}

// multiples returns lo·step, (lo+1)·step, …, hi·step without the noise of repeated sums.
func multiples(step, lo, hi float64) []float64 {
	t := make([]float64, int(hi-lo)+1)
	for i := range t {
		t[i] = round((lo+float64(i))*step, 12) + 0 // -0 becomes 0
	}
	return t
}

// power returns m·10^e as the literal would be read.
func power(m float64, e int) float64 {
	v, _ := strconv.ParseFloat(fmt.Sprintf("%ge%d", m, e), 64)
	return v
}

// lengthy reports whether it takes too many digits to write a positive number as it is.
func lengthy(v float64) bool { return v < 1e-3 || v >= 1e5 }
