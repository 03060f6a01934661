package sim

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/bounds"
	"fedkit.example/fedkit/fedtest/expect"
	"gonum.org/v1/gonum/stat"
)

// rules has one of each kind.
func rules(seed uint64) []Rule {
	phones := Devices{
		PerExample: LogNormal{Median: 0.05, Sigma: 1}, Down: Uniform{1e5, 1e6}, Up: Uniform{1e4, 1e5}, Latency: Constant(0.1),
		Drop: Uniform{0, 0.2}, OnFor: Constant(28800), OffFor: Uniform{10000, 60000}, Seed: seed,
	}
	return []Rule{
		phones,
		Devices{PerExample: TwoClasses{Fast: 0.01, Slow: 0.1, Share: 0.5}, Seed: seed},
		Devices{OnFor: Constant(5), OffFor: Constant(7), Seed: seed}, // seeds choose when they start
		Mixed{Classes: []Class{{0.7, phones}, {0.3, Devices{}}}, Seed: seed},
		Trace{File: "testdata/devices.csv", Shuffle: true, Seed: seed},
	}
}

func TestEveryRule(t *testing.T) {
	for k, rule := range rules(1) {
		t.Run(rule.String(), func(t *testing.T) {
			devices, err := rule.Draw(3)
			expect.Must(t, err == nil && len(devices) == 3 && checkAll(devices) == nil, "%v, %v", devices, err)
			again, err := rule.Draw(3)
			expect.That(t, err == nil && reflect.DeepEqual(devices, again), "the second draw differs, or %v", err)
			other, err := rules(2)[k].Draw(3)
			expect.That(t, err == nil && !reflect.DeepEqual(devices, other), "another seed gives the same devices, or %v", err)
			expect.Error(t)(rule.Draw(0))
		})
	}
}

