package fedkit

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// starter notes what it is told, with the number of rounds.
type starter []string

func (s *starter) Start(h *History, of int) {
	*s = append(*s, fmt.Sprintf("start %d/%d", len(h.Rounds), of))
}
func (s *starter) Round(h *History, of int) {
	*s = append(*s, fmt.Sprintf("round %d/%d", len(h.Rounds), of))
}
func (s *starter) Done(h *History, _ error) { *s = append(*s, fmt.Sprintf("done %d", len(h.Rounds))) }

// A watcher is told of the start, also of the rounds of a checkpoint. A run whose checkpoint has all rounds is over at once.
func TestWatcherIsToldOfTheStart(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	o := Options{Checkpoint: filepath.Join(t.TempDir(), "run")}
	for _, step := range []struct {
		rounds int
		want   starter
	}{
		{2, starter{"start 0/2", "round 1/2", "round 2/2", "done 2"}},
		{3, starter{"start 0/3", "start 2/3", "round 3/3", "done 3"}},
		{3, starter{"start 0/3", "start 3/3", "done 3"}},
	} {
		var w starter
		o.Rounds, o.Watch = step.rounds, &w
		if h, err := Run(context.Background(), fed, &mean{Local: Local{Batch: 4, LR: 0.1}}, o); err != nil || len(h.Rounds) != step.rounds {
			t.Fatalf("%d rounds: %v, %v", step.rounds, h, err)
		}
		if !slices.Equal(w, step.want) {
			t.Errorf("%d rounds: told %q, want %q", step.rounds, w, step.want)
		}
	}
}
