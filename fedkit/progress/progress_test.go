package progress

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"testing/synctest"

	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/display"
)

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

// message is something that a watcher has shown: a line, or a figure of this many runs.
type message struct {
	id    string
	text  string
	runs  int
	final bool
	at    time.Time
}

// fake is the notebook with the line and the figure.
type fake struct {
	clock    *time.Time
	messages []message
	err      error
	slow     time.Duration // every message advances the clock by this much
	sent     func(message) // called with each, if not nil
}

func (f *fake) send(m message) error {
	m.at = *f.clock
	f.messages = append(f.messages, m)
	*f.clock = f.clock.Add(f.slow)
	if f.sent != nil {
		f.sent(m)
	}
	return f.err
}

func (f *fake) of(id string) (m []message) {
	for _, x := range f.messages {
		if x.id == id {
			m = append(m, x)
		}
	}
	return m
}

func (f *fake) text(s string, final bool) error {
	return f.send(message{id: "line", text: plain(s), final: final})
}

func (f *fake) figure(runs []*Run, final bool) error {
	return f.send(message{id: "figure", runs: len(runs), final: final})
}

func fakeWatcher() (*Watcher, *fake, *bytes.Buffer) {
	clock := time.Unix(1e9, 0)
	out := &fake{clock: &clock}
	log := &bytes.Buffer{}
	return &Watcher{now: func() time.Time { return clock }, notebook: true, width: func() int { return 0 }, pause: linePause, log: log, line: out.text, figure: out.figure}, out, log
}

// play runs a watcher through a run, each round taking some time.
func play(l fedkit.Watcher, clock *time.Time, h *fedkit.History, each time.Duration, err error) {
	all := h.Rounds
	for i := range all {
		*clock = clock.Add(each)
		h.Rounds = all[:i+1]
		l.Round(h, len(all))
	}
	l.Done(h, err)
}

// history returns a run with a round of 0.25 s for each of these accuracies of the global model.
func history(name string, accuracy ...float64) *fedkit.History {
	h := &fedkit.History{Name: name}
	for i, a := range accuracy {
		h.Rounds = append(h.Rounds, fedkit.Record{Round: i + 1, Seconds: 0.25,
			Global: &fedkit.Score{Accuracy: fedkit.Float(a), Loss: fedkit.Float(1 - a), Examples: 10}})
	}
	return h
}

// steady is a run of FedAvg that learns nothing.
func steady(rounds int) *fedkit.History {
	return history("FedAvg", slices.Repeat([]float64{0.5}, rounds)...)
}

// with returns a run of FedAvg with an option set.
func with(seed uint64, lr float64) *fedkit.History {
	type FedAvg struct{ Local struct{ LR float64 } }
	s := FedAvg{}
	s.Local.LR = lr
	h := history("FedAvg", 0.5+lr+float64(seed)/100)
	h.Seed, h.Config, h.Data = seed, config.Of(s), "digits"
	return h
}

// plain has usual spaces for those that keep a number and its unit on one line.
func plain(s string) string { return strings.ReplaceAll(s, "\u00a0", " ") }

// last is what was shown last.
func (f *fake) last(id string) (m message) {
	if all := f.of(id); len(all) > 0 {
		m = all[len(all)-1]
	}
	return m
}

// text is what a watcher shows in a notebook.
func (w *Watcher) text() string { return plain(w.lines(w.now())) }

func TestInNotebook(t *testing.T) {
	l, out, log := fakeWatcher()
	play(l, out.clock, steady(500), 10*time.Millisecond, nil) // 5 s in all

	var ids []string
	for _, m := range out.messages {
		if !slices.Contains(ids, m.id) {
			ids = append(ids, m.id)
		}
	}
	if !slices.Equal(ids, []string{"line", "figure"}) {
		t.Fatalf("outputs %v: want one line, then one figure", ids)
	}
	if n, m := len(out.of("line")), len(out.of("figure")); n < 20 || n > 27 || m < 7 || m > 10 {
		t.Errorf("%d lines and %d figures in 5 s", n, m)
	}
	for _, id := range ids {
		m := out.of(id)
		for i := 1; i < len(m)-1; i++ { // the last message comes when the run is over
			if d := m[i].at.Sub(m[i-1].at); d < 200*time.Millisecond {
				t.Errorf("%s: %v after the one before", id, d)
			}
		}
	}
	lines, figures := out.of("line"), out.of("figure")
	if i := slices.IndexFunc(figures, func(m message) bool { return m.final }); i != len(figures)-1 {
		t.Errorf("figure %d of %d is final", i, len(figures))
	}
	if s := lines[len(lines)/2].text; !strings.Contains(s, "/500") || !strings.Contains(s, "250 ms/round") || !strings.Contains(s, " left") {
		t.Errorf("half way: %s", s)
	}
	if m := out.last("line"); !m.final || lines[0].final || !strings.HasPrefix(m.text, "FedAvg  ✓ 500 rounds in 2 min 05 s · accuracy ") || log.Len() > 0 {
		t.Errorf("at the end: %+v, log %q", m, log)
	}
}

