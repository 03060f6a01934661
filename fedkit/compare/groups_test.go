package compare

import (
	"fmt"
	"slices"
	"testing"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
)

// A strategy with options, as in configurations.
type (
	FedAvg struct {
		Local    struct{ LR float64 }
		Selector any
		Noise    struct{ Seed uint64 }
	}
	Softmax struct {
		By   int
		Seed uint64
	}
)

// with returns a run of FedAvg with an option set, and scores that follow from seed and rate.
func with(seed uint64, lr float64) *history.History {
	s := FedAvg{}
	s.Local.LR = lr
	h := seeded(seed, ran("FedAvg", 0.5+lr+float64(seed)/100))
	h.Config, h.Data, h.Partition, h.Model = config.Of(s), "digits", "20 clients, IID", "MLP-64"
	return h
}

// changed modifies with(1, 0.1) and returns it.
func changed(change func(*history.History)) *history.History {
	h := with(1, 0.1)
	change(h)
	return h
}

// dealtBy returns a run on a federation that was dealt with a seed.
func dealtBy(seed uint64, words, clients string) *history.History {
	return changed(func(h *history.History) {
		h.Partition = words
		h.Manifest = &partition.Manifest{Rule: words, Config: config.Of(partition.Noise{Of: partition.IID{Clients: 20, Seed: seed}, Seed: seed}), Data: clients, Clients: clients}
		h.Seed = seed
	})
}

// selecting returns a run whose strategy has a part with its own seed.
func selecting(seed uint64, by int, partSeed uint64) *history.History {
	return changed(func(h *history.History) { h.Seed, h.Config = seed, config.Of(FedAvg{Selector: Softmax{by, partSeed}}) })
}

// Only seeds of one configuration merge, and names that collide say what differs.
func TestGroups(t *testing.T) {
	one := with(0, 0.1)
	for what, c := range map[string]struct {
		runs []*history.History
		want []string
	}{
		"seeds":                        {[]*history.History{one, with(1, 0.1), with(2, 0.1)}, []string{"FedAvg: 3"}},
		"learning rates":               {[]*history.History{with(0, 0.001), one, with(1, 0.001)}, []string{"FedAvg, Local.LR 0.001: 2", "FedAvg, Local.LR 0.1: 1"}},
		"an option that is set in one": {[]*history.History{with(0, 0), one}, []string{"FedAvg: 1", "FedAvg, Local {LR: 0.1}: 1"}},
		"parts": {[]*history.History{selecting(0, 0, 0), selecting(0, 2, 0), one},
			[]string{"FedAvg, Selector compare.Softmax: 1", "FedAvg, Selector compare.Softmax{By: 2}: 1", "FedAvg, Local {LR: 0.1}: 1"}},
		"seeds of a part": {[]*history.History{selecting(0, 2, 1), selecting(1, 2, 2), selecting(1, 2, 3)}, []string{"FedAvg: 3"}},
		"a part with nothing but a seed": {[]*history.History{one, changed(func(h *history.History) {
			s := FedAvg{Noise: struct{ Seed uint64 }{3}}
			s.Local.LR = 0.1
			h.Config = config.Of(s)
		})}, []string{"FedAvg: 2"}},
		"strategies":          {[]*history.History{one, changed(func(h *history.History) { h.Config = config.Of(Softmax{}) })}, []string{"FedAvg, compare.FedAvg, Local {LR: 0.1}: 1", "FedAvg, compare.Softmax: 1"}},
		"data":                {[]*history.History{one, changed(func(h *history.History) { h.Data = "mnist" })}, []string{"FedAvg, digits: 1", "FedAvg, mnist: 1"}},
		"models":              {[]*history.History{one, changed(func(h *history.History) { h.Model = "MLP-32" })}, []string{"FedAvg, MLP-64: 1", "FedAvg, MLP-32: 1"}},
		"sizes":               {[]*history.History{one, changed(func(h *history.History) { h.Params = 7 })}, []string{"FedAvg, 0 parameters: 1", "FedAvg, 7 parameters: 1"}},
		"partitions":          {[]*history.History{one, dealtBy(1, "20 clients, Dirichlet α = 0.1, seed 1", "a")}, []string{"FedAvg, 20 clients, IID: 1", "FedAvg, 20 clients, Dirichlet α = 0.1: 1"}},
		"seeds of partitions": {[]*history.History{dealtBy(1, "noise, seed 1", "a"), dealtBy(2, "noise, seed 2", "b")}, []string{"FedAvg: 2"}},
		"rules, the same in words": {[]*history.History{dealtBy(1, "noise", "a"), changed(func(h *history.History) {
			h.Partition, h.Manifest = "noise", &partition.Manifest{Config: config.Of(partition.IID{Clients: 20}), Data: "a", Clients: "a"}
		})}, []string{"FedAvg, partition.Noise, Of partition.IID{Clients: 20, Seed: 1}: 1", "FedAvg, partition.IID, Clients 20: 1"}},
		"examples, the same in words": {[]*history.History{dealtBy(1, "noise, seed 1", "a"), dealtBy(1, "noise, seed 1", "b")}, []string{"FedAvg (1): 1", "FedAvg (2): 1"}},
		"tasks, and the device that computed them": {[]*history.History{
			changed(func(h *history.History) { h.Task, h.Device = "a", "cpu" }),
			changed(func(h *history.History) { h.Seed, h.Task, h.Device = 2, "b", "cuda" }),
			changed(func(h *history.History) { h.Seed, h.Task, h.Device = 3, "c", "cpu" })}, []string{"FedAvg (1): 2", "FedAvg (2): 1"}},
		"versions of fedkit, which write other programs": {[]*history.History{
			changed(func(h *history.History) { h.Task, h.Code = "a", "fedkit 1" }),
			changed(func(h *history.History) { h.Seed, h.Task, h.Code = 2, "b", "fedkit 2; own 3" }),
			changed(func(h *history.History) { h.Seed, h.Task, h.Code = 3, "c", "fedkit 1; own 4" })}, []string{"FedAvg (1): 2", "FedAvg (2): 1"}},
		"names given":       {[]*history.History{one, changed(func(h *history.History) { h.Name, h.Data = "mine", "mnist" })}, []string{"FedAvg: 1", "mine: 1"}},
		"a run given again": {[]*history.History{one, one, with(0, 0.1), with(1, 0.1)}, []string{"FedAvg: 2"}},
		"other scores, all else the same": {[]*history.History{one, changed(func(h *history.History) { h.Seed, h.Rounds[0].Global.Accuracy = 0, 0.1 }), with(1, 0.1)},
			[]string{"FedAvg (1): 2", "FedAvg (2): 1"}},
	} {
		gs := expect.Value(Groups(c.runs...))(t)
		got := each(gs, func(g *Group) string { return fmt.Sprintf("%s: %d", g.Name, len(g.Runs)) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}
