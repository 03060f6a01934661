package study

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/progress"
)

// watcher returns the observer of all runs, and gives it the plan.
func (s *Study) watcher(missing []*plan) fedkit.Watcher {
	w := s.Watch
	if w == nil {
		w = progress.Line()
	}
	if p, ok := w.(fedkit.PlanWatcher); ok {
		all := len(distinct(s.plans))
		p.Plan(all, all-len(missing))
	}
	return w
}

// watch observes the rounds of one run. It reports the end once, also if the run begins twice, or not at all.
type watch struct{ fedkit.Watcher }

func (watch) Done(*fedkit.History, error) {}

func (w watch) Start(h *fedkit.History, of int) {
	if s, ok := w.Watcher.(fedkit.StartWatcher); ok {
		s.Start(h, of)
	}
}
