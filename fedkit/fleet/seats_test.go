package fleet

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// queued waits until a run has this many waiting calls.
func queued(t *testing.T, s *seats, l *line, n int) {
	t.Helper()
	wait(t, "calls that wait", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(l.waiting) == n
	})
}

// withRoom returns workers with room for this many calls each; a worker has the name of its kind.
func withRoom(room func(worker string) int) *seats {
	return &seats{free: func(s seat, taken map[string]int) string {
		if at := slices.IndexFunc(s.kinds, func(w string) bool { return taken[w] < room(w) }); at >= 0 {
			return s.kinds[at]
		}
		return ""
	}, any: func(kinds []string) bool { return kinds[0] != "nobody" }}
}

// Runs take turns, however many calls each has waiting.
func TestSeatsInTurn(t *testing.T) {
	s := withRoom(func(string) int { return 1 })
	kind, err := s.take(t.Context(), new(line), []string{"a"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	turns := make(chan string)
	ask := func(run string, l *line, n int) {
		for i := range n {
			go func() {
				if _, err := s.take(t.Context(), l, []string{"a"}, time.Minute); err == nil {
					turns <- run
				}
			}()
			queued(t, s, l, i+1)
		}
	}
	ask("many", new(line), 6)
	ask("few", new(line), 2)
	ask("one", new(line), 1)
	var got []string
	for range 9 {
		s.give(kind)
		got = append(got, <-turns)
	}
	if want := []string{"many", "few", "one", "many", "few", "many", "many", "many", "many"}; !slices.Equal(got, want) {
		t.Errorf("turns %v, want %v", got, want)
	}
	if s.taken["a"] != 1 {
		t.Errorf("%d seats taken, want 1", s.taken["a"])
	}
}

// A call for one kind does not block those of other kinds.
func TestSeatsOfKinds(t *testing.T) {
	room := map[string]int{"a": 0, "b": 2}
	s := withRoom(func(worker string) int { return room[worker] })
	first := new(line)
	got := make(chan string, 1)
	go func() {
		kind, _ := s.take(t.Context(), first, []string{"a"}, time.Minute)
		got <- kind
	}()
	queued(t, s, first, 1)
	for range 2 {
		if kind, err := s.take(t.Context(), new(line), []string{"a", "b"}, time.Minute); kind != "b" || err != nil {
			t.Fatal(kind, err)
		}
	}
	s.mu.Lock()
	room["a"] = 1
	s.mu.Unlock()
	if s.grant(); <-got != "a" {
		t.Error("the first has no seat")
	}
}

// A call that stops waiting, or for which there is nobody, takes no seat and leaves the others in their turn.
func TestSeatsLeft(t *testing.T) {
	s := withRoom(func(worker string) int { return map[string]int{"room": 1}[worker] })
	stays, leaves := new(line), new(line)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 3)
	take := func(ctx context.Context, l *line, kind string) {
		_, err := s.take(ctx, l, []string{kind}, 50*time.Millisecond)
		errs <- err
	}
	go take(ctx, leaves, "busy")
	queued(t, s, leaves, 1)
	go take(t.Context(), stays, "nobody")
	queued(t, s, stays, 1)
	if err := <-errs; !errors.Is(err, ErrNoWorker) {
		t.Error(err)
	}
	queued(t, s, leaves, 1)
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if take(t.Context(), stays, "room"); <-errs != nil || s.taken["busy"] != 0 || s.taken["room"] != 1 || len(s.lines) != 0 {
		t.Error(s.taken, s.lines)
	}
}
