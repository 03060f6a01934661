package nearest

import (
	"slices"
	"testing"
)

func TestOf(t *testing.T) {
	known := []string{"Fraction", "Selector", "Local", "Aggregator"}
	for name, want := range map[string]string{"Fracton": "Fraction", "fraction": "Fraction", "Agregator": "Aggregator", "locl": "Local", "Epochs": "", "": ""} {
		if got := Of(name, known); got != want {
			t.Errorf("%q: got %q, expected %q", name, got, want)
		}
	}
}

func TestSort(t *testing.T) {
	if got := Sort("Selectr", []string{"Fraction", "Selector", "Local"}); !slices.Equal(got, []string{"Selector", "Local", "Fraction"}) {
		t.Error(got)
	}
	if d := edits("kitten", "sitting"); d != 3 {
		t.Errorf("edits: got %d, expected 3", d)
	}
}
