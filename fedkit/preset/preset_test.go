package preset_test

import (
	"fmt"
	"strings"
	"testing"

	"fedkit.example/fedkit/preset"
)

// Every preset is complete: its parts are there, and what it is, its source and its numbers are told.
func TestPresets(t *testing.T) {
	names := map[string]bool{}
	for _, p := range preset.All() {
		if e := p.Trial; e.Strategy == nil || e.Data == nil || e.Partition == nil || e.Model.Key() == "" || e.Options.Rounds == 0 || p.About == "" || p.Source == "" || p.Published == nil {
			t.Errorf("%s is not complete: %+v", p.Name, p)
		}
		if p.Name != strings.ToLower(p.Name) || strings.Contains(p.Name, " ") || names[p.Name] {
			t.Errorf("%q is no name for a command line, or that of two", p.Name)
		}
		names[p.Name] = true
	}
}

func ExamplePreset() {
	p := preset.MNIST2NN()
	fmt.Println(p.Trial.Model.Key())
	fmt.Println(p.Published[0])
	fmt.Println(p.Measured[0])
	fmt.Println(p.Trial.Options.Rounds, "rounds")
	// Output:
	// model.MLP(200, 200)
	// rounds to 97 %: 87
	// rounds to 97 %: 41.6 ± 5.1 (5 seeds; weights drawn after He et al. 2015; notebook 01)
	// 100 rounds
}
