package plot

import (
	"fedkit.example/fedkit/fedtest/expect"
	"strings"
	"testing"
)

// The figures say that a run was stopped.
func TestStoppedRuns(t *testing.T) {
	h := historyOf("FedAvg", 0.1, 0.2)
	h.Stopped = true
	want := "FedAvg, seed 0: stopped after 2 rounds"
	if f := Accuracy(h, seeded(1, historyOf("FedAvg", 0.3, 0.4, 0.5))); !strings.HasSuffix(f.Note, "; "+want) {
		t.Errorf("note of the figure: %q", f.Note)
	}
	expect.That(t, Accuracy(h).Note == "FedAvg: stopped after 2 rounds", "note of the figure: %q", Accuracy(h).Note)
}

// A mean over runs of different length says so.
func TestRunsOfDifferentLength(t *testing.T) {
	long, short := historyOf("FedAvg", 0.5, 0.6, 0.7), historyOf("FedAvg", 0.4)
	short.Seed = 1
	expect.That(t, strings.Contains(Accuracy(long, short).Note, "FedAvg: the runs have 1 to 3 rounds"), "note %q", Accuracy(long, short).Note)
}
