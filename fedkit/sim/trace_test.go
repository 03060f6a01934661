package sim

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/bounds"
)

func TestReadTrace(t *testing.T) {
	devices := must(Trace{File: "testdata/devices.csv"}.Draw(3))
	want := []Device{
		{PerExample: 0.02, Down: 1e6, Up: 2e5, Latency: 0.05, On: Hours{[]Interval{{0, 28800}, {86400, 115200}}, 115200}},
		{PerExample: 0.15, Down: 5e5, Up: 1e5, Latency: 0.2, On: Hours{[]Interval{{28800, 57600}}, 115200}},
		{PerExample: 0.01, Down: 1e7, Up: 1e7, Latency: 0.01},
	}
	if !reflect.DeepEqual(devices, want) {
		t.Errorf("%+v, want %+v", devices, want)
	}
	longer := must(Trace{File: "testdata/devices.csv", Period: 172800}.Draw(2))
	if longer[1].On.Next(60000) != 172800+28800 {
		t.Errorf("%+v: on next at %v", longer[1], longer[1].On.Next(60000))
	}
	all, err := ReadTrace(strings.NewReader(" drop,reference \n0.5, 1e6\n"))
	if err == nil {
		t.Errorf("a column named %q is read as %+v", "reference ", all)
	}
	all, err = ReadTrace(strings.NewReader("drop, reference\n0.5, 1e6\n"))
	if err != nil || !reflect.DeepEqual(all, []Device{{Drop: 0.5, Reference: 1e6}}) {
		t.Errorf("%+v, %v", all, err)
	}
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
		if _, err := ReadTrace(strings.NewReader(test.csv)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.csv, err, test.want)
		}
	}
	long := strings.Repeat("x", 1e6)
	for _, csv := range []string{long + "\n", "up\n" + long + "\n", "on\n" + long + "\n", "on\n0:1 " + long + "\n"} {
		if _, err := ReadTrace(strings.NewReader(csv)); err == nil || len(err.Error()) > 3000 {
			t.Errorf("%.200v of %d bytes", err, len(said(err)))
		}
	}
	_, err := Trace{File: "testdata/devices.csv"}.Draw(4)
	if want := "sim.Trace: testdata/devices.csv has 3 rows: must have at least 4, one per client"; said(err) != want {
		t.Errorf("%v, want %q", err, want)
	}
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
			if next := d.On.Next(1); next < 1 || math.IsNaN(d.On.Finish(next, 10)) || d.On.Finish(next, 10) < next {
				t.Fatalf("%+v: on next at %v, work ends at %v", d, next, d.On.Finish(next, 10))
			}
		}
	})
}
