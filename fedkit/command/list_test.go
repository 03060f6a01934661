package command

import (
	"strings"
	"testing"

	"fedkit.example/fedkit/catalog"
)

// The list has every strategy, with its options, their symbols and defaults, and its source.
func TestStrategiesAreListed(t *testing.T) {
	status, out, _ := do("list", "strategies")
	if status != done {
		t.Fatal(status)
	}
	for _, s := range catalog.Kinds()[0].Components() {
		_, text, found := strings.Cut("\n"+out, "\n"+s.Name+"\n")
		text, _, _ = strings.Cut(text, "\n\n")
		if !found || !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(s.Source()), " ")) {
			t.Errorf("%s: %q", s.Name, text)
		}
		for _, o := range s.Options() {
			if !strings.Contains(text, "\n  "+o.Name) || !strings.Contains(text, o.Comment) || !strings.Contains(text, o.Default) {
				t.Errorf("%s.%s: %q", s.Name, o.Name, text)
			}
		}
	}
}

// One strategy is described in full, with the options of its parts.
func TestOneIsDescribed(t *testing.T) {
	for _, name := range []string{"fed-adam", "FedAdam"} {
		status, out, _ := do("list", name)
		for _, want := range []string{"strategy.FedAdam", "m ← β1 m + (1−β1)Δ", "Local.LR", "η, learning rate", "Server.Beta2", "default 0.99", "one of Corrected, Reddi", "arXiv 2003.00295"} {
			if status != done || !strings.Contains(out, want) {
				t.Errorf("%q: no %q in %s", name, want, out)
			}
		}
	}
}

// Without a name, list has the names of each kind; with that of a kind, its things.
func TestPartsAreListed(t *testing.T) {
	_, all, _ := do("list")
	for _, k := range catalog.Kinds() {
		status, out, _ := do("list", k.Plural)
		for _, thing := range k.Components() {
			if status != done || !strings.Contains("\n"+out, "\n"+thing.Name+"\n") || !strings.Contains(all, thing.Name) {
				t.Errorf("%s: %s is missing", k.Plural, thing.Name)
			}
		}
	}
	if status, out, _ := do("list", "Adam"); status != done || !strings.Contains(out, "server.Adam") || !strings.Contains(out, "fedkit.Adam") {
		t.Error(out)
	}
}

// In JSON a component is a line, with its options.
func TestListInJSON(t *testing.T) {
	_, all, _ := do("list", "--json")
	status, out, _ := do("list", "FedAdam", "--json")
	if status != done || strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, `{"kind":"strategy","name":"FedAdam","type":"strategy.FedAdam","synopsis":"`) || !strings.Contains(out, `{"name":"LR","type":"float64"`) || !strings.Contains(all, out) {
		t.Error(out)
	}
	if status, out, _ := do("list", "Kurm", "--json"); status != refused || out != "" {
		t.Error(status, out)
	}
}

func TestVersion(t *testing.T) {
	if status, out, _ := do("--version"); status != done || !strings.HasPrefix(out, "fedkit ") {
		t.Error(status, out)
	}
}
