package sim

import (
	"fmt"
	"strings"
)

// Devices draws each quantity of each device independently. A quantity that is left out is 0, as in Device: it takes no
// time, or has no limit.
//
// Client i's device does not depend on the number of devices. Each quantity has its own random stream, so that changing one
// leaves the others as they are.
type Devices struct {
	PerExample Distribution // s for the forward and backward pass of one training example
	Reference  float64      // floating-point operations of this pass; 0: those of the trained model
	Down, Up   Distribution // bytes/s
	Latency    Distribution // s per message, in either direction
	Drop       Distribution // probability, in [0, 1), of dropping out before an update arrives

	// A device alternates between OnFor seconds on and OffFor seconds off, from a random phase. Default: always on.
	OnFor, OffFor Distribution

	Seed uint64 // chooses all that is drawn
}

// Draw returns n devices. It fails if a field is out of range, or a distribution draws a number that is.
func (r Devices) Draw(n int) (devices []Device, err error) {
	defer within("sim.Devices", &devices, &err)
	if err := checkClients(n); err != nil {
		return nil, err
	}
	devices = make([]Device, n)
	for i := range devices {
		devices[i].Reference = r.Reference
	}
	for _, q := range quantities {
		values, err := r.values(q.field, q.from(r), n)
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			*q.of(&devices[i]) = v
		}
	}
	if err := r.switchOn(devices); err != nil {
		return nil, err
	}
	return devices, checkAll(devices)
}

// quantity is a number of a Device.
type quantity struct {
	field, column, words string // in Device, in a trace, in the description of Devices
	of                   func(d *Device) *float64
	from                 func(r Devices) Distribution // nil: not set
}

var quantities = []quantity{
	{"PerExample", "per_example", "s per example", func(d *Device) *float64 { return &d.PerExample }, func(r Devices) Distribution { return r.PerExample }},
	{"Reference", "reference", "", func(d *Device) *float64 { return &d.Reference }, func(Devices) Distribution { return nil }},
	{"Down", "down", "bytes/s down", func(d *Device) *float64 { return &d.Down }, func(r Devices) Distribution { return r.Down }},
	{"Up", "up", "bytes/s up", func(d *Device) *float64 { return &d.Up }, func(r Devices) Distribution { return r.Up }},
	{"Latency", "latency", "s latency", func(d *Device) *float64 { return &d.Latency }, func(r Devices) Distribution { return r.Latency }},
	{"Drop", "drop", "chance to drop out", func(d *Device) *float64 { return &d.Drop }, func(r Devices) Distribution { return r.Drop }},
}

// values draws a number ≥ 0 for each of n devices, or none.
func (r Devices) values(field string, from Distribution, n int) (values []float64, err error) {
	if from == nil {
		return nil, nil
	}
	rng := stream(r.Seed, field)
	values = make([]float64, n)
	for i := range values {
		if values[i], err = from.Draw(rng); err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		if err := checkNumber(field, values[i]); err != nil {
			return nil, fmt.Errorf("client %d: %w", i, err)
		}
	}
	return values, nil
}

// switchOn sets the devices' hours.
func (r Devices) switchOn(devices []Device) error {
	if (r.OnFor == nil) != (r.OffFor == nil) {
		return fmt.Errorf("OnFor = %v, OffFor = %v: must be both set, or none", r.OnFor, r.OffFor)
	}
	on, err := r.values("OnFor", r.OnFor, len(devices))
	if err != nil {
		return err
	}
	off, err := r.values("OffFor", r.OffFor, len(devices))
	if err != nil {
		return err
	}
	rng := stream(r.Seed, "phase")
	for i := range on {
		phase := rng.Float64() * (on[i] + off[i])
		switch {
		case on[i] == 0:
			return fmt.Errorf("client %d: %w", i, invalid("OnFor", 0, "> 0, or the device is never on"))
		case off[i] > 0:
			devices[i].On = alternate(on[i], off[i], phase)
		}
	}
	return nil
}

// String returns "s per example 0.01, bytes/s up 100000, seed 7", of the fields that are set.
func (r Devices) String() string {
	var parts []string
	add := func(words string, from Distribution) {
		if from != nil {
			parts = append(parts, fmt.Sprintf("%s %v", words, from))
		}
	}
	for _, q := range quantities {
		add(q.words, q.from(r))
	}
	add("s on", r.OnFor)
	add("s off", r.OffFor)
	if parts == nil {
		parts = []string{"without delay"}
	}
	return strings.Join(append(parts, seeded(r.Seed)...), ", ")
}
