package fedkit

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"reflect"
	"slices"
	"unsafe"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/engine"
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

// fingerprint identifies a task on the federation's data: the SHA-256, in hexadecimal, of its parameters' names and shapes, of
// initial values, and of its StableHLO for a few examples, for the evaluation blocks, and for the given batch sizes. Models that
// compute different things have different fingerprints, whatever their names. A task that no longer computes what it did is refused.
func (f *Federation) fingerprint(batches []int) (sum string, err error) {
	defer fault.Recovered("model", &err)
	f.lazy.mu.Lock()
	defer f.lazy.mu.Unlock()
	h := sha256.New()
	for _, p := range f.Task.Params {
		fmt.Fprintf(h, "%q %v\n", p.Name, p.Shape)
	}
	e := f.Task.forEngine()
	for _, batch := range slices.Concat([]int{trialBatch}, engine.Blocks, batches) {
		sum, known := f.lazy.texts[batch]
		if !known || batch == trialBatch {
			text, err := e.Text(f.Data, batch, f.Task.Features)
			if err != nil {
				return "", fmt.Errorf("task %s: %w", f.Task.Name, err)
			}
			is := sha256.Sum256(text)
			if known && is != sum {
				return "", Invalid("Federation.Task", "changed", "one that computes what it did before, since programs are compiled once: fedkit.New takes a model that makes another task")
			}
			f.lazy.texts[batch], sum = is, is
		}
		h.Write(sum[:])
	}
	if f.lazy.first == "" {
		if f.lazy.first, err = f.Task.firstSum(); err != nil {
			return "", err
		}
	}
	h.Write([]byte(f.lazy.first))
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// firstSum returns the SHA-256 of initial parameters.
func (t *Task) firstSum() (string, error) {
	first, err := t.start(Random(0, "fingerprint"))
	if err != nil {
		return "", fmt.Errorf("task %s: Init: %w", t.Name, err)
	}
	h := sha256.New()
	if err := binary.Write(h, binary.LittleEndian, first); err != nil {
		return "", err
	}
	return string(h.Sum(nil)), nil
}

// batches returns the batch sizes of a strategy and its parts, capped at the largest client's examples, in ascending order.
func (f *Federation) batches(s Strategy) (sizes []int) {
	most := 0
	for _, rows := range f.lazy.rows {
		most = max(most, len(rows))
	}
	_ = config.Walk(s, func(_ string, part any) error {
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

// origin holds hashes of what a federation was made from, through pointers and slices, to detect later changes. They take a few
// milliseconds for MNIST, and are valid in this process only.
type origin struct {
	data    [3]uint64 // training part, test part, the rest
	clients uint64
	task    uint64
	kept    Task // keeps the task's closures alive, so that no other function gets the address of one
}

func originOf(d *datasets.Dataset, clients []partition.Client, t *Task) *origin {
	return &origin{[3]uint64{sumOf(d.Train), sumOf(d.Test), sumOf([]any{d.Shape, d.Classes, d.Groups})}, sumOf(clients), sumOf(*t), *t}
}

// unchanged refuses a federation that was changed after it was made: its data may be on the device already, its programs compiled,
// and its results would be stored under the identity of the original.
func (f *Federation) unchanged() error {
	was, is := f.origin, originOf(f.Data, f.Clients, f.Task)
	for _, part := range []struct {
		name   string
		same   bool
		remedy string
	}{
		{"Federation.Data.Train", was.data[0] == is.data[0], "WithData has a copy in its place"},
		{"Federation.Data.Test", was.data[1] == is.data[1], "WithData has a copy in its place"},
		{"Federation.Data", was.data[2] == is.data[2], "fedkit.New takes other data"},
		{"Federation.Clients", was.clients == is.clients, "partition.Given and fedkit.New take other clients, HoldOut leaves some out"},
		{"Federation.Task", was.task == is.task, "fedkit.New takes a model that makes another task"},
	} {
		if !part.same {
			return Invalid(part.name, "changed", "what it was when the federation was made: "+part.remedy)
		}
	}
	if f.Unseen != nil {
		return f.Unseen.unchanged()
	}
	return nil
}

var sumSeed = maphash.MakeSeed()

// sumOf returns a hash of a value made of numbers, strings, functions and pointers (by address), and slices and structs of them.
func sumOf(v any) uint64 {
	var h maphash.Hash
	h.SetSeed(sumSeed)
	addTo(&h, reflect.ValueOf(v))
	return h.Sum64()
}

func addTo(h *maphash.Hash, v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
	case reflect.Struct:
		for _, f := range v.Fields() {
			addTo(h, f)
		}
	case reflect.Slice:
		maphash.WriteComparable(h, v.Len())
		if k := v.Type().Elem().Kind(); k >= reflect.Bool && k <= reflect.Complex128 {
			_, _ = h.Write(unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*int(v.Type().Elem().Size())))
			return
		}
		for i := range v.Len() {
			addTo(h, v.Index(i))
		}
	case reflect.Interface:
		addTo(h, v.Elem())
	case reflect.Func: // the closure's address, not the code's: closures of one function may capture different values
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		maphash.WriteComparable(h, *(*uintptr)(p.UnsafePointer()))
	case reflect.Pointer:
		maphash.WriteComparable(h, v.Pointer())
	default:
		maphash.WriteComparable(h, v.Interface())
	}
}
