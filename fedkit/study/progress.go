package study

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/progress"
)

// PlanWatcher is a Watcher that can show the progress of a whole study.
type PlanWatcher interface {
	fedkit.Watcher
	// Plan is called once, before the first run of a study, with its number of runs, and how many of them are stored already and
	// not run. Round and Done are called for each other run, concurrently if runs are concurrent.
	Plan(runs, stored int)
}

// watcher returns the observer of all runs, and gives it the plan.
func (s *Study) watcher(missing []*plan) fedkit.Watcher {
	w := s.Watch
	if w == nil {
		w = progress.Line()
	}
	if p, ok := w.(PlanWatcher); ok {
		all := len(distinct(s.plans))
		p.Plan(all, all-len(missing))
	}
	return w
}

// watch observes the rounds of one run. It reports the end once, also if the run begins twice, or not at all.
type watch struct{ fedkit.Watcher }

func (watch) Done(*fedkit.History, error) {}

func (w watch) Start(h *fedkit.History, of int) {
	if s, ok := w.Watcher.(interface{ Start(*fedkit.History, int) }); ok {
		s.Start(h, of)
	}
}
