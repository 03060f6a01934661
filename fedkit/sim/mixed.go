package sim

import (
	"fmt"
	"math"
	"strings"

	"fedkit.example/fedkit/config"
)

// Mixed has classes of devices, such as phones and computers, each drawn by a rule for a share of the clients. Clients are
// assigned to classes at random.
//
//	sim.Mixed{Classes: []sim.Class{
//		{Share: 0.8, Of: sim.Devices{PerExample: sim.Constant(0.1), Up: sim.Constant(1e5)}},
//		{Share: 0.2, Of: sim.Devices{PerExample: sim.Constant(0.01), Up: sim.Constant(1e7)}},
//	}}
type Mixed struct {
	Classes []Class // at least one
	Seed    uint64  // assigns clients to classes
}

// Class is a class of devices.
type Class struct {
	Share float64 // of the clients, > 0, relative to the sum of all shares
	Of    Rule    // draws the devices of the class
}

// Draw returns n devices: of each class, its share of n rounded to whole clients. It fails if there is no class, a share is
// out of range, or a rule fails.
func (r Mixed) Draw(n int) (devices []Device, err error) {
	defer within("sim.Mixed", &devices, &err)
	if err := checkClients(n); err != nil {
		return nil, err
	}
	if len(r.Classes) == 0 {
		return nil, invalid("Classes", "[]", "at least one class")
	}
	if _, _, cycle := config.Unset(r); cycle {
		return nil, invalid("Classes", "a rule that contains itself", "rules that do not")
	}
	all := 0.0
	for k, c := range r.Classes {
		if !(c.Share > 0 && c.Share <= math.MaxFloat64) {
			return nil, invalid(fmt.Sprintf("Classes[%d].Share", k), c.Share, "a number > 0")
		}
		if c.Of == nil {
			return nil, invalid(fmt.Sprintf("Classes[%d].Of", k), "nil", "a rule")
		}
		all += c.Share
	}
	sum := 0.0
	for k, c := range r.Classes {
		sum += c.Share
		m := int(math.Round(sum/all*float64(n))) - len(devices)
		if m == 0 {
			continue
		}
		drawn, err := c.Of.Draw(m)
		if err != nil {
			return nil, fmt.Errorf("Classes[%d].Of: %w", k, err)
		}
		devices = append(devices, drawn...)
	}
	stream(r.Seed, "classes").Shuffle(n, func(i, j int) { devices[i], devices[j] = devices[j], devices[i] })
	return devices, nil
}

// String returns "0.8 × (s per example 0.1), 0.2 × (s per example 0.01)", and the seed unless it is 0.
func (r Mixed) String() string {
	var parts []string
	if _, _, cycle := config.Unset(r); cycle {
		return "a mixture that contains itself"
	}
	for _, c := range r.Classes {
		parts = append(parts, fmt.Sprintf("%v × (%v)", c.Share, c.Of))
	}
	return strings.Join(append(parts, seeded(r.Seed)...), ", ")
}
