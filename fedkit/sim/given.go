package sim

import (
	"fmt"
	"slices"
)

// Given lists the devices by hand, client by client.
//
//	sim.Given{{PerExample: 0.01}, {PerExample: 0.1, Up: 1e5}}
type Given []Device

// Draw returns a copy of the devices. It fails unless there is one per client, and each passes its Check.
func (r Given) Draw(n int) ([]Device, error) {
	if len(r) != n {
		return nil, fmt.Errorf("sim.Given: %d devices: must be %d, one per client", len(r), n)
	}
	if err := checkAll(r); err != nil {
		return nil, fmt.Errorf("sim.Given: %w", err)
	}
	return slices.Clone(r), nil
}

// String returns "3 devices, given".
func (r Given) String() string { return fmt.Sprintf("%d devices, given", len(r)) }
