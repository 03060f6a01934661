// Package experiment describes runs and studies in YAML files or on the command line. The same files are run by the command
// fedkit, over ssh and for hours, and read in a notebook:
//
//	grid, err := experiment.ReadGrid("study.yaml")
//	found, err := grid.Find("runs", "study.runs") // what fedkit study has stored
package experiment

import (
	"fmt"
	"os"
	"reflect"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/catalog"
	"fedkit.example/fedkit/internal/text"
	"fedkit.example/fedkit/internal/yaml"
	"fedkit.example/fedkit/sim"
)

// Experiment is everything a run needs.
type Experiment struct {
	Strategy fedkit.Strategy // the algorithm, with its options
	World                    // its federation
	Options  fedkit.Options  // of the run
}

// World is everything a federation is made of.
type World struct {
	Data      catalog.Data   // examples
	Partition partition.Rule // deals them to clients
	Model     catalog.Model  // to train
	HoldOut   HeldOut        // hold-out clients; default none
	Devices   sim.Rule       // simulated devices of clients; default: a run without a clock
	Attack    Attackers      // malicious clients; default none

	files map[string]string // SHA-256 of the files that it names, by path: see Trial.reading
	code  string            // hash of the code of your own components; "" for fedkit's
}

// HeldOut are hold-out clients, which never take part and are only evaluated: see fedkit.Federation.HoldOut.
type HeldOut struct {
	Clients int    // how many
	Seed    uint64 // draws them
}

// Attackers are a share of the clients, drawn by a seed: see attack.Apply.
type Attackers struct {
	By    attack.Attack // what they do
	Share *float64      // of the clients, in [0, 1]
	Seed  uint64        // draws them
}

// check refuses an attack of which only one half is given, which would have no effect.
func (a Attackers) check() error {
	switch {
	case a.By == nil && (a.Share != nil || a.Seed != 0):
		return fedkit.Invalid("attack.By", "nothing", "given, such as SignFlip")
	case a.By != nil && a.Share == nil:
		return fedkit.Invalid("attack.Share", "nothing", "given: a share of the clients in [0, 1]")
	}
	return nil
}

// Build makes an experiment from a tree with the sections strategy, data, partition, model, holdout, devices, attack and options,
// as catalog.Build takes it. Nothing is loaded. The error names the option and what is allowed.
func Build(tree map[string]any) (*Experiment, error) {
	e, err := catalog.Build[*Experiment](tree)
	if err != nil {
		return nil, err
	}
	for _, s := range []struct {
		field, such string
		missing     bool
	}{
		{"strategy", "FedAvg", e.Strategy == nil}, {"data", "Digits", e.Data == nil},
		{"partition", "IID Clients=20", e.Partition == nil}, {"model", "MLP Hidden=64", e.Model == nil},
	} {
		if s.missing {
			return nil, fedkit.Invalid(s.field, "nothing", "given, such as "+s.such)
		}
	}
	return e, e.Attack.check()
}

// Federation loads the data and deals them to the clients.
func (w World) Federation() (*fedkit.Federation, error) {
	data, err := w.Data.Make()
	switch {
	case err != nil && len(catalog.Options(reflect.TypeOf(w.Data))) > 0: // data that are made can only have wrong options
		return nil, fmt.Errorf("%w: %w", fedkit.ErrInvalid, err)
	case err != nil:
		return nil, err
	}
	fed, err := fedkit.New(data, w.Partition, w.Model.Model())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fedkit.ErrInvalid, err)
	}
	if w.HoldOut != (HeldOut{}) {
		if fed, err = fed.HoldOut(w.HoldOut.Clients, w.HoldOut.Seed); err != nil {
			return nil, err
		}
	}
	if w.Devices != nil {
		if fed, err = fed.WithDevices(w.Devices); err != nil {
			return nil, err
		}
	}
	if w.Attack.By == nil {
		return fed, nil
	}
	return attack.Apply(fed, *w.Attack.Share, w.Attack.By, w.Attack.Seed)
}

// ReadTree reads a YAML file as a tree for Build. Errors: a file that is no map, is not YAML, or is larger than any written by
// hand: 1 MiB, or 100,000 values, expanded aliases included.
func ReadTree(path string) (tree map[string]any, err error) {
	file, err := readFile(path)
	if file == nil || err != nil {
		return nil, err
	}
	return yaml.Plain(file).(map[string]any), nil
}

// readFile reads a YAML file, which must have sections; nil for an empty one.
func readFile(path string) (yaml.Map, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fedkit.ErrInvalid, err)
	}
	v, err := yaml.Read(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", fedkit.ErrInvalid, path, text.ShortError(err))
	}
	file, is := v.(yaml.Map)
	if !is && v != nil {
		return nil, fedkit.Invalid(path, fmt.Sprintf("a %T", v), "sections with their names")
	}
	return file, nil
}
