package sim

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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

// Given lists the devices by hand, client by client.
//
//	sim.Given{{PerExample: 0.01}, {PerExample: 0.1, Up: 1e5}}
type Given []Device

// Draw returns a copy of the devices. It fails unless there is one per client, and each passes its Check.
func (r Given) Draw(n int) (devices []Device, err error) {
	defer within("sim.Given", &devices, &err)
	if len(r) != n {
		return nil, fmt.Errorf("%d devices: must be %d, one per client", len(r), n)
	}
	return slices.Clone(r), checkAll(r)
}

// String returns "3 devices, given".
func (r Given) String() string { return fmt.Sprintf("%d devices, given", len(r)) }

// A Distribution draws one quantity of a device.
type Distribution interface {
	// Draw returns a number ≥ 0. It fails if a field is out of range.
	Draw(rng *rand.Rand) (float64, error)
}

// Constant is the same for all devices.
type Constant float64

// Draw returns the constant.
func (c Constant) Draw(*rand.Rand) (float64, error) {
	return float64(c), checkNumber("Constant", float64(c))
}

// String returns "0.01".
func (c Constant) String() string { return fmt.Sprintf("%v", float64(c)) }

// Uniform is drawn from [Low, High).
type Uniform struct {
	Low, High float64 // 0 ≤ Low ≤ High
}

// Draw returns Low + u·(High − Low), u ~ U[0, 1).
func (u Uniform) Draw(rng *rand.Rand) (float64, error) {
	if err := checkNumber("Uniform.Low", u.Low); err != nil {
		return 0, err
	}
	if !(u.High >= u.Low && u.High <= math.MaxFloat64) {
		return 0, invalid("Uniform.High", u.High, fmt.Sprintf("a number ≥ %v, which is Low", u.Low))
	}
	return u.Low + rng.Float64()*(u.High-u.Low), nil
}

// String returns "0.01 to 0.1".
func (u Uniform) String() string { return fmt.Sprintf("%v to %v", u.Low, u.High) }

// LogNormal has a normal logarithm: Median·exp(Sigma·z), z ~ N(0, 1). Measured speeds and rates of phones look like this.
type LogNormal struct {
	Median float64 // half of the devices are above it
	Sigma  float64 // σ ≥ 0 of the logarithm; at 1, one device in six has e times the median or more
}

// Draw returns Median·exp(Sigma·z).
func (l LogNormal) Draw(rng *rand.Rand) (float64, error) {
	if err := checkNumber("LogNormal.Median", l.Median); err != nil {
		return 0, err
	}
	return l.Median * math.Exp(l.Sigma*rng.NormFloat64()), checkNumber("LogNormal.Sigma", l.Sigma)
}

// String returns "log-normal, median 0.01, σ = 1".
func (l LogNormal) String() string {
	return fmt.Sprintf("log-normal, median %v, σ = %v", l.Median, l.Sigma)
}

// TwoClasses is one of two values. Quantities are independent; for devices that are slow in all respects, see Mixed.
type TwoClasses struct {
	Fast, Slow float64 // the two values
	Share      float64 // probability of Slow, in [0, 1]
}

// Draw returns Slow with probability Share, and Fast otherwise.
func (c TwoClasses) Draw(rng *rand.Rand) (float64, error) {
	if err := cmp.Or(checkNumber("TwoClasses.Fast", c.Fast), checkNumber("TwoClasses.Slow", c.Slow)); err != nil {
		return 0, err
	}
	if !(c.Share >= 0 && c.Share <= 1) {
		return 0, invalid("TwoClasses.Share", c.Share, "in [0, 1]")
	}
	if rng.Float64() < c.Share {
		return c.Slow, nil
	}
	return c.Fast, nil
}

// String returns "0.01, or 0.1 for 20 %".
func (c TwoClasses) String() string {
	return fmt.Sprintf("%v, or %v for %v %%", c.Fast, c.Slow, math.Round(1e4*c.Share)/100)
}