// A client's device depends neither on how many there are nor on quantities that others have.
func TestDevicesKeepTheirDraws(t *testing.T) {
	rule := rules(1)[0].(Devices)
	few, _ := rule.Draw(5)
	many, err := rule.Draw(50)
	expect.That(t, err == nil && reflect.DeepEqual(few, many[:5]), "the first 5 of 50 devices differ from 5, or %v", err)
	rule.PerExample = nil
	for i, d := range must(rule.Draw(50)) {
		if d.PerExample = many[i].PerExample; !reflect.DeepEqual(d, many[i]) {
			t.Errorf("client %d: %+v, with PerExample %+v", i, d, many[i])
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// The distributions have the mean and the quantiles that their fields set.
func TestDistributions(t *testing.T) {
	const n = 20000
	draw := func(d Distribution) []float64 {
		var v []float64
		for _, d := range must(Devices{PerExample: d, Seed: 3}.Draw(n)) {
			v = append(v, d.PerExample)
		}
		slices.Sort(v)
		return v
	}
	near := func(name string, got, want, tolerance float64) {
		expect.That(t, math.Abs(got-want) <= tolerance, "%s: %v, want %v", name, got, want)
	}
	quantile := func(p float64, v []float64) float64 { return stat.Quantile(p, stat.Empirical, v, nil) }
	constant := draw(Constant(0.2))
	near("constant", constant[0], 0.2, 0)
	near("constant", constant[n-1], 0.2, 0)
	// Tolerances are four standard errors.
	uniform := draw(Uniform{2, 5})
	near("mean of the uniform", stat.Mean(uniform, nil), 3.5, 4*3/math.Sqrt(12*n))
	expect.That(t, uniform[0] >= 2 && uniform[n-1] < 5, "uniform in [%v, %v], want [2, 5)", uniform[0], uniform[n-1])
	normal := draw(LogNormal{Median: 0.05, Sigma: 0.5})
	near("log of the median", math.Log(quantile(0.5, normal)), math.Log(0.05), 4*0.5*1.2533/math.Sqrt(n))
	near("log of the upper σ", math.Log(quantile(0.8413, normal)), math.Log(0.05)+0.5, 4*0.5*1.52/math.Sqrt(n))
	classes := draw(TwoClasses{Fast: 1, Slow: 2, Share: 0.3})
	near("mean of two classes", stat.Mean(classes, nil), 1.3, 4*math.Sqrt(0.21/n))
}

// Every class has its share of the clients, at random places.
func TestMixedShares(t *testing.T) {
	rule := Mixed{Classes: []Class{{2, Devices{Up: Constant(1)}}, {1, Devices{Up: Constant(2)}}, {7, Devices{Up: Constant(3)}}}}
	for n, want := range map[int][]int{100: {20, 10, 70}, 10: {2, 1, 7}, 3: {1, 0, 2}, 1: {0, 0, 1}} {
		got, sorted, last := make([]int, 3), true, 0.0
		for _, d := range must(rule.Draw(n)) {
			got[int(d.Up)-1]++
			sorted, last = sorted && d.Up >= last, d.Up
		}
		expect.That(t, slices.Equal(got, want) && (n != 100 || !sorted),
			"%d clients: %v of the classes (in order: %v), want %v", n, got, sorted, want)
	}
}

func TestGiven(t *testing.T) {
	rule := Given{{PerExample: 1}, {PerExample: 2}}
	devices := must(rule.Draw(2))
	devices[0].PerExample = 9
	expect.That(t, rule[0].PerExample == 1 && devices[1].PerExample == 2 && rule.String() == "2 devices, given", "%v draws %v", rule, devices)
}

func TestRefusals(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		rule Rule
		want string
	}{
		{Devices{PerExample: Constant(-1)}, "PerExample: Constant = -1: must be a number ≥ 0"},
		{Devices{Up: Uniform{Low: -1}}, "Up: Uniform.Low = -1: must be a number ≥ 0"},
		{Devices{Up: Uniform{Low: 2, High: 1}}, "Up: Uniform.High = 1: must be a number ≥ 2, which is Low"},
		{Devices{Down: LogNormal{Median: nan}}, "Down: LogNormal.Median = NaN: must be a number ≥ 0"},
		{Devices{Down: LogNormal{Median: 1, Sigma: -1}}, "Down: LogNormal.Sigma = -1: must be a number ≥ 0"},
		{Devices{Down: LogNormal{Median: 1, Sigma: 1e9}}, "Down = +Inf: must be a number ≥ 0"},
		{Devices{Latency: TwoClasses{Share: 1.5}}, "Latency: TwoClasses.Share = 1.5: must be in [0, 1]"},
		{Devices{Latency: TwoClasses{Slow: nan}}, "Latency: TwoClasses.Slow = NaN: must be a number ≥ 0"},
		{Devices{Drop: Constant(1)}, "Drop = 1: must be in [0, 1)"},
		{Devices{Reference: -1}, "Reference = -1: must be a number ≥ 0"},
		{Devices{OnFor: Constant(5)}, "OnFor = 5, OffFor = <nil>: must be both set, or none"},
		{Devices{OnFor: Constant(0), OffFor: Constant(5)}, "client 0: OnFor = 0: must be > 0, or the device is never on"},
		{Mixed{}, "Classes = []: must be at least one class"},
		{Mixed{Classes: []Class{{0, Devices{}}}}, "Classes[0].Share = 0: must be a number > 0"},
		{Mixed{Classes: []Class{{1, nil}}}, "Classes[0].Of = nil: must be a rule"},
		{Mixed{Classes: []Class{{1, Devices{Up: Constant(-1)}}}}, "Classes[0].Of: sim.Devices: Up: Constant = -1: must be a number ≥ 0"},
		{Given{{}}, "1 devices: must be 3, one per client"},
		{Given{{}, {}, {Up: -1}}, "client 2: Up = -1: must be a number ≥ 0"},
		{Trace{File: "testdata/none.csv"}, "open testdata/none.csv: no such file or directory"},
		{Trace{File: "testdata/devices.csv", Period: 5}, "On.Period = 5: must be 0 or a number ≥ 115200, the end of the last interval"},
	} {
		_, err := test.rule.Draw(3)
		expect.That(t, err != nil && strings.Contains(err.Error(), test.want) && strings.HasPrefix(err.Error(), "sim."), "%v: %v, want %q", test.rule, err, test.want)
	}
}

func TestReadTrace(t *testing.T) {
	devices := must(Trace{File: "testdata/devices.csv"}.Draw(3))
	want := []Device{
		{PerExample: 0.02, Down: 1e6, Up: 2e5, Latency: 0.05, On: Hours{[]Interval{{0, 28800}, {86400, 115200}}, 115200}},
		{PerExample: 0.15, Down: 5e5, Up: 1e5, Latency: 0.2, On: Hours{[]Interval{{28800, 57600}}, 115200}},
		{PerExample: 0.01, Down: 1e7, Up: 1e7, Latency: 0.01},
	}
	expect.That(t, reflect.DeepEqual(devices, want), "%+v, want %+v", devices, want)
	longer := must(Trace{File: "testdata/devices.csv", Period: 172800}.Draw(2))
	expect.That(t, longer[1].On.Next(60000) == 172800+28800, "%+v: on next at %v", longer[1], longer[1].On.Next(60000))
	all, err := ReadTrace(strings.NewReader(" drop,reference \n0.5, 1e6\n"))
	expect.That(t, err != nil, "a column named %q is read as %+v", "reference ", all)
	all, err = ReadTrace(strings.NewReader("drop, reference\n0.5, 1e6\n"))
	expect.That(t, err == nil && reflect.DeepEqual(all, []Device{{Drop: 0.5, Reference: 1e6}}), "%+v, %v", all, err)
}

func TestTracesWithHoles(t *testing.T) {
	const columns = "must be per_example, reference, down, up, latency, drop or on"
	for _, test := range []struct{ csv, want string }{
		{"", "is empty: must have a header"},
		{"up\n", "has no rows: must have one per device"},
		{"up,speed\n1,2\n", `line 1: column "speed": ` + columns},
		{"\n\nup,\n1,2\n", `line 3: column "": ` + columns},
		{"up,up\n1,2\n", `line 1: column "up": must be there once`},
		{"up,down\n1,2\n3,\n", `line 3: down = "": must be a number ≥ 0`},
		{"up,down\n1,2\n3\n", "record on line 3: wrong number of fields"},
		{"up\n-1\n", `line 2: up = "-1": must be a number ≥ 0`},
		{"up\nNaN\n", `line 2: up = "NaN": must be a number ≥ 0`},
		{"up\n1e999\n", `line 2: up = "1e999": must be a number ≥ 0`},
		{"up\nfast\n", `line 2: up = "fast": must be a number ≥ 0`},
		{"drop\n1\n", "line 2: Drop = 1: must be in [0, 1)"},
		{"up,on\n1,\n", `line 2: on = "": must be "always", or intervals such as 0:28800`},
		{"on\n5\n", `line 2: on = "5": "5": must be two numbers ≥ 0, from:to`},
		{"on\n0:5 5:x\n", `line 2: on = "0:5 5:x": "5:x": must be two numbers ≥ 0, from:to`},
		{"on\n0:5 4:6\n", "line 2: On.Intervals[1].From = 4: must be ≥ 5, the end of the interval before it"},
		{"on\n5:5\n", "line 2: On.Intervals[0].To = 5: must be a number > 5, at which it begins"},
		{"up\n\"1\n", `extraneous or missing " in quoted-field`},
	} {
		expect.Error(t, test.want)(ReadTrace(strings.NewReader(test.csv)))
	}
	long := strings.Repeat("x", 1e6)
	for _, csv := range []string{long + "\n", "up\n" + long + "\n", "on\n" + long + "\n", "on\n0:1 " + long + "\n"} {
		_, err := ReadTrace(strings.NewReader(csv))
		expect.That(t, err != nil && len(err.Error()) <= 3000, "%.200v", err)
	}
	expect.Error(t, "sim.Trace: testdata/devices.csv has 3 rows: must have at least 4, one per client")(Trace{File: "testdata/devices.csv"}.Draw(4))
}

// Whatever a file holds, ReadTrace returns an error or valid devices.
func FuzzReadTrace(f *testing.F) {
	for _, csv := range []string{
		"per_example,down,up,latency,on\n0.02,1e6,2e5,0.05,0:28800 86400:115200\n0.15,5e5,1e5,0.2,always\n",
		"drop,reference\n0.5,0x1p-2\n", "on\n0:1e-300 1:1e300\n", "up\n\n\"\n", "up,up\nNaN,-1\n",
	} {
		f.Add(csv)
	}
	f.Fuzz(func(t *testing.T, csv string) {
		var devices []Device
		var err error
		bounds.Check(t, len(csv), func() { devices, err = ReadTrace(strings.NewReader(csv)) })
		if err != nil {
			return
		}
		if err := checkAll(devices); err != nil || len(devices) == 0 {
			t.Fatalf("%+v is read without an error: %v", devices, err)
		}
		for _, d := range devices {
			next := d.On.Next(1)
			expect.Must(t, next >= 1 && !math.IsNaN(d.On.Finish(next, 10)) && d.On.Finish(next, 10) >= next,
				"%+v: on next at %v, work ends at %v", d, next, d.On.Finish(next, 10))
		}
	})
}

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
		expect.That(t, test.got == test.want, "%s: %v s, want %v", test.name, test.got, test.want)
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
	expect.That(t, math.Abs(dropped/n-0.3) <= 0.015 && math.Abs(share/dropped-0.5) <= 0.015,
		"%v drop out, after %v of their work; want 0.3 and 0.5", dropped/n, share/dropped)
	at := (Device{}).Dropout(rng)
	expect.That(t, at == 1, "a device with Drop = 0 drops out after %v", at)
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
		err := test.device.Check()
		expect.That(t, err == nil && test.want == "" || err != nil && err.Error() == test.want, "%+v: %v, want %q", test.device, err, test.want)
	}
}

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
		next := test.hours.Next(test.at)
		expect.That(t, next == test.next, "%v: on next after %v at %v, want %v", test.hours, test.at, next, test.next)
		end := test.hours.Finish(test.at, test.work)
		expect.That(t, end == test.finished, "%v: %v s of work from %v end at %v, want %v", test.hours, test.work, test.at, end, test.finished)
	}
}

