// Package preset has experiments as papers and toolkits have published them: data, partition, model, local work, rounds, and the numbers
// that they report beside fedkit's.
//
//	e, err := preset.MNIST2NN().Experiment()
//	fed, err := e.Federation()
//	h, err := fedkit.Run(ctx, fed, e.Strategy, e.Options)
//
// On the command line, fedkit run --preset mnist-2nn does it, and further options change it.
package preset

import (
	"fmt"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/catalog"
	"fedkit.example/fedkit/experiment"
)

// Preset is a published experiment. Its parts are written as fedkit run takes them: "FedAvg Fraction=0.1 Local.LR=0.1".
type Preset struct {
	Name   string // of fedkit run --preset
	About  string // what it is, and what is not as it was published
	Source string // who published it, and where

	Strategy  string // the algorithm with its options
	Data      string // a data set
	Partition string // the rule that deals it to clients
	Model     string // what is trained
	Options   string // of the run

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

// Tree returns the experiment as catalog.Build takes it, to be changed.
func (p Preset) Tree() (map[string]any, error) {
	tree := map[string]any{}
	for section, text := range map[string]string{"strategy": p.Strategy, "data": p.Data, "partition": p.Partition, "model": p.Model, "options": p.Options} {
		part, err := catalog.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("preset %s: %s: %w", p.Name, section, err)
		}
		catalog.Set(tree, section, part)
	}
	return tree, nil
}

// Experiment returns the experiment. No data are loaded.
func (p Preset) Experiment() (*experiment.Experiment, error) {
	tree, err := p.Tree()
	if err != nil {
		return nil, err
	}
	return experiment.Build(tree)
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
