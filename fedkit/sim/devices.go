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
func (r Devices) Draw(n int) ([]Device, error) {
	devices, err := r.draw(n)
	if err != nil {
		return nil, fmt.Errorf("sim.Devices: %w", err)
	}
	return devices, nil
}

func (r Devices) draw(n int) ([]Device, error) {
	if err := checkClients(n); err != nil {
		return nil, err
	}
	devices := make([]Device, n)
	for i := range devices {
		devices[i].Reference = r.Reference
	}
	for _, q := range r.quantities() {
		values, err := q.draw(n, r.Seed)
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

// quantity is a field of Device and its distribution.
type quantity struct {
	field, words string
	from         Distribution // nil: not set
	of           func(d *Device) *float64
}

func (r Devices) quantities() []quantity {
	return []quantity{
		{"PerExample", "s per example", r.PerExample, func(d *Device) *float64 { return &d.PerExample }},
		{"Down", "bytes/s down", r.Down, func(d *Device) *float64 { return &d.Down }},
		{"Up", "bytes/s up", r.Up, func(d *Device) *float64 { return &d.Up }},
		{"Latency", "s latency", r.Latency, func(d *Device) *float64 { return &d.Latency }},
		{"Drop", "chance to drop out", r.Drop, func(d *Device) *float64 { return &d.Drop }},
	}
}

// draw returns a number ≥ 0 for each device, [n], or none.
func (q quantity) draw(n int, seed uint64) (values []float64, err error) {
	if q.from == nil {
		return nil, nil
	}
	rng := stream(seed, q.field)
	values = make([]float64, n)
	for i := range values {
		if values[i], err = q.from.Draw(rng); err != nil {
			return nil, fmt.Errorf("%s: %w", q.field, err)
		}
		if err := checkNumber(q.field, values[i]); err != nil {
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
	on, err := quantity{field: "OnFor", from: r.OnFor}.draw(len(devices), r.Seed)
	if err != nil {
		return err
	}
	off, err := quantity{field: "OffFor", from: r.OffFor}.draw(len(devices), r.Seed)
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
	for _, q := range append(r.quantities(), quantity{words: "s on", from: r.OnFor}, quantity{words: "s off", from: r.OffFor}) {
		if q.from != nil {
			parts = append(parts, fmt.Sprintf("%s %v", q.words, q.from))
		}
	}
	if parts == nil {
		parts = []string{"without delay"}
	}
	return strings.Join(append(parts, seeded(r.Seed)...), ", ")
}
