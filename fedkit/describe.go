package fedkit

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/measure"
	"fedkit.example/fedkit/internal/nested"
	"fedkit.example/fedkit/internal/source"
	"fedkit.example/fedkit/internal/stopping"
	"fedkit.example/fedkit/internal/xla"
)

// Describe returns the history that Run would begin with. It has everything that identifies the run, and no rounds: the
// strategy with all its options and parts, the task, the data, the options that change results, seed, device, and the
// version of the code. It checks all that can be checked before a run; nothing is computed.
//
// Neither fedkit's version nor the hardware identifies a run. Code holds the version, a hash of fedkit's source files (or
// its module version if there are none), and a hash of your own code that the strategy, its parts or the model are made of, which a
// study compares too, or why that cannot be seen.
//
// Errors: options that Run refuses; a federation whose data, clients or task were changed after it was made.
func Describe(fed *Federation, s Strategy, o Options) (*History, error) {
	u, _, err := describe(fed, s, o)
	if err != nil {
		return nil, err
	}
	return u.h, nil
}

// describe first checks the run, and then says what identifies it. It also returns the strategy and those it wraps.
func describe(fed *Federation, s Strategy, o Options) (u *underway, all []Strategy, err error) {
	name := ""
	defer func() {
		if err != nil {
			err = fmt.Errorf("fedkit: %s%w", name, err)
		}
	}()
	defer fault.Recovered("", &err) // in a method of a part
	if err := fed.made(); err != nil {
		return nil, nil, err
	}
	if all, err = nested.All(s); err != nil {
		return nil, nil, err
	}
	strategy := config.Of(all[len(all)-1]).Name()
	name = strategy + ": "
	if err := fed.unchanged(); err != nil {
		return nil, nil, err
	}
	u = &underway{fed: fed, opts: Defaults(o)}
	if u.stop, err = checkRun(fed, all, o); err != nil {
		return nil, nil, err
	}
	if _, err := xla.Backend(); err != nil {
		return nil, nil, err
	}
	if u.h, err = fed.identity(s, o); err != nil {
		return nil, nil, err
	}
	u.h.Strategy, u.h.Name = strategy, cmp.Or(o.Name, strategy)
	if o.Checkpoint != "" {
		err = cmp.Or(u.h.Complete(), nested.CheckStates(all))
	}
	return u, all, err
}

// identity returns a history with what identifies a run, but for its strategy's name.
func (f *Federation) identity(s Strategy, o Options) (h *History, err error) {
	m := f.Manifest()
	h = &History{Config: config.Of(s), Settings: o.Config(), Data: f.Data.Name, Partition: f.Rule, Model: f.Task.Name, Clients: f.Size(), Params: f.Task.Dim(), Seed: o.Seed,
		Manifest: &m, Device: xla.Device(), Hardware: xla.Hardware(), Types: config.Types(s, o.Metrics, f.interceptors), Code: source.Of(s, o.Metrics, f.interceptors)}
	if f.interceptors != nil {
		h.Interceptors = config.Of(f.interceptors)
	}
	own, unseen := source.Own(graphsOf(f.Task))
	if unseen != "" && source.Unseen(h.Code) == "" {
		h.Code += "; unseen Federation.Task." + unseen
	}
	if f.Devices != nil {
		devices := slices.Concat(f.Devices, f.edges)
		if f.Server != nil {
			devices = append(devices, f.Server.Devices...)
		}
		h.Devices, h.DevicesHash = config.Of(f.deviceRule), hashDevices(devices)
	}
	if o.Workers != nil {
		if h.Device, h.Hardware, err = o.Workers.Device(); err != nil {
			return nil, err
		}
	}
	h.Task, err = f.fingerprint(f.batches(s), own)
	return h, err
}

// graphsOf are the functions that a task is made of. What they captured is in their graphs.
func graphsOf(t *Task) (all struct{ Init, Forward, Loss, Accuracy, Train, Features, Code any }) {
	all.Init, all.Forward, all.Loss, all.Accuracy, all.Train, all.Features, all.Code = t.Init, t.Forward, t.Loss, t.Accuracy, t.Train, t.Features, t.Code
	return all
}

// checkRun checks the options of a run and those of its strategy, and returns when the run ends.
func checkRun(fed *Federation, all []Strategy, o Options) (*stopping.Rule, error) {
	if isNil(reflect.ValueOf(o.Watch)) {
		return nil, Invalid("Options.Watch", fmt.Sprintf("nil %T", o.Watch), "a value, or left out for none")
	}
	if isNil(reflect.ValueOf(o.Workers)) {
		return nil, Invalid("Options.Workers", fmt.Sprintf("nil %T", o.Workers), "workers, or left out for none")
	}
	away := o.Workers != nil
	o.Watch, o.Workers = nil, nil // not parts to check
	if err := check("Options", o, fed, 0); err != nil {
		return nil, err
	}
	if err := measure.Check(o.Metrics); err != nil {
		return nil, err
	}
	stop, err := o.earlyRule(fed)
	if err != nil {
		return nil, err
	}
	if o.History != "" && filepath.Clean(o.History) == filepath.Clean(o.Checkpoint) {
		return nil, Invalid("Options.History", o.History, "another file than Options.Checkpoint")
	}
	if fed.wrong != nil {
		return nil, fed.wrong
	}
	for _, by := range fed.interceptors {
		if err := check("", by, fed, 0); err != nil {
			return nil, err
		}
	}
	n, err := cohort(all, fed.Size())
	if err != nil {
		return nil, err
	}
	if err := check("", all[0], fed, n); err != nil {
		return nil, err
	}
	if err := fed.fitsRun(all, n); err != nil && !away { // the workers' memory is not known here
		return nil, err
	}
	return stop, nil
}

// fingerprint is task.Fingerprint for the federation's data and the given batch sizes, beside those that every task is traced for.
func (f *Federation) fingerprint(batches []int, own string) (sum string, err error) {
	defer fault.Recovered("model", &err)
	f.lazy.mu.Lock()
	defer f.lazy.mu.Unlock()
	return f.lazy.prints.Of(f.Task, f.Data, batches, own, Random(0, "fingerprint"))
}

// batches returns the batch sizes of a strategy and its parts, capped at the largest client's examples, in ascending order.
func (f *Federation) batches(s Strategy) (sizes []int) {
	most := 0
	for _, rows := range f.lazy.rows {
		most = max(most, len(rows))
	}
	_ = config.WalkAll(s, func(_ string, part any) error {
		if l, is := part.(Local); is {
			part = l.WithDefaults()
		}
		if b, _ := config.Field(part, "Batch"); b.IsValid() && b.Kind() == reflect.Int && b.Int() != 0 {
			size := min(int(b.Int()), most)
			if b.Int() == FullBatch {
				size = most
			}
			sizes = append(sizes, size)
		}
		return nil
	})
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// unchanged refuses a federation that was changed after it was made: its data may be on the device already, its programs compiled,
// and its results would be stored under the identity of the original.
func (f *Federation) unchanged() error {
	for _, g := range []*Federation{f, f.Unseen, f.Server} {
		if g == nil {
			continue
		}
		if err := g.origin.Unchanged(g.Data, g.Clients, g.Task); err != nil {
			return err
		}
	}
	return nil
}
