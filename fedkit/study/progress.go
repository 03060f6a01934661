package study

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/plot"
)

// watcher is told of all runs.
func (s *Study) watcher(missing []*plan) fedkit.Watcher {
	w := s.Watch
	if w == nil {
		w = plot.Progress()
	}
	if p, ok := w.(fedkit.PlanWatcher); ok {
		all := len(distinct(s.plans))
		p.Plan(all, all-len(missing))
	}
	return w
}

// watch is told of one run.
type watch struct {
	fedkit.Watcher
	done bool
}

func (w *watch) Done(h *fedkit.History, err error) {
	w.done = true
	w.Watcher.Done(h, err)
}
