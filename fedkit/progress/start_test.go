package progress

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The line appears before the first round is over, and ticks during long rounds.
func TestFromTheStart(t *testing.T) {
	l, out, _ := fakeWatcher()
	h := steady(3)
	all := h.Rounds
	h.Rounds = nil
	l.Start(h, 3)
	for range 25 { // 2.5 s
		*out.clock = out.clock.Add(100 * time.Millisecond)
		l.refresh()
	}
	lines := out.of("line")
	if len(lines) < 12 || len(out.of("figure")) > 0 {
		t.Fatalf("%d lines in 2.5 s, %d figures before a round", len(lines), len(out.of("figure")))
	}
	for i, want := range map[int]string{0: "starting … 0.0 s", 5: "round 1 of 3 … 1.0 s", 12: "round 1 of 3 … 2.4 s"} {
		if got := lines[i].text; !strings.HasPrefix(got, "FedAvg  ░") || !strings.HasSuffix(got, want) {
			t.Errorf("line %d: %q, want %q", i, got, want)
		}
	}
	h.Rounds = all[:1]
	l.Round(h, 3)
	*out.clock = out.clock.Add(1400 * time.Millisecond)
	l.refresh()
	lines = out.of("line")
	if got := lines[len(lines)-1].text; !strings.Contains(got, " round 1/3 · accuracy ") || !strings.HasSuffix(got, " · round 2 of 3 … 1.4 s") {
		t.Errorf("in round 2: %q", got)
	}
	h.Rounds = all
	l.Round(h, 3)
	l.Done(h, nil)
	if got := l.text(); !strings.HasPrefix(got, "FedAvg  ✓ 3 rounds in 3.90 s") {
		t.Errorf("the time before the first round counts: %q", got)
	}
	if l.refresh() {
		t.Error("no run goes on")
	}
}

// A change between two updates is shown soon, also if no round follows.
func TestCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown, drawn := shown{}, shown{}
		l := &Watcher{now: time.Now, notebook: true, pause: linePause, tick: linePause / 2, line: shown.text, figure: drawn.figure}
		h := steady(9)
		all := h.Rounds
		h.Rounds = nil
		l.Start(h, 9)
		for i := range 3 {
			time.Sleep(10 * time.Millisecond)
			h.Rounds = all[:i+1]
			l.Round(h, 9)
		}
		time.Sleep(300 * time.Millisecond)
		if text := shown.last(); !strings.Contains(text, "round 3/9") {
			t.Errorf("0.3 s after round 3: %q", text)
		}
		time.Sleep(time.Second)
		if text := drawn.last(); text != "3 rounds" {
			t.Errorf("1.3 s after round 3: a figure of %s", text)
		}
		l.Done(h, nil)
		time.Sleep(l.tick) // until the ticker has stopped
	})
}

// shown has the latest output.
type shown struct{ what atomic.Value }

func (s *shown) text(text string, _ bool) error {
	s.what.Store(plain(text))
	return nil
}

func (s *shown) figure(runs []*Run, _ bool) error {
	return s.text(fmt.Sprintf("%d rounds", runs[0].Rounds), false)
}

func (s *shown) last() string {
	text, _ := s.what.Load().(string)
	return text
}

// A resumed run shows all earlier rounds before its first one is over.
func TestFromCheckpoint(t *testing.T) {
	l, out, _ := fakeWatcher()
	h := steady(10) // of 0.25 s
	all := h.Rounds
	h.Rounds = nil
	l.Start(h, 10)
	*out.clock = out.clock.Add(2 * time.Second)
	h.Rounds = all[:6]
	l.Start(h, 10)
	if n := len(l.runs); n != 1 {
		t.Fatalf("%d runs", n)
	}
	if figures := out.of("figure"); len(figures) != 1 || l.runs[0].Rounds != 6 {
		t.Fatalf("%d figures, %d rounds", len(figures), l.runs[0].Rounds)
	}
	if got := l.text(); !strings.Contains(got, " round 6/10 · accuracy ") || !strings.Contains(got, " · 250 ms/round · 1 s left") {
		t.Errorf("at the start: %q", got)
	}
	h.Rounds = all
	l.Round(h, 10)
	l.Done(h, nil)
	if got := l.text(); !strings.HasPrefix(got, "FedAvg  ✓ 10 rounds in 3.50 s (6 of them before) · accuracy ") {
		t.Errorf("at the end: %q", got)
	}
}

func TestPace(t *testing.T) {
	for s, want := range map[float64]string{0.00123: "1.23 ms/round", 0.0124: "12.4 ms/round", 0.999: "999 ms/round", 1.5: "1.50 s/round", 200: "3 min 20 s/round"} {
		if got := plain(perRound(s)); got != want {
			t.Errorf("%v s: %q, want %q", s, got, want)
		}
	}
}
