package nearest

import (
	"fedkit.example/fedkit/fedtest/expect"
	"slices"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	known := []string{"Fraction", "Selector", "Local", "Aggregator"}
	for name, want := range map[string]string{"Fracton": "Fraction", "fraction": "Fraction", "Agregator": "Aggregator", "locl": "Local", "Epochs": "", "": ""} {
		expect.That(t, Of(name, known) == want, "%q: got %q, expected %q", name, Of(name, known), want)
	}
}

// A name of megabytes is near none, and that is known at once.
func TestLongName(t *testing.T) {
	known := slices.Repeat([]string{"Aggregator", strings.Repeat("x", 50)}, 100)
	expect.That(t, Of(strings.Repeat("x", 1<<24), known) == "", "%v", Of(strings.Repeat("x", 1<<24), known))
}

func TestSort(t *testing.T) {
	got := Sort("Selectr", []string{"Fraction", "Selector", "Local"})
	expect.That(t, slices.Equal(got, []string{"Selector", "Local", "Fraction"}), "%v", got)
	expect.That(t, edits("kitten", "sitting") == 3, "edits: got %d, expected 3", edits("kitten", "sitting"))
}
