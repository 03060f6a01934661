package sim

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTimes(t *testing.T) {
	d := Device{PerExample: 0.02, Down: 1e6, Up: 2e5, Latency: 0.5}
	free := Device{}
	scaled := Device{PerExample: 0.02, Reference: 3e6}
	for _, test := range []struct {
		name      string
		got, want float64
	}{
		{"receive", d.Receive(4e6), 4.5},
		{"send", d.Send(4e6), 20.5},
		{"no message", d.Send(0) + d.Receive(0), 0}, // nothing is sent, so there is no latency either
		{"compute", d.Compute(100, 7), 2},
		{"a model of twice the operations", scaled.Compute(100, 6e6), 4},
		{"without limits", free.Receive(1e9) + free.Send(1e9) + free.Compute(1e9, 1e9), 0},
	} {
		if test.got != test.want {
			t.Errorf("%s: %v s, want %v", test.name, test.got, test.want)
		}
	}
}

// The dropout rate is Drop, after half of the work on average.
func TestDropout(t *testing.T) {
	rng, d := rand.New(rand.NewPCG(1, 2)), Device{Drop: 0.3}
	const n = 20000
	dropped, share := 0.0, 0.0
	for range n {
		if at := d.Dropout(rng); at < 1 {
			dropped++
			share += at
		}
	}
	// Standard errors: √(0.3·0.7/n) = 0.0032 and √(1/12/6000) = 0.0037.
	if math.Abs(dropped/n-0.3) > 0.015 || math.Abs(share/dropped-0.5) > 0.015 {
		t.Errorf("%v drop out, after %v of their work; want 0.3 and 0.5", dropped/n, share/dropped)
	}
	if at := (Device{}).Dropout(rng); at != 1 {
		t.Errorf("a device with Drop = 0 drops out after %v", at)
	}
}

func TestDevicesThatCannotBe(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	on := func(period float64, intervals ...Interval) Device { return Device{On: Hours{intervals, period}} }
	for _, test := range []struct {
		device Device
		want   string
	}{
		{Device{PerExample: -1}, "PerExample = -1: must be a number ≥ 0"},
		{Device{Reference: inf}, "Reference = +Inf: must be a number ≥ 0"},
		{Device{Down: nan}, "Down = NaN: must be a number ≥ 0"},
		{Device{Up: -0.5}, "Up = -0.5: must be a number ≥ 0"},
		{Device{Latency: -1}, "Latency = -1: must be a number ≥ 0"},
		{Device{Drop: 1}, "Drop = 1: must be in [0, 1)"},
		{Device{Drop: nan}, "Drop = NaN: must be in [0, 1)"},
		{on(0, Interval{5, 5}), "On.Intervals[0].To = 5: must be a number > 5, at which it begins"},
		{on(0, Interval{-1, 5}), "On.Intervals[0].From = -1: must be ≥ 0, the end of the interval before it"},
		{on(0, Interval{0, 5}, Interval{4, 6}), "On.Intervals[1].From = 4: must be ≥ 5, the end of the interval before it"},
		{on(0, Interval{nan, 5}), "On.Intervals[0].From = NaN: must be ≥ 0, the end of the interval before it"},
		{on(0, Interval{0, inf}), "On.Intervals[0].To = +Inf: must be a number > 0, at which it begins"},
		{on(4, Interval{0, 5}), "On.Period = 4: must be 0 or a number ≥ 5, the end of the last interval"},
		{on(nan, Interval{0, 5}), "On.Period = NaN: must be 0 or a number ≥ 5, the end of the last interval"},
		{on(5), "On.Period = 5: must be 0 or a number ≥ 0, the end of the last interval"},
		{on(5, Interval{0, 5}), ""},
		{Device{}, ""},
	} {
		if got := said(test.device.Check()); got != test.want {
			t.Errorf("%+v: %q, want %q", test.device, got, test.want)
		}
	}
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
