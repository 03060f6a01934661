package progress

import (
	"fmt"
	"math"
	"time"

	"fedkit.example/fedkit/table"
)

// plan is the size of a study.
type plan struct {
	runs, stored int
	before       int // runs that were watched before it
	start        time.Time
}

// Plan implements study.PlanWatcher. The line is shown at once.
func (w *Watcher) Plan(runs, stored int) {
	w.do(func(now time.Time) {
		w.plan = &plan{runs, stored, len(w.runs), now}
		w.showLine(nil, now, runs == stored)
		w.lineAt = w.after(now, w.pause)
	})
}

// count counts the study's runs by their state, and the work done, in runs. Stored runs count as done.
func (s *plan) count(all []*Run) (n map[string]int, work float64) {
	n = map[string]int{done: s.stored}
	for _, p := range all[s.before:] {
		n[p.state()]++
		if p.Ended {
			work++
		} else {
			work += float64(p.round) / float64(max(1, p.Planned))
		}
	}
	return n, work
}

// over reports whether no run is left to watch: all have ended, or nothing goes on after a stop.
func (s *plan) over(all []*Run) bool {
	n, _ := s.count(all)
	return n[running] == 0 && (n[stopped] > 0 || n[done]+n[failed] >= s.runs)
}

// line writes the progress.
func (s *plan) line(all []*Run, now time.Time) string {
	n, work := s.count(all)
	text := fmt.Sprintf("%d of %d done", n[done], s.runs)
	n["stored"] = s.stored
	for _, what := range []string{running, stopped, failed, "stored"} {
		if n[what] > 0 {
			text += fmt.Sprintf(", %d %s", n[what], what)
		}
	}
	elapsed, left := now.Sub(s.start).Seconds(), float64(s.runs-s.stored)-work
	switch {
	case s.over(all):
		text += ", in " + table.Seconds(elapsed)
	case work > 0:
		text += ", " + table.Seconds(math.Ceil(elapsed*left/work)) + " left"
	}
	return text
}