// Work takes as long as the device is on between its beginning and its end, which is at no moment when it is off; and two
// pieces, one after the other, end when both as one do.
func TestHoursKeepTime(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		h := randomHours(rng)
		err := h.Check()
		expect.OK(t, err)
		at, work := 50*rng.Float64(), 100*rng.Float64()
		end := h.Finish(at, work)
		got := onBetween(h, at, end)
		expect.Must(t, math.Abs(got-work) <= 1e-9, "%v: %v s of work from %v end at %v: it is on for %v", h, work, at, end, got)
		again := h.Finish(h.Finish(at, work/3), work-work/3)
		expect.Must(t, math.Abs(again-end) <= 1e-9, "%v: from %v, %v s of work end at %v, in two pieces at %v", h, at, work, end, again)
		next := h.Next(at)
		expect.Must(t, next >= at && onBetween(h, at, next) <= 1e-9 && h.Next(next) == next && h.Finish(at, 0) == next,
			"%v: on next after %v at %v", h, at, next)
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
		expect.Outcome(t, "")(h.Check())
		on := onBetween(h, 20, 30)
		expect.That(t, math.Abs(on-3) <= 1e-9 && h.Next(phase) == phase && (h.Finish(phase, 3) == phase+3 || math.Abs(h.Finish(phase, 3)-phase-3) <= 1e-9),
			"phase %v: %v: on for %v in 10 s, want 3", phase, h, on)
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
				end := h.Finish(at, work)
				expect.That(t, !(end < at), "%v: %v s of work from %v end at %v", h, work, at, end)
			}
		}
	}
}
