package sim

import (
	"fmt"
	"math"
	"strings"
)

// Devices draws each quantity of each device on its own. A quantity that is left out is 0, as in Device: it takes no time,
// or has no limit.
//
// Client i has the same device however many there are. Each quantity has random numbers of its own, so changing one leaves
// the others as they are.
type Devices struct {
	PerExample Distribution // s for the forward and backward pass of one training example
	Reference  float64      // floating-point operations of this pass; 0: of the model that is trained
	Down, Up   Distribution // bytes/s
	Latency    Distribution // s, each message, in either direction
	Drop       float64      // chance, in [0, 1), to drop out in the middle of a piece of work

	// A device is on for OnFor seconds and off for OffFor seconds, in turns, and starts anywhere in its turn. Default:
	// always on.
	OnFor, OffFor Distribution

	Seed uint64
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
	if (r.OnFor == nil) != (r.OffFor == nil) {
		return nil, fmt.Errorf("OnFor = %v, OffFor = %v: must be both set, or none", r.OnFor, r.OffFor)
	}
	devices, on, off := make([]Device, n), make([]float64, n), make([]float64, n)
	for i := range devices {
		devices[i].Reference, devices[i].Drop = r.Reference, r.Drop
	}
	for _, q := range []struct {
		field string
		of    Distribution
		value func(i int) *float64
	}{
		{"PerExample", r.PerExample, func(i int) *float64 { return &devices[i].PerExample }},
		{"Down", r.Down, func(i int) *float64 { return &devices[i].Down }},
		{"Up", r.Up, func(i int) *float64 { return &devices[i].Up }},
		{"Latency", r.Latency, func(i int) *float64 { return &devices[i].Latency }},
		{"OnFor", r.OnFor, func(i int) *float64 { return &on[i] }},
		{"OffFor", r.OffFor, func(i int) *float64 { return &off[i] }},
	} {
		if err := fill(q.field, q.of, r.Seed, n, q.value); err != nil {
			return nil, err
		}
	}
	if err := r.switchOn(devices, on, off); err != nil {
		return nil, err
	}
	return devices, checkAll(devices)
}

// fill draws a quantity of all devices.
func fill(field string, of Distribution, seed uint64, n int, value func(i int) *float64) error {
	if of == nil {
		return nil
	}
	rng := stream(seed, field)
	for i := range n {
		v, err := of.Draw(rng)
		if err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		if err := checkNumber(field, v); err != nil {
			return fmt.Errorf("client %d: %w", i, err)
		}
		*value(i) = v
	}
	return nil
}

// switchOn sets when devices are on.
func (r Devices) switchOn(devices []Device, on, off []float64) error {
	if r.OnFor == nil {
		return nil
	}
	rng := stream(r.Seed, "phase")
	for i := range devices {
		phase := rng.Float64()
		if !(on[i] > 0) {
			return fmt.Errorf("client %d: OnFor = %v: must be > 0, or the device is never on", i, on[i])
		}
		if period := on[i] + off[i]; off[i] > 0 {
			devices[i].On = alternate(on[i], off[i], phase*period)
		}
	}
	return nil
}

// String returns "s per example 0.01, bytes/s up 1e+06, seed 7", of what is set.
func (r Devices) String() string {
	var parts []string
	for _, q := range []struct {
		name string
		of   Distribution
	}{{"s per example", r.PerExample}, {"bytes/s down", r.Down}, {"bytes/s up", r.Up}, {"s latency", r.Latency}, {"s on", r.OnFor}, {"s off", r.OffFor}} {
		if q.of != nil {
			parts = append(parts, fmt.Sprintf("%s %v", q.name, q.of))
		}
	}
	if r.Drop != 0 {
		parts = append(parts, fmt.Sprintf("%v %% drop out", math.Round(1e4*r.Drop)/100))
	}
	if parts == nil {
		parts = []string{"without delay"}
	}
	return strings.Join(append(parts, seeded(r.Seed)...), ", ")
}

func checkClients(n int) error {
	if n < 1 {
		return fmt.Errorf("%d clients: must be at least 1", n)
	}
	return nil
}

func checkAll(devices []Device) error {
	for i, d := range devices {
		if err := d.Check(); err != nil {
			return fmt.Errorf("client %d: %w", i, err)
		}
	}
	return nil
}
