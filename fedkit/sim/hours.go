package sim

import (
	"cmp"
	"fmt"
	"math"
	"sort"
)

// Hours are a device's availability. They repeat forever, so that a device that is off always comes back. The zero value is
// always on.
type Hours struct {
	Intervals []Interval // in order, without overlap; none: always on
	Period    float64    // s after which they repeat; default: the end of the last one
}

// Interval is the time from From to To, in s. At To the device is off.
type Interval struct {
	From, To float64 // s, 0 ≤ From < To
}

// Next returns the first moment at or after t at which the device is on.
func (h Hours) Next(t float64) float64 {
	if len(h.Intervals) == 0 {
		return t
	}
	return max(t, h.interval(h.at(t)).From)
}

// Finish returns when work of this many seconds that begins at t is done. It pauses while the device is off, and then
// resumes where it stopped. Work that ends with an interval is done at that moment.
func (h Hours) Finish(t, work float64) float64 {
	if len(h.Intervals) == 0 {
		return t + work
	}
	t = h.Next(t)
	cycle, i := h.at(t)
	if left := h.interval(cycle, i).To - t; work > left {
		work -= left
		cycle, i = h.after(cycle, i)
		whole := max(0, math.Ceil(work/h.share())-1) // full cycles, after which work is left
		work = min(work-whole*h.share(), h.share())  // round-off of many cycles must not become more
		cycle += whole
		for on := h.Intervals[i]; work > on.To-on.From; on = h.Intervals[i] {
			work -= on.To - on.From
			cycle, i = h.after(cycle, i)
		}
		t = h.interval(cycle, i).From
	}
	return t + work
}

// at returns the interval that contains t, or else the next one: its repetition and its index.
func (h Hours) at(t float64) (cycle float64, i int) {
	cycle = math.Floor(t / h.period())
	i = sort.Search(len(h.Intervals), func(i int) bool { return h.interval(cycle, i).To > t })
	if i == len(h.Intervals) {
		return cycle + 1, 0
	}
	return cycle, i
}

// after returns the next interval.
func (h Hours) after(cycle float64, i int) (float64, int) {
	if i+1 == len(h.Intervals) {
		return cycle + 1, 0
	}
	return cycle, i + 1
}

// interval returns interval i of a repetition.
func (h Hours) interval(cycle float64, i int) Interval {
	start, on := cycle*h.period(), h.Intervals[i]
	return Interval{start + on.From, start + on.To}
}

func (h Hours) period() float64 { return cmp.Or(h.Period, h.Intervals[len(h.Intervals)-1].To) }

// share returns the seconds per period that the device is on.
func (h Hours) share() (s float64) {
	for _, on := range h.Intervals {
		s += on.To - on.From
	}
	return s
}

// Check reports the first interval that is empty, not finite, or begins before the one before it ends, and a Period that is
// too short.
func (h Hours) Check() error {
	last := 0.0
	for i, on := range h.Intervals {
		switch {
		case !(on.From >= last):
			return invalid(fmt.Sprintf("Intervals[%d].From", i), on.From, fmt.Sprintf("≥ %v, the end of the interval before it", last))
		case !(on.To > on.From && on.To <= math.MaxFloat64):
			return invalid(fmt.Sprintf("Intervals[%d].To", i), on.To, fmt.Sprintf("a number > %v, at which it begins", on.From))
		}
		last = on.To
	}
	if h.Period != 0 && !(len(h.Intervals) > 0 && h.Period >= last && h.Period <= math.MaxFloat64) {
		return invalid("Period", h.Period, fmt.Sprintf("0 or a number ≥ %v, the end of the last interval", last))
	}
	return nil
}

// alternate returns the hours of a device that is on and off alternately, switched on at the phase, in [0, on + off).
func alternate(on, off, phase float64) Hours {
	period := on + off
	if end := phase + on - period; end > 0 { // it is on at 0
		return Hours{Intervals: []Interval{{0, end}, {phase, period}}, Period: period}
	}
	return Hours{Intervals: []Interval{{phase, phase + on}}, Period: period}
}
