package study

import (
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/sim"
)

// World is everything a federation is made of. Nothing is loaded before a run needs it.
type World struct {
	Data      Data           // examples
	Partition partition.Rule // deals them to clients
	Model     Model          // to train: study.Of(model.MLP, 200)
	HoldOut   HeldOut        // hold-out clients; default none
	Devices   sim.Rule       // simulated devices of clients; default: a run without a clock
	Attack    Attackers      // malicious clients; default none

	files map[string]string // SHA-256 of the files that it names, by path: see Trial.reading
	code  string            // hash of the code of your own components; "" for fedkit's
}

// Data is a data set that is loaded or made when it is needed, such as datasets.Name("mnist") or a datasets.CSV.
type Data interface {
	Make() (*datasets.Dataset, error) // loads it, or makes it
}

// HeldOut are hold-out clients, which never take part and are only evaluated: see fedkit.Federation.HoldOut.
type HeldOut struct {
	Clients int    // how many
	Seed    uint64 // draws them
}

// Attackers are a share of the clients, drawn by a seed: see attack.Apply.
type Attackers struct {
	By    attack.Attack // what they do
	Share float64       // of the clients, in (0, 1]
	Seed  uint64        // draws them
}

// Federation loads the data and deals them to the clients.
//
// Errors: a field that is missing or wrong, by its name; data that cannot be loaded.
func (w World) Federation() (*fedkit.Federation, error) {
	for _, s := range []struct {
		field, such string
		missing     bool
	}{
		{"World.Data", `datasets.Name("digits")`, w.Data == nil}, {"World.Partition", "partition.IID{Clients: 20}", w.Partition == nil},
		{"World.Model", "study.Of(model.MLP, 64)", w.Model.make == nil},
		{"World.Attack.By", "attack.SignFlip{}", w.Attack.By == nil && (w.Attack.Share != 0 || w.Attack.Seed != 0)},
	} {
		if s.missing {
			return nil, fedkit.Invalid(s.field, "nothing", "given, such as "+s.such)
		}
	}
	build, err := w.Model.make()
	if err != nil {
		return nil, err
	}
	data, err := w.Data.Make()
	if err != nil {
		return nil, err
	}
	fed, err := fedkit.New(data, w.Partition, build)
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
	return attack.Apply(fed, w.Attack.Share, w.Attack.By, w.Attack.Seed)
}
