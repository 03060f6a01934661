package progress

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// A study is shown before its first round is over; then its runs are counted, and the time left follows from them.
func TestStudy(t *testing.T) {
	l, out, _ := fakeWatcher()
	l.Plan(10, 4)
	if m := out.of("line"); len(m) != 1 || m[0].text != "4 of 10 done, 4 stored" || m[0].final {
		t.Fatalf("%+v", m)
	}
	one, two := with(0, 0.1), with(1, 0.1)
	*out.clock = out.clock.Add(10 * time.Second)
	l.Round(one, 4)
	l.Round(two, 4)
	*out.clock = out.clock.Add(10 * time.Second)
	l.Done(one, nil)
	if m := out.of("line"); m[len(m)-1].final || out.of("figure")[0].final {
		t.Error("the study goes on")
	}
	// One run and a quarter of another took 20 s: the remaining 4.75 take 76 s.
	want := "5 of 10 done, 1 running, 4 stored, 76 s left\nFedAvg  █████░"
	if s := l.text(); !strings.HasPrefix(s, want) || strings.Count(s, "\n") != 1 {
		t.Errorf("%q, want %q", s, want)
	}
	l.Done(two, errors.New("out of memory"))
	if s := l.text(); !strings.HasPrefix(s, "5 of 10 done, 1 failed, 4 stored, ") || !strings.HasSuffix(s, "✗ failed after round 1 of 4: out of memory · accuracy 61.0 % · loss 0.39") {
		t.Errorf("%q", s)
	}
	for seed := range uint64(4) {
		play(l, out.clock, with(2+seed, 0.1), time.Second, nil)
	}
	lines, figures := out.of("line"), out.of("figure")
	if m := lines[len(lines)-1]; !m.final || !strings.HasPrefix(m.text, "9 of 10 done, 1 failed, 4 stored, in 24 s\n") {
		t.Errorf("at the end: %+v", m)
	}
	finals := 0
	for _, m := range figures {
		if m.final {
			finals++
		}
	}
	if finals != 1 || !figures[len(figures)-1].final {
		t.Errorf("%d final figures of %d", finals, len(figures))
	}
}

// A run after a study does not belong to it.
func TestAfterStudy(t *testing.T) {
	l, out, _ := fakeWatcher()
	l.Plan(1, 0)
	play(l, out.clock, with(0, 0.1), time.Second, nil)
	play(l, out.clock, with(1, 0.1), time.Second, nil)
	if s := l.text(); strings.Contains(s, "done") || strings.Count(s, "✓ 1 rounds") != 2 {
		t.Errorf("%q", s)
	}
}

// A stopped study still draws its final figure.
func TestStudyStopped(t *testing.T) {
	l, out, _ := fakeWatcher()
	l.Plan(10, 0)
	a, b := with(0, 0.1), with(1, 0.1)
	l.Round(a, 4)
	l.Round(b, 4)
	a.Stopped, b.Stopped = true, true
	l.Done(a, nil)
	final := func() bool {
		m := out.of("figure")
		return len(m) > 0 && m[len(m)-1].final
	}
	if final() {
		t.Error("a run goes on")
	}
	if l.Done(b, nil); !final() {
		t.Error("no final figure")
	}
	if s := l.text(); s != "0 of 10 done, 2 stopped, in 0 s" {
		t.Errorf("%q", s)
	}
	l, out, _ = fakeWatcher()
	l.Plan(3, 3)
	if m := out.of("line"); len(m) != 1 || m[0].text != "3 of 3 done, 3 stored, in 0 s" || !m[0].final {
		t.Errorf("all stored: %+v", m)
	}
}

// Outside a notebook the line counts runs too, and a failure has a line of its own.
func TestStudyInTerminal(t *testing.T) {
	l, out, log := fakeWatcher()
	l.notebook, l.terminal = false, true
	l.Plan(2, 1)
	play(l, out.clock, with(0, 0.1), time.Second, nil)
	if s := plain(log.String()); s != "\r\x1b[K1 of 2 done, 1 stored\r\x1b[K1 of 2 done, 1 running, 1 stored, 0 s left\r\x1b[K2 of 2 done, 1 stored, in 1 s\n" {
		t.Errorf("%q", s)
	}
	l, _, log = fakeWatcher()
	l.notebook = false
	l.Plan(3, 0)
	l.Done(with(0, 0.1), errors.New("out of memory"))
	if s := plain(log.String()); !strings.Contains(s, "\nFedAvg  ✗ failed after round 1: out of memory") {
		t.Errorf("%q", s)
	}
}

// The rounds of finished runs are released.
func TestRoundsAreForgotten(t *testing.T) {
	l, out, _ := fakeWatcher()
	l.Plan(30, 0)
	h := steady(2)
	play(l, out.clock, h, time.Second, nil)
	if len(l.runs[0].History.Rounds) != 0 || len(h.Rounds) != 2 {
		t.Error("rounds are kept, or taken from the caller")
	}
}
