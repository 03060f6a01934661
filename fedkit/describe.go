package fedkit

import (
	"cmp"
	"fmt"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/source"
	"fedkit.example/fedkit/internal/xla"
)

// Describe returns the history that Run would begin with. It has everything that identifies the run, and no rounds: the
// strategy with all its options and parts, the task, the data, the options that change results, seed, device, and the
// version of the code. All that can be checked before a run is; nothing is computed.
//
// Neither fedkit's version nor the hardware identifies a run. Code has the version, a hash of fedkit's source files (or
// its version as a module if they are not there), and a hash of the declarations that a strategy or part of your own is made
// of, which a study compares too.
//
// A federation whose data, clients or task are not what they were when it was made is refused.
func Describe(fed *Federation, s Strategy, o Options) (*History, error) {
	h, _, err := describe(fed, s, o)
	return h, err
}

// describe also returns the strategy and those it wraps.
func describe(fed *Federation, s Strategy, o Options) (h *History, all []Strategy, err error) {
	name := ""
	defer func() {
		if err != nil {
			h, err = nil, fmt.Errorf("fedkit: %s%w", name, err)
		}
	}()
	defer fault.Recovered("", &err) // in a method of a part
	if err := fed.made(); err != nil {
		return nil, nil, err
	}
	if all, err = unwrap(s); err != nil {
		return nil, nil, err
	}
	h = &History{Config: config.Of(s), Settings: o.settings(), Data: fed.Data.Name, Partition: fed.Rule, Model: fed.Task.Name, Clients: fed.Size(), Params: fed.Task.Dim(), Seed: o.Seed}
	h.Strategy = config.Of(all[len(all)-1]).Name()
	h.Name = cmp.Or(o.Name, h.Strategy)
	name = h.Strategy + ": "
	if fed.interceptors != nil {
		h.Interceptors = config.Of(fed.interceptors)
	}
	if err := fed.unchanged(); err != nil {
		return nil, nil, err
	}
	if err := checkRun(fed, all, o, h); err != nil {
		return nil, nil, err
	}
	if _, err := xla.Backend(); err != nil {
		return nil, nil, err
	}
	m := fed.Manifest()
	h.Manifest, h.Device, h.Hardware = &m, xla.Device(), xla.Hardware()
	h.Code = source.Of(s, o.Metrics, fed.interceptors)
	if fed.Devices != nil {
		h.Devices, h.DevicesHash = config.Of(fed.deviceRule), hashDevices(fed.Devices)
	}
	if o.On != nil {
		if h.Device, h.Hardware, err = o.On.Device(); err != nil {
			return nil, nil, err
		}
	}
	h.Types = config.Types(s, o.Metrics, fed.interceptors)
	h.Task, err = fed.fingerprint(fed.batches(s))
	return h, all, err
}

// settings are Options by the name that they have in configurations: that of all which are not tagged `results:"same"`. A configuration
// leaves out what is zero, so a new option does not change what is known of runs without it.
type settings Options

func (o Options) settings() *config.Config {
	o.EvalEvery = cmp.Or(o.EvalEvery, 1)
	o.Seed = 0 // History.Seed has it
	return config.Of(settings(o))
}
