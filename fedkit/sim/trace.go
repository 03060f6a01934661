package sim

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit/internal/text"
)

// Trace has the devices of a file, as ReadTrace reads it: client i has that of row i, unless Shuffle is set.
type Trace struct {
	File    string  // path of the CSV file
	Period  float64 // s after which each device's hours repeat; default: the latest end in the file
	Shuffle bool    // take the rows in random order, each at most once
	Seed    uint64  // chooses the order
}

// Draw returns n devices. It fails if the file cannot be read, something is wrong with it, or it has fewer than n rows.
func (r Trace) Draw(n int) (devices []Device, err error) {
	defer within("sim.Trace", &devices, &err)
	if err := checkClients(n); err != nil {
		return nil, err
	}
	f, err := os.Open(r.File)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	devices, err = ReadTrace(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.File, err)
	}
	if len(devices) < n {
		return nil, fmt.Errorf("%s has %d rows: must have at least %d, one per client", r.File, len(devices), n)
	}
	if r.Period != 0 {
		repeat(devices, r.Period)
	}
	if r.Shuffle {
		stream(r.Seed, "trace").Shuffle(len(devices), func(i, j int) { devices[i], devices[j] = devices[j], devices[i] })
	}
	return devices[:n:n], checkAll(devices[:n])
}

// String returns "trace devices.csv", and the seed unless it is 0.
func (r Trace) String() string {
	return strings.Join(append([]string{"trace " + r.File}, seeded(r.Seed)...), ", ")
}

// column returns the quantity in a column of a trace, or nil.
func column(name string) *quantity {
	for i := range quantities {
		if quantities[i].column == name {
			return &quantities[i]
		}
	}
	return nil
}

// ReadTrace reads devices from comma-separated values: a header, then one row per device. The columns are the fields of
// Device, in any order and in its units. Those that are left out are 0.
//
//	per_example, reference, down, up, latency, drop
//		a number ≥ 0
//	on
//		"always", or from:to for each interval in which the device is on, in order: "0:28800 86400:115200"
//
// A trace ends at the latest end of an interval, of any device. From then on, the hours of all devices repeat.
//
// It fails if a column is unknown or is there twice, a cell is empty or not a number, a device does not pass its Check, or
// there is no row. The error names the line, the column, the value and what is allowed.
func ReadTrace(r io.Reader) (devices []Device, err error) {
	if r == nil {
		return nil, errors.New("is nil: must be an io.Reader")
	}
	in := csv.NewReader(r)
	in.TrimLeadingSpace = true
	header, err := in.Read()
	if err == io.EOF {
		return nil, errors.New("is empty: must have a header")
	} else if err != nil {
		return nil, err
	}
	inLine := func(err error) error {
		line, _ := in.FieldPos(0)
		return fmt.Errorf("line %d: %w", line, err)
	}
	for k, name := range header {
		if column(name) == nil && name != "on" {
			return nil, inLine(fmt.Errorf("column %q: must be per_example, reference, down, up, latency, drop or on", text.Short(name)))
		}
		if slices.Contains(header[:k], name) {
			return nil, inLine(fmt.Errorf("column %q: must be there once", name))
		}
	}
	end := 0.0
	for {
		row, err := in.Read()
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		d, err := readDevice(header, row)
		if err != nil {
			return nil, inLine(err)
		}
		if n := len(d.On.Intervals); n > 0 {
			end = max(end, d.On.Intervals[n-1].To)
		}
		devices = append(devices, d)
	}
	if devices == nil {
		return nil, errors.New("has no rows: must have one per device")
	}
	repeat(devices, end)
	return devices, nil
}

func readDevice(header, row []string) (d Device, err error) {
	for k, name := range header {
		cell := strings.TrimSpace(row[k])
		if name == "on" {
			d.On.Intervals, err = readIntervals(cell)
		} else {
			*column(name).of(&d), err = readNumber(cell)
		}
		if err != nil {
			return d, fmt.Errorf("%s = %q: %w", name, text.Short(cell), err)
		}
	}
	return d, d.Check()
}

// readNumber refuses NaN and Inf too, which ParseFloat knows.
func readNumber(word string) (float64, error) {
	v, err := strconv.ParseFloat(word, 64)
	if err != nil || checkNumber("", v) != nil {
		return 0, errors.New("must be a number ≥ 0")
	}
	return v, nil
}

func readIntervals(cell string) (on []Interval, err error) {
	if cell == "always" {
		return nil, nil
	}
	for word := range strings.FieldsSeq(cell) {
		from, to, _ := strings.Cut(word, ":")
		var i Interval
		if i.From, err = readNumber(from); err == nil {
			i.To, err = readNumber(to)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: must be two numbers ≥ 0, from:to", text.Short(word))
		}
		on = append(on, i)
	}
	if on == nil {
		return nil, errors.New(`must be "always", or intervals such as 0:28800; a device that is never on does no work`)
	}
	return on, nil
}

// repeat makes the hours of all devices that have any repeat after a period.
func repeat(devices []Device, period float64) {
	for i := range devices {
		if on := &devices[i].On; len(on.Intervals) > 0 {
			on.Period = period
		}
	}
}
