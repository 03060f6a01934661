// Package sim describes the clients' devices for runs in simulated time: compute speed, bandwidth, availability and
// dropout. Nothing here sleeps or reads a clock.
//
//	devices     Devices draws each quantity independently, Mixed has classes, Trace reads a file; Given, by hand
//	quantities  Constant, Uniform, LogNormal, TwoClasses
//	time        Clock, which runs keep themselves
//
// A rule is written as a literal. The same rule and seed give everyone the same devices.
//
//	sim.Devices{PerExample: sim.LogNormal{Median: 0.01, Sigma: 1}, Up: sim.Uniform{Low: 1e5, High: 1e6}, Seed: 1}
//
// Times are in seconds, sizes in bytes and rates in bytes per second.
package sim

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
)

// A Rule draws the devices of a federation's clients.
type Rule interface {
	// Draw returns n devices, that of client i at i. The same rule (with the same Seed) gives the same devices every time.
	Draw(n int) ([]Device, error)
	// String describes the rule in a few words.
	String() string
}

// stream returns the random numbers for one purpose (at most 24 bytes), so that drawing more for one does not shift those
// of another.
func stream(seed uint64, purpose string) *rand.Rand {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	copy(key[8:], purpose)
	return rand.New(rand.NewChaCha8(key))
}

// seeded returns "seed 7", or nothing for seed 0.
func seeded(seed uint64) []string {
	if seed == 0 {
		return nil
	}
	return []string{fmt.Sprintf("seed %d", seed)}
}

// invalid is the error for a field: its value, and what is allowed.
func invalid(field string, value any, allowed string) error {
	return fmt.Errorf("%s = %v: must be %s", field, value, allowed)
}

// checkNumber refuses a negative number, NaN and Inf.
func checkNumber(field string, v float64) error {
	if !(v >= 0 && v <= math.MaxFloat64) {
		return invalid(field, v, "a number ≥ 0")
	}
	return nil
}

// checkClients refuses fewer than one client.
func checkClients(n int) error {
	if n < 1 || n > 1<<24 {
		return invalid("clients", n, "in [1, 2²⁴]")
	}
	return nil
}

// checkAll reports the first device that does not pass its Check.
func checkAll(devices []Device) error {
	for i, d := range devices {
		if err := d.Check(); err != nil {
			return fmt.Errorf("client %d: %w", i, err)
		}
	}
	return nil
}

// within names the rule in the error of its Draw, which then returns no devices; for use with defer.
func within(rule string, devices *[]Device, err *error) {
	if *err != nil {
		*devices, *err = nil, fmt.Errorf("%s: %w", rule, *err)
	}
}
