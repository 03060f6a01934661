package compare

import (
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/history"
)

// on gives the evaluated rounds these accuracies of the global model on validation rows.
func on(h *history.History, accuracy ...float64) *history.History {
	for i, a := range accuracy {
		h.Rounds[i].Validation = &history.Validation{Global: &history.Score{Accuracy: history.Float(a), Examples: 5}}
	}
	return h
}

// The best round is chosen on validation rows, and its accuracy is that on test rows. Without them, it is the highest on test rows.
func TestBestOnValidation(t *testing.T) {
	tested := []float64{0.2, 0.7, 0.6, nan}
	with, without := on(ran("with", tested...), 0.1, 0.3, 0.5), ran("without", tested...)
	if got := Best.Of(with, without); !slices.Equal(got, []float64{0.6, 0.7}) {
		t.Errorf("best %v, want 0.6 and 0.7", got)
	}
	if got := Accuracy.OnValidation().Of(with, without); got[0] != 0.5 || got[1] == got[1] {
		t.Errorf("on validation rows %v, want 0.5 and NaN", got)
	}
	if got := LastRounds(3, Accuracy.OnValidation()).Of(with); !close(got[0], 0.3) {
		t.Errorf("mean of the last rounds on validation rows: %v, want 0.3", got)
	}
	partly := on(ran("partly", tested...), 0.5, 0.3) // round 3 has none
	if got := Best.Of(partly); got[0] != 0.7 {
		t.Errorf("best %v, want that on test rows, 0.7", got)
	}
	if _, _, err := Loss.OnValidation().Follow(with, without); err == nil || !strings.Contains(err.Error(), `history "without" has no scores on validation rows: its clients have none (see partition.Validation)`) {
		t.Errorf("error %v", err)
	}
	if note := Table(with.OnValidation()).Note; !strings.HasSuffix(note, "accuracy, best and loss on validation rows: of the global model") {
		t.Errorf("note %q of scores on validation rows", note)
	}
	if note := Table(with, with.OnValidation()).Note; with.Scored() != "test" || !strings.Contains(note, "accuracy, best and loss on test and validation rows: ") {
		t.Errorf("note %q of scores on both", note)
	}
	for want, h := range map[string][]*history.History{
		"; best: in the round that is best on validation rows":                                                   {with},
		"; best: in the round that is best on validation rows, for 1 of 2 runs, and on test rows for the others": {with, without},
		"accuracy, best and loss on test rows: of the global model":                                              {without},
	} {
		if note := Table(h...).Note; !strings.HasSuffix(note, want) {
			t.Errorf("note %q, want %q", note, want)
		}
	}
}
