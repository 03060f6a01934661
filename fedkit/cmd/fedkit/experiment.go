package main

import (
	"fmt"
	"os"
	"reflect"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/catalog"
	"fedkit.example/fedkit/sim"
	"github.com/goccy/go-yaml"
)

// experiment is all that a run needs, as it is written down.
type experiment struct {
	Strategy fedkit.Strategy
	world
	Options fedkit.Options
}

// world is what a federation is made of.
type world struct {
	Data      catalog.Data
	Partition partition.Rule
	Model     catalog.Model
	HoldOut   heldOut
	Devices   sim.Rule
	Attack    attackers
}

// heldOut are clients that never take part, and are scored: see fedkit.Federation.HoldOut.
type heldOut struct {
	Clients int
	Seed    uint64
}

// attackers are a share of the clients, drawn with a seed: see attack.On.
type attackers struct {
	By    attack.Attack
	Share *float64
	Seed  uint64
}

// check refuses an attack of which only one half is given, and that would then be none.
func (a attackers) check() error {
	switch {
	case a.By == nil && (a.Share != nil || a.Seed != 0):
		return fedkit.Invalid("attack.By", "nothing", "given, such as SignFlip")
	case a.By != nil && a.Share == nil:
		return fedkit.Invalid("attack.Share", "nothing", "given: a share of the clients in [0, 1]")
	}
	return nil
}

// newExperiment makes an experiment of a tree. Nothing is loaded.
func newExperiment(tree map[string]any) (*experiment, error) {
	e, err := catalog.Build[*experiment](tree)
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

// federation loads the data and deals it out.
func (w world) federation() (*fedkit.Federation, error) {
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
	if w.HoldOut != (heldOut{}) {
		if fed, err = fed.HoldOut(w.HoldOut.Clients, w.HoldOut.Seed); err != nil {
			return nil, err
		}
	}
	if w.Devices != nil {
		if fed, err = fed.On(w.Devices); err != nil {
			return nil, err
		}
	}
	if w.Attack.By == nil {
		return fed, nil
	}
	return attack.On(fed, *w.Attack.Share, w.Attack.By, w.Attack.Seed)
}

// readFile reads a YAML file. A key of a struct that it does not have is an error.
func readFile(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%w: %w", fedkit.ErrInvalid, err)
	}
	if err := yaml.UnmarshalWithOptions(text, into, yaml.DisallowUnknownField()); err != nil {
		return fmt.Errorf("%w: %s: %w", fedkit.ErrInvalid, path, err)
	}
	return nil
}
