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
func (r Given) Draw(n int) (devices []Device, err error) {
	defer within("sim.Given", &devices, &err)
	if len(r) != n {
		return nil, fmt.Errorf("%d devices: must be %d, one per client", len(r), n)
	}
	return slices.Clone(r), checkAll(r)
}

// String returns "3 devices, given".
func (r Given) String() string { return fmt.Sprintf("%d devices, given", len(r)) }