func TestLinesOfRuns(t *testing.T) {
	l, out, _ := fakeWatcher()
	for range 3 {
		play(l, out.clock, steady(20), time.Second, nil)
	}
	play(l, out.clock, history("FedProx", slices.Repeat([]float64{0.5}, 20)...), time.Second, context.Canceled)
	last := l.text()
	if n := strings.Count(last, "\n"); n != 3 || !strings.Contains(last, "FedProx  ✗ canceled after round 20 of 20") {
		t.Errorf("lines:\n%s", last)
	}
	if m := out.last("figure"); m.runs != 4 {
		t.Errorf("a figure of %d runs", m.runs)
	}
}

// What is said of a run that is over: losses with a true minus and a power of ten, both models' accuracy, why it failed.
func TestLineOfARun(t *testing.T) {
	of := func(change func(r *fedkit.Record)) *fedkit.History {
		h := history("FedAvg", 0.6)
		change(&h.Rounds[0])
		return h
	}
	loss := func(v fedkit.Float) *fedkit.History { return of(func(r *fedkit.Record) { r.Global.Loss = v }) }
	both := of(func(r *fedkit.Record) { r.Personal, r.Scores = true, []fedkit.Score{{Accuracy: 0.85, Examples: 1}} })
	stopped := history("FedAvg", 0.1, 0.2)
	stopped.Stopped = true // of a checkpoint, before a further round
	for want, h := range map[string]*fedkit.History{"loss −0.5": loss(-0.5), "loss 1.5×10⁻⁶": loss(1.5e-6), "loss 0": loss(fedkit.Float(math.Copysign(0, -1))),
		"accuracy 60.0 % (clients' own 85.0 %) · loss 0.4": both, "FedAvg  ■ stopped after round 2 · accuracy 20.0 % · loss 0.8": stopped} {
		l, _, _ := fakeWatcher()
		if l.Done(h, nil); !strings.HasSuffix(l.text(), want) {
			t.Errorf("%q, want %q", l.text(), want)
		}
	}
	l, _, _ := fakeWatcher()
	l.Round(stopped, 30)
	l.Done(stopped, nil)
	if s := l.text(); s != "FedAvg  ■ stopped after round 2 of 30 · accuracy 20.0 % · loss 0.8" {
		t.Errorf("%q", s)
	}
	l, _, _ = fakeWatcher()
	l.Done(history("early"), errors.New("no clients\nstack"))
	if s := l.text(); s != "early  ✗ failed before round 1: no clients" {
		t.Errorf("%q", s)
	}
}

// Runs of one name that are not seeds of one configuration are distinguished.
func TestRunsAreToldApart(t *testing.T) {
	l, out, _ := fakeWatcher()
	for _, lr := range []float64{0.001, 0.1} {
		play(l, out.clock, with(0, lr), time.Second, nil)
	}
	if s := l.text(); !strings.HasPrefix(s, "FedAvg, Local.LR 0.001  ✓") || !strings.Contains(s, "\nFedAvg, Local.LR 0.1  ✓") {
		t.Errorf("lines:\n%s", s)
	}
}

// Mistakes of callers, outputs that fail and panics of the figure do not stop a run. The latter two are reported once.
func TestFailures(t *testing.T) {
	l, _, _ := fakeWatcher()
	l.Round(nil, 3)
	l.Done(nil, nil)
	l.Round(&fedkit.History{}, 0)
	for what, fail := range map[string]func(*Watcher, *fake){
		"pipe closed":                            func(_ *Watcher, out *fake) { out.err = errors.New("pipe closed") },
		"could not be drawn: index out of range": func(l *Watcher, _ *fake) { l.figure = func([]*Run, bool) error { panic("index out of range") } },
	} {
		l, out, log := fakeWatcher()
		fail(l, out)
		play(l, out.clock, steady(3), time.Second, nil)
		if s := log.String(); s != display.ErrorPrefix+"progress: "+what+"\n" {
			t.Errorf("%q", s)
		}
	}
}

