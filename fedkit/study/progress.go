package study

import "fedkit.example/fedkit"

// watcher is told of all runs.
func (s *Study) watcher(missing []*plan) fedkit.Watcher {
	w := s.Watch
	if p, ok := w.(interface{ Plan(runs, stored int) }); ok {
		p.Plan(len(missing), len(distinct(s.plans))-len(missing))
	}
	return w
}
