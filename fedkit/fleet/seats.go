package fleet

import (
	"context"
	"slices"
	"sync"
	"time"
)

// seats hands out places at workers to calls. Runs that wait are served round robin, one call each.
type seats struct {
	free func(s seat, taken map[string]int) (worker string) // the best worker for a seat; "" if there is none now
	any  func(kinds []string) bool                          // whether there are workers of some kinds

	mu    sync.Mutex
	taken map[string]int // by worker
	lines []*line        // nonempty queues, the next one first
}

// seat is what a call asks for.
type seat struct {
	kinds []string // of the worker
	not   []string // workers to leave out
	which int
}

const (
	inTurn = iota // at a worker with room
	atIdle        // at an idle worker
	atAny         // at any worker
)

// line is the queue of a run's calls.
type line struct{ waiting []*waiting }

type waiting struct {
	seat
	worker chan string
}

// take waits for a seat in turn, and returns the worker. It fails once there has been none of these kinds for a while.
func (s *seats) take(ctx context.Context, l *line, kinds []string, patience time.Duration) (worker string, err error) {
	w := &waiting{seat{kinds: kinds}, make(chan string, 1)}
	s.mu.Lock()
	if l.waiting = append(l.waiting, w); len(l.waiting) == 1 {
		s.lines = append(s.lines, l)
	}
	s.mu.Unlock()
	s.grant()
	tick := time.NewTicker(max(time.Millisecond, min(beat, patience/2)))
	defer tick.Stop()
	for last := time.Now(); err == nil; {
		select {
		case worker := <-w.worker:
			return worker, nil
		case <-ctx.Done():
			err = ctx.Err()
		case <-tick.C:
			if s.any(kinds) {
				last = time.Now()
			} else if time.Since(last) > patience {
				err = ErrNoWorker
			}
		}
	}
	s.mu.Lock()
	if i := slices.Index(l.waiting, w); i >= 0 {
		if l.waiting = slices.Delete(l.waiting, i, i+1); len(l.waiting) == 0 {
			s.lines = slices.DeleteFunc(s.lines, func(other *line) bool { return other == l })
		}
	}
	s.mu.Unlock()
	select {
	case worker = <-w.worker: // it came at the same time
		s.give(worker)
	default:
	}
	return "", err
}

// takeNow takes a seat out of turn, for a second worker on a call. It returns "" if there is none.
func (s *seats) takeNow(want seat) (worker string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeFree(want)
}

// takeFree takes a seat if there is one. The caller holds s.mu.
func (s *seats) takeFree(want seat) (worker string) {
	if s.taken == nil {
		s.taken = map[string]int{}
	}
	if worker = s.free(want, s.taken); worker != "" {
		s.taken[worker]++
	}
	return worker
}

// give gives a seat back.
func (s *seats) give(worker string) {
	s.mu.Lock()
	if s.taken[worker]--; s.taken[worker] == 0 {
		delete(s.taken, worker)
	}
	s.mu.Unlock()
	s.grant()
}

// grant gives free seats to waiting calls.
func (s *seats) grant() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 0; i < len(s.lines); {
		l := s.lines[i]
		w := l.waiting[0]
		worker := s.takeFree(w.seat)
		if worker == "" {
			i++
			continue
		}
		w.worker <- worker
		s.lines = slices.Delete(s.lines, i, i+1)
		if l.waiting = l.waiting[1:]; len(l.waiting) > 0 {
			s.lines = append(s.lines, l)
		}
	}
}