// If a notebook takes 100 ms per message, the duty cycle is at most 5 %, except at the end.
func TestBacksOff(t *testing.T) {
	l, out, _ := fakeWatcher()
	out.slow = 100 * time.Millisecond
	begin := *out.clock
	play(l, out.clock, steady(600), 50*time.Millisecond, nil)
	if share := float64(len(out.messages)-2) * 0.1 / out.clock.Sub(begin).Seconds(); share > 0.12 {
		t.Errorf("%.0f %% of the time", 100*share)
	}
}

func TestOutsideNotebook(t *testing.T) {
	l, out, log := fakeWatcher()
	l.notebook, l.pause = false, logPause
	play(l, out.clock, steady(100), 500*time.Millisecond, errors.New("out of memory"))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 6 || !strings.Contains(lines[5], "✗ failed after round 100 of 100: out of memory") {
		t.Errorf("in 50 s:\n%s", log)
	}
	if len(out.messages) != 1 || !out.messages[0].final {
		t.Errorf("%+v: want the final figure alone", out.messages)
	}
	log.Reset()
	l.terminal, l.pause = true, linePause
	play(l, out.clock, history("B", 0.1, 0.2), time.Second, nil)
	if s := plain(log.String()); strings.Count(s, "\r") != 3 || strings.Count(s, "\n") != 1 {
		t.Errorf("%q", s)
	}
}

// Names and errors neither control a terminal nor break lines.
func TestLineOfAnyName(t *testing.T) {
	p := &Run{Run: compare.Run{History: &fedkit.History{}}, label: "\x1b[2J\r\nFedAvg", Ended: true, err: errors.New("\x1bc")}
	if got, want := p.line(time.Now()), `\u001b[2J\r\nFedAvg  ✗ failed before round 1: \u001bc`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// On a terminal a line never takes more columns than there are; why a run failed is said in full.
func TestLinesFitTheTerminal(t *testing.T) {
	l, out, log := fakeWatcher()
	l.notebook, l.terminal = false, true
	columns := 79
	l.width = func() int { return columns }
	for _, name := range []string{"FedAvg", strings.Repeat("联邦平均", 20), strings.Repeat("e\u0301", 90)} {
		for columns = 90; columns > 3; columns -= 6 {
			log.Reset()
			play(l, out.clock, history(name, 0.25, 0.5, 0.75), time.Second, nil)
			lines := strings.Split(strings.TrimSuffix(log.String(), "\n"), "\r\x1b[K")
			for _, line := range lines[1:] {
				n := 0
				for _, r := range strings.ReplaceAll(line, "\u0301", "") {
					if n++; r >= '\u4e00' {
						n++
					}
				}
				if n >= columns || n < columns-3 && strings.HasSuffix(line, "…") {
					t.Errorf("%d columns of %d: %s", n, columns, line)
				}
			}
		}
	}
	for columns, want := range map[int]string{
		70: "FedAvg  round 1/3 · accuracy 25.0 % · loss 0.75 · 250 ms/round · 1 s …",
		24: "FedAvg  round 1/3 · acc…",
	} {
		p := &Run{Run: compare.Run{History: &fedkit.History{}}, label: "FedAvg"}
		h := history("FedAvg", 0.25)
		p.advance(h, 3, *out.clock)
		if got := plain(fit(p.line(*out.clock), columns)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	log.Reset()
	why := strings.Repeat("because ", 20)
	play(l, out.clock, history("FedAvg", 0.1), time.Second, errors.New(why))
	if !strings.Contains(log.String(), why) {
		t.Error(log)
	}
}

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
	if got := out.last("line").text; !strings.Contains(got, " round 1/3 · accuracy ") || !strings.HasSuffix(got, " · round 2 of 3 … 1.4 s") {
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
	if out.last("line").final || out.last("figure").final {
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
	if m := out.last("line"); !m.final || !strings.HasPrefix(m.text, "9 of 10 done, 1 failed, 4 stored, in 24 s\n") {
		t.Errorf("at the end: %+v", m)
	}
	figures := out.of("figure")
	if i := slices.IndexFunc(figures, func(m message) bool { return m.final }); i != len(figures)-1 {
		t.Errorf("figure %d of %d is final", i, len(figures))
	}
	if len(one.Rounds) != 1 || slices.ContainsFunc(l.runs, func(p *Run) bool { return len(p.History.Rounds) > 0 }) {
		t.Error("rounds are kept, or taken from the caller")
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
	if out.last("figure").final {
		t.Error("a run goes on")
	}
	if l.Done(b, nil); !out.last("figure").final {
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
