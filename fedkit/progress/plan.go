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
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.rescue()
	w.plan = &plan{runs, stored, len(w.runs), w.now()}
	w.showLine(nil, w.plan.start, runs == stored)
	w.lineAt = w.after(w.plan.start, w.pause)
}

// progress counts the study's runs.
func (s *plan) progress(all []*Run) (done, running, stopped, failed int, work float64) {
	done, work = s.stored, 0
	for _, p := range all[s.before:] {
		switch {
		case !p.Ended:
			running++
			work += float64(p.round) / float64(max(1, p.Planned))
			continue
		case p.stopped():
			stopped++
		case p.failed():
			failed++
		default:
			done++
		}
		work++
	}
	return done, running, stopped, failed, work
}

// over reports whether no run is left to watch: all have ended, or nothing goes on after a stop.
func (s *plan) over(all []*Run) bool {
	done, running, stopped, failed, _ := s.progress(all)
	return running == 0 && (stopped > 0 || done+failed >= s.runs)
}

// line writes the progress. Stored runs count as done.
func (s *plan) line(all []*Run, now time.Time) string {
	done, running, stopped, failed, work := s.progress(all)
	text := fmt.Sprintf("%d of %d done", done, s.runs)
	for _, c := range []struct {
		n    int
		what string
	}{{running, "running"}, {stopped, "stopped"}, {failed, "failed"}, {s.stored, "stored"}} {
		if c.n > 0 {
			text += fmt.Sprintf(", %d %s", c.n, c.what)
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
