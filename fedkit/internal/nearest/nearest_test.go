package nearest

import (
	"slices"
	"strings"
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

// A name of megabytes is near none, and that is known at once.
func TestLongName(t *testing.T) {
	known := slices.Repeat([]string{"Aggregator", strings.Repeat("x", 50)}, 100)
	if got := Of(strings.Repeat("x", 1<<24), known); got != "" {
		t.Error(got)
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
