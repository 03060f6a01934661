package sim

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestHours(t *testing.T) {
	daily := Hours{Intervals: []Interval{{2, 5}, {8, 9}}, Period: 10} // 4 s in 10
	trace := Hours{Intervals: []Interval{{2, 5}, {8, 9}}}             // 4 s in 9
	for _, test := range []struct {
		hours                    Hours
		at, work, next, finished float64
	}{
		{Hours{}, 3, 4, 3, 7},
		{daily, 0, 0, 2, 2},
		{daily, 0, 1, 2, 3},
		{daily, 3, 2, 3, 5},            // ends with the interval
		{daily, 3, 2.5, 3, 8.5},        // waits from 5 to 8
		{daily, 5, 1, 8, 9},            // off at the end of an interval
		{daily, 9, 1, 12, 13},          // in the next period
		{daily, 3, 3.5, 3, 12.5},       // over the end of a period
		{daily, 2, 4, 2, 9},            // all of a period
		{daily, 2, 7, 2, 15},           // ends with an interval of the second
		{daily, 12, 40, 12, 109},       // ten of them
		{daily, 18.5, 41, 18.5, 122.5}, // 0.5 + 40 + 0.5
		{daily, 1002, 4001, 1002, 11003},
		{trace, 9, 1, 11, 12},
		{trace, 8, 2, 8, 12},
	} {
		if next := test.hours.Next(test.at); next != test.next {
			t.Errorf("%v: on next after %v at %v, want %v", test.hours, test.at, next, test.next)
		}
		if end := test.hours.Finish(test.at, test.work); end != test.finished {
			t.Errorf("%v: %v s of work from %v end at %v, want %v", test.hours, test.work, test.at, end, test.finished)
		}
	}
}

// Work takes as long as the device is on between its beginning and its end, which is at no moment when it is off; and two
// pieces, one after the other, end when both as one do.
func TestHoursKeepTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		h := randomHours(rng)
		if err := h.Check(); err != nil {
			t.Fatal(err)
		}
		at, work := 50*rng.Float64(), 100*rng.Float64()
		end := h.Finish(at, work)
		if got := onBetween(h, at, end); math.Abs(got-work) > 1e-9 {
			t.Fatalf("%v: %v s of work from %v end at %v: it is on for %v", h, work, at, end, got)
		}
		if again := h.Finish(h.Finish(at, work/3), work-work/3); math.Abs(again-end) > 1e-9 {
			t.Fatalf("%v: from %v, %v s of work end at %v, in two pieces at %v", h, at, work, end, again)
		}
		if next := h.Next(at); next < at || onBetween(h, at, next) > 1e-9 || h.Next(next) != next || h.Finish(at, 0) != next {
			t.Fatalf("%v: on next after %v at %v", h, at, next)
		}
	}
}

func randomHours(rng *rand.Rand) (h Hours) {
	at := 0.0
	for range 1 + rng.IntN(4) {
		from := at + rng.Float64()*float64(rng.IntN(2)) // with a gap or without
		at = from + 0.01 + rng.Float64()
		h.Intervals = append(h.Intervals, Interval{from, at})
	}
	if rng.IntN(2) == 0 {
		h.Period = at + rng.Float64()
	}
	return h
}

// onBetween sums interval by interval.
func onBetween(h Hours, from, to float64) (s float64) {
	for start := 0.0; start < to; start += h.period() {
		for _, on := range h.Intervals {
			s += max(0, min(start+on.To, to)-max(start+on.From, from))
		}
	}
	return s
}

// A device that alternates is on for its share of any period, whatever its phase.
func TestAlternate(t *testing.T) {
	for _, phase := range []float64{0, 1, 6.9, 7, 7.1, 9.5} {
		h := alternate(3, 7, phase)
		if err := h.Check(); err != nil {
			t.Error(err)
		}
		if on := onBetween(h, 20, 30); math.Abs(on-3) > 1e-9 || h.Next(phase) != phase || h.Finish(phase, 3) != phase+3 && math.Abs(h.Finish(phase, 3)-phase-3) > 1e-9 {
			t.Errorf("phase %v: %v: on for %v in 10 s, want 3", phase, h, on)
		}
	}
}

// Nothing hangs, however long or short work and hours are.
func TestHoursAtTheEdge(t *testing.T) {
	for _, h := range []Hours{
		{Intervals: []Interval{{0, 1e-300}}, Period: 1e300},
		{Intervals: []Interval{{0, 1e-12}, {1, 1e15}}},
		{Intervals: []Interval{{1e300, 1.1e300}}},
	} {
		for _, work := range []float64{0, 1e-300, 1, 1e18, 1e300, math.Inf(1), math.NaN()} {
			for _, at := range []float64{0, 1, 1e18, 1e300} {
				if end := h.Finish(at, work); end < at {
					t.Errorf("%v: %v s of work from %v end at %v", h, work, at, end)
				}
			}
		}
	}
}
