// Package preset has experiments as papers and toolkits have published them: data, partition, model, local work, rounds, and the numbers
// that they report beside fedkit's.
//
//	p := preset.MNIST2NN()
//	fed := must.M1(p.Trial.Federation())
//	h := must.M1(fedkit.Run(ctx, fed, p.Trial.Strategy, p.Trial.Options))
//
// On the command line, ./scripts/study mnist-2nn does it. A study of your own changes a copy.
package preset

import (
	"fmt"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/study"
)

// Preset is a published experiment.
type Preset struct {
	Name   string // by which ./scripts/study runs it
	About  string // what it is, and what is not as it was published
	Source string // who published it, and where

	Trial study.Trial // its federation, strategy and options

	Published, Measured []Number // there, and by fedkit
}

// Number is a result.
type Number struct {
	What        string  // "rounds to 97 %"
	Value, Half float64 // the mean, and half its 95 % confidence interval; Half is 0 if there is none
	Seeds       int     // of the mean; 0 if it is not said
	By          string  // who reports it if it is not Preset.Source, or what was changed
}

// String is the number in words: "rounds to 97 %: 41 ± 13 (3 seeds)".
func (n Number) String() string {
	text := fmt.Sprintf("%s: %g", n.What, n.Value)
	if n.Half > 0 {
		text += fmt.Sprintf(" ± %g", n.Half)
	}
	var notes []string
	if n.Seeds > 0 {
		notes = append(notes, fmt.Sprintf("%d seeds", n.Seeds))
	}
	if n.By != "" {
		notes = append(notes, n.By)
	}
	if notes != nil {
		text += " (" + strings.Join(notes, "; ") + ")"
	}
	return text
}

// String is what the preset is, and its numbers, in lines.
func (p Preset) String() string {
	lines := []string{p.Name + ": " + p.About, "source: " + p.Source}
	for _, n := range p.Published {
		lines = append(lines, "published  "+n.String())
	}
	for _, n := range p.Measured {
		lines = append(lines, "fedkit     "+n.String())
	}
	return strings.Join(lines, "\n")
}

// All returns all presets.
func All() []Preset { return []Preset{MNIST2NN(), MNISTCNN(), FEMNIST(), CIFAR100(), Shakespeare()} }

// Names returns the names of all presets.
func Names() (names []string) {
	for _, p := range All() {
		names = append(names, p.Name)
	}
	return names
}

// ByName returns a preset. Case does not matter.
func ByName(name string) (Preset, error) {
	for _, p := range All() {
		if strings.EqualFold(p.Name, name) {
			return p, nil
		}
	}
	return Preset{}, fedkit.Invalid("preset", fmt.Sprintf("%q", name), "one of "+strings.Join(Names(), ", "))
}
