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
// version of the code. It checks all that can be checked before a run; nothing is computed.
//
// Neither fedkit's version nor the hardware identifies a run. Code holds the version, a hash of fedkit's source files (or
// its module version if there are none), and a hash of the declarations of your own strategy or parts, which a study compares
// too.
//
// Errors: options that Run refuses; a federation whose data, clients or task were changed after it was made.
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

// settings gives Options its type name in configurations, which leave out fields tagged `results:"same"` and zero values. So a new
// option does not change the identity of earlier runs.
type settings Options

func (o Options) settings() *config.Config {
	o.EvalEvery = cmp.Or(o.EvalEvery, 1)
	o.Seed = 0 // it is in History.Seed
	return config.Of(settings(o))
}
