package plot

import (
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
	if f := Accuracy(h); f.Note != "FedAvg: stopped after 2 rounds" {
		t.Errorf("note of the figure: %q", f.Note)
	}
}

// A mean over runs of different length says so.
func TestRunsOfDifferentLength(t *testing.T) {
	long, short := historyOf("FedAvg", 0.5, 0.6, 0.7), historyOf("FedAvg", 0.4)
	short.Seed = 1
	if f := Accuracy(long, short); !strings.Contains(f.Note, "FedAvg: the runs have 1 to 3 rounds") {
		t.Errorf("note %q", f.Note)
	}
}
