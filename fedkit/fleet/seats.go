package fleet

import (
	"context"
	"slices"
	"sync"
)

// seats lets so many calls of a kind be under way as there is room for. Those who wait are served in turn, a call of each run.
type seats struct {
	room func(kind string) int

	mu    sync.Mutex
	taken map[string]int // by kind
	lines []*line        // with somebody in them, who comes next first
}

// line is the calls of a run that wait.
type line struct{ waiting []*waiting }

type waiting struct {
	kinds []string
	seat  chan string // the kind; "" if nobody of any comes
}

// take waits for a seat, and returns its kind.
func (s *seats) take(ctx context.Context, l *line, kinds []string) (string, error) {
	w := &waiting{kinds, make(chan string, 1)}
	s.mu.Lock()
	if l.waiting = append(l.waiting, w); len(l.waiting) == 1 {
		s.lines = append(s.lines, l)
	}
	s.mu.Unlock()
	s.grant()
	select {
	case kind := <-w.seat:
		if kind == "" {
			return "", ErrNoWorker
		}
		return kind, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	if i := slices.Index(l.waiting, w); i >= 0 {
		if l.waiting = slices.Delete(l.waiting, i, i+1); len(l.waiting) == 0 {
			s.lines = slices.DeleteFunc(s.lines, func(other *line) bool { return other == l })
		}
		s.mu.Unlock()
		return "", ctx.Err()
	}
	s.mu.Unlock()
	if kind := <-w.seat; kind != "" { // it came at the same time
		s.give(kind)
	}
	return "", ctx.Err()
}

// turnAway sends those away who wait for kinds that there is no hope for.
func (s *seats) turnAway(hopeless func(kinds []string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = slices.DeleteFunc(s.lines, func(l *line) bool {
		l.waiting = slices.DeleteFunc(l.waiting, func(w *waiting) bool {
			if !hopeless(w.kinds) {
				return false
			}
			w.seat <- ""
			return true
		})
		return len(l.waiting) == 0
	})
}

// give gives a seat back.
func (s *seats) give(kind string) {
	s.mu.Lock()
	s.taken[kind]--
	s.mu.Unlock()
	s.grant()
}

// grant gives free seats to those who wait.
func (s *seats) grant() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken == nil {
		s.taken = map[string]int{}
	}
	for i := 0; i < len(s.lines); {
		l := s.lines[i]
		w := l.waiting[0]
		at := slices.IndexFunc(w.kinds, func(kind string) bool { return s.taken[kind] < s.room(kind) })
		if at < 0 {
			i++
			continue
		}
		s.taken[w.kinds[at]]++
		w.seat <- w.kinds[at]
		s.lines = slices.Delete(s.lines, i, i+1)
		if l.waiting = l.waiting[1:]; len(l.waiting) > 0 {
			s.lines = append(s.lines, l)
		}
	}
}
