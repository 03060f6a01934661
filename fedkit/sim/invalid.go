package sim

import (
	"fmt"
	"math"
)

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
