package progress

import (
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
	if n := len(out.of("line")); n < 20 || n > 27 {
		t.Errorf("%d lines in 5 s", n)
	}
	if n := len(out.of("figure")); n < 7 || n > 10 {
		t.Errorf("%d figures in 5 s", n)
	}
	for _, id := range ids {
		m := out.of(id)
		for i := 1; i < len(m)-1; i++ { // the last message comes when the run is over
			if d := m[i].at.Sub(m[i-1].at); d < 200*time.Millisecond {
				t.Errorf("%s: %v after the one before", id, d)
			}
		}
	}
	figures := out.of("figure")
	for i, m := range figures {
		if m.final != (i == len(figures)-1) {
			t.Errorf("figure %d of %d: final %v", i, len(figures), m.final)
		}
	}
	lines := out.of("line")
	if s := lines[len(lines)/2].text; !strings.Contains(s, "/500") || !strings.Contains(s, "250 ms/round") || !strings.Contains(s, " left") {
		t.Errorf("half way: %s", s)
	}
	if s := lines[len(lines)-1].text; !strings.HasPrefix(s, "FedAvg  ✓ 500 rounds in 2 min 05 s · accuracy ") {
		t.Errorf("at the end: %s", s)
	}
	if !lines[len(lines)-1].final || lines[0].final || log.Len() > 0 {
		t.Errorf("log %q", log)
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
	if m := out.of("figure"); m[len(m)-1].runs != 4 {
		t.Errorf("a figure of %d runs", m[len(m)-1].runs)
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

// The line says that a run was stopped.
func TestStoppedRuns(t *testing.T) {
	l, out, _ := fakeWatcher()
	h := history("FedAvg", 0.1, 0.2)
	all := h.Rounds
	for i := range all {
		*out.clock = out.clock.Add(time.Second)
		h.Rounds = all[:i+1]
		l.Round(h, 30)
	}
	h.Stopped = true
	l.Done(h, nil)
	if s := l.text(); s != "FedAvg  ■ stopped after round 2 of 30 · accuracy 20.0 % · loss 0.8" {
		t.Errorf("%q", s)
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
