package attack

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit"
)

// LabelFlip makes attackers train on flipped labels, y ← C − 1 − y with C classes, and send the result.
type LabelFlip struct{}

// String returns "label flip".
func (LabelFlip) String() string { return "label flip" }

// Apply implements Attack.
func (a LabelFlip) Apply(fed *fedkit.Federation, attackers []int) (*fedkit.Federation, error) {
	return relabel(a, fed, attackers, func(y int32) int32 { return int32(fed.Data.Classes) - 1 - y })
}

// OneLabel makes attackers train on one label for all examples, y ← Label.
type OneLabel struct {
	Label int // in [0, C)
}

// String names the label: "all labels 3".
func (a OneLabel) String() string { return fmt.Sprintf("all labels %d", a.Label) }

// Apply implements Attack.
func (a OneLabel) Apply(fed *fedkit.Federation, attackers []int) (*fedkit.Federation, error) {
	if fed != nil && fed.Data != nil && fed.Data.Classes > 0 && (a.Label < 0 || a.Label >= fed.Data.Classes) {
		return nil, fedkit.Invalid("OneLabel.Label", a.Label, fmt.Sprintf("in [0, %d)", fed.Data.Classes))
	}
	return relabel(a, fed, attackers, func(int32) int32 { return int32(a.Label) })
}

// relabel changes the attackers' training labels.
func relabel(a Attack, fed *fedkit.Federation, attackers []int, to func(int32) int32) (*fedkit.Federation, error) {
	bad, err := marked(fed, attackers)
	if err != nil {
		return nil, err
	}
	if fed.Data.Classes == 0 {
		return nil, fedkit.Invalid("data", fed.Data.Name, "labeled: "+a.String()+" makes no sense for a regression")
	}
	if !fed.Data.Labeled() {
		return nil, fedkit.Invalid("data", fed.Data.Name, "labeled with one label per example for "+a.String())
	}
	d := *fed.Data
	d.Train.Labels = slices.Clone(d.Train.Labels)
	for _, c := range attackers {
		for _, row := range fed.Clients[c].Train {
			d.Train.Labels[row] = to(d.Train.Labels[row])
		}
	}
	return fed.WithData(&d, by(a, bad))
}
