package sim

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

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
			if err != nil || len(devices) != 3 || checkAll(devices) != nil {
				t.Fatalf("%v, %v", devices, err)
			}
			again, err := rule.Draw(3)
			if err != nil || !reflect.DeepEqual(devices, again) {
				t.Errorf("the second draw differs, or %v", err)
			}
			other, err := rules(2)[k].Draw(3)
			if err != nil || reflect.DeepEqual(devices, other) {
				t.Errorf("another seed gives the same devices, or %v", err)
			}
			if _, err := rule.Draw(0); err == nil {
				t.Error("no devices at all are drawn without an error")
			}
		})
	}
}

// A client's device depends neither on how many there are nor on quantities that others have.
func TestDevicesKeepTheirDraws(t *testing.T) {
	rule := rules(1)[0].(Devices)
	few, _ := rule.Draw(5)
	many, err := rule.Draw(50)
	if err != nil || !reflect.DeepEqual(few, many[:5]) {
		t.Errorf("the first 5 of 50 devices differ from 5, or %v", err)
	}
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
		if math.Abs(got-want) > tolerance {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	quantile := func(p float64, v []float64) float64 { return stat.Quantile(p, stat.Empirical, v, nil) }
	constant := draw(Constant(0.2))
	near("constant", constant[0], 0.2, 0)
	near("constant", constant[n-1], 0.2, 0)
	// Tolerances are four standard errors.
	uniform := draw(Uniform{2, 5})
	near("mean of the uniform", stat.Mean(uniform, nil), 3.5, 4*3/math.Sqrt(12*n))
	if uniform[0] < 2 || uniform[n-1] >= 5 {
		t.Errorf("uniform in [%v, %v], want [2, 5)", uniform[0], uniform[n-1])
	}
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
		if !slices.Equal(got, want) || n == 100 && sorted {
			t.Errorf("%d clients: %v of the classes (in order: %v), want %v", n, got, sorted, want)
		}
	}
}

func TestGiven(t *testing.T) {
	rule := Given{{PerExample: 1}, {PerExample: 2}}
	devices := must(rule.Draw(2))
	devices[0].PerExample = 9
	if rule[0].PerExample != 1 || devices[1].PerExample != 2 || rule.String() != "2 devices, given" {
		t.Errorf("%v draws %v", rule, devices)
	}
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
		if _, err := test.rule.Draw(3); err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "sim.") {
			t.Errorf("%v: %v, want %q", test.rule, err, test.want)
		}
	}
}
