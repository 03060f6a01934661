package sim

import (
	"fmt"
	"math/rand/v2"
)

// Device is what one client trains on. The zero value takes no time and is always on.
type Device struct {
	PerExample float64 // s for the forward and backward pass of one training example
	Reference  float64 // floating-point operations of this pass; 0: those of the trained model
	Down       float64 // bytes/s of downloads; 0: no limit
	Up         float64 // bytes/s of uploads; 0: no limit
	Latency    float64 // s per message, in either direction; no bytes are no message
	Drop       float64 // probability, in [0, 1), of dropping out before an update arrives
	On         Hours   // availability; work and messages wait while it is off
}

// Receive returns the seconds that a message of this many bytes takes to reach the device: Latency + bytes/Down, or 0 without any bytes.
func (d Device) Receive(bytes float64) float64 { return d.travel(bytes, d.Down) }

// Send returns the seconds that a message of this many bytes takes from the device: Latency + bytes/Up, or 0 without any bytes.
func (d Device) Send(bytes float64) float64 { return d.travel(bytes, d.Up) }

func (d Device) travel(bytes, rate float64) float64 {
	switch {
	case bytes == 0: // nothing is sent
		return 0
	case rate == 0:
		return d.Latency
	}
	return d.Latency + bytes/rate
}

// Compute returns the seconds that training takes on this many examples, counted once per epoch, with a model whose
// forward and backward pass takes this many floating-point operations per example:
//
//	examples · PerExample · operations/Reference
//
// Without a Reference, the last factor is 1.
func (d Device) Compute(examples, operations float64) float64 {
	if d.Reference == 0 {
		return examples * d.PerExample
	}
	return examples * d.PerExample * (operations / d.Reference)
}

// Dropout returns the share of a job's time, from download to upload, after which the device drops out: uniform in [0, 1)
// with probability Drop, else 1, all of it. It always draws two numbers from rng.
func (d Device) Dropout(rng *rand.Rand) float64 {
	chance, share := rng.Float64(), rng.Float64()
	if chance < d.Drop {
		return share
	}
	return 1
}

// Check reports the first field that is out of range: a negative time or rate, NaN, Inf, a probability outside [0, 1), or
// hours that are out of order.
func (d Device) Check() error {
	if !(d.Drop >= 0 && d.Drop < 1) {
		return invalid("Drop", d.Drop, "in [0, 1)")
	}
	for _, q := range quantities {
		if err := checkNumber(q.field, *q.of(&d)); err != nil {
			return err
		}
	}
	if err := d.On.Check(); err != nil {
		return fmt.Errorf("On.%w", err)
	}
	return nil
}
