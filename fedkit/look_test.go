package fedkit

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"fedkit.example/fedkit/internal/checkpoint"
)

// looker notes what Look says of the run's files while it goes on.
type looker struct {
	t       *testing.T
	files   []string
	rounds  []int
	planned []int
}

func (l *looker) Round(h *History, _ int) {
	for _, file := range l.files {
		s, err := checkpoint.Look(file)
		if err != nil || !s.Going || !s.History.Stopped {
			l.t.Fatalf("%s: %+v, %v", file, s, err)
		}
		l.rounds, l.planned = append(l.rounds, len(s.History.Rounds)), append(l.planned, max(s.Of, len(s.History.Rounds)))
	}
}

func (l *looker) Done(*History, error) {}

func TestLook(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	o := Options{Checkpoint: filepath.Join(t.TempDir(), "run")}
	o.History = o.Checkpoint + ".jsonl"
	for _, step := range []struct {
		rounds        int
		seen, planned []int
	}{
		{2, []int{1, 1, 2, 2}, []int{2, 2, 2, 2}},
		{3, []int{3, 3}, []int{3, 3}},
		{3, nil, nil},
	} {
		w := &looker{t: t, files: []string{o.Checkpoint, o.History}}
		o.Rounds, o.Watch = step.rounds, w
		if _, err := Run(context.Background(), fed, &mean{Local: Local{Batch: 4, LR: 0.1}}, o); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.rounds, step.seen) || !slices.Equal(w.planned, step.planned) {
			t.Errorf("seen %v of %v, want %v of %v", w.rounds, w.planned, step.seen, step.planned)
		}
		for _, file := range w.files {
			if s, err := checkpoint.Look(file); err != nil || s.Going || s.History.Stopped || len(s.History.Rounds) != step.rounds || s.Of != step.rounds {
				t.Errorf("%s: %+v, %v", file, s, err)
			}
		}
	}
}
