package fedkit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/sim"
)

// On returns the same federation with a device for each client, drawn by the rule: runs on it are timed by a simulated clock, see
// Pace. It may be called before or after HoldOut. Without devices, runs have no clock.
//
//	fed, err = fed.On(sim.Devices{PerExample: sim.LogNormal{Median: 0.01, Sigma: 1}, Up: sim.Constant(1e6)})
func (f *Federation) On(rule sim.Rule) (*Federation, error) {
	if err := f.made(); err != nil {
		return nil, fmt.Errorf("fedkit: devices: %w", err)
	}
	if err := checkNils("devices", rule); err != nil || rule == nil {
		return nil, fmt.Errorf("fedkit: devices: %w", cmp.Or(err, Invalid("rule", "nil", "a sim.Rule")))
	}
	devices, words, err := drawDevices(rule, f.Size())
	if err != nil {
		return nil, fmt.Errorf("fedkit: devices: %w", err)
	}
	g := *f
	g.Devices, g.deviceRule, g.Rule = devices, rule, f.Rule+"; devices: "+words
	return &g, nil
}

// drawDevices asks a rule for its devices and its description.
func drawDevices(rule sim.Rule, n int) (devices []sim.Device, words string, err error) {
	defer fault.Recovered("rule", &err)
	if devices, err = rule.Draw(n); err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if len(devices) != n {
		return nil, "", Invalid("what the rule drew", fmt.Sprintf("%d devices", len(devices)), fmt.Sprintf("%d, one per client", n))
	}
	for i, d := range devices {
		if err := d.Check(); err != nil {
			return nil, "", fmt.Errorf("client %d: %w: %w", i, ErrInvalid, err)
		}
	}
	return devices, rule.String(), nil
}

// hashDevices returns the SHA-256 of devices, in hexadecimal. The rule alone does not identify them: it may read a file.
func hashDevices(devices []sim.Device) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(devices) // plain numbers, already checked
	return hex.EncodeToString(h.Sum(nil))
}

// devices returns the clients' devices; nil if the round is not timed: the federation has none, or it is an evaluation.
func (r *Round) devices() []sim.Device {
	if r.quiet {
		return nil
	}
	return r.Fed.Devices
}

// Estimate returns the seconds that a client needs to receive a model, to train for one epoch, and to send a model, while its
// device is on. Without devices, they are 0.
func (r *Round) Estimate(client int) (receive, epoch, send float64) {
	if r.devices() == nil {
		return 0, 0, 0
	}
	d, model := &r.Fed.Devices[client], float64(4*r.Fed.Task.Dim())
	return d.Receive(model), d.Compute(float64(len(r.Fed.Clients[client].Train)), r.clock.operations), d.Send(model)
}
