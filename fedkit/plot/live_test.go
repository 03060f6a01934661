package plot

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/charttest"
)

// message is what a display has been sent.
type message struct {
	id    string
	text  string
	row   chart.Row
	final bool
	at    time.Time
}

// fake is the notebook with both displays.
type fake struct {
	clock    *time.Time
	messages []message
	err      error
	slow     time.Duration // the clock moves on by this much with every message
	sent     func(message) // is told of each, if not nil
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

type fakeDisplay struct {
	*fake
	id string
}

func (d fakeDisplay) Text(s string, final bool) error {
	return d.send(message{id: d.id, text: plain(s), final: final})
}

func (d fakeDisplay) Show(r chart.Row, final bool) error {
	return d.send(message{id: d.id, row: r, final: final})
}

func fakeLive() (*live, *fake, *bytes.Buffer) {
	clock := time.Unix(1e9, 0)
	out := &fake{clock: &clock}
	log := &bytes.Buffer{}
	return &live{name: "live", now: func() time.Time { return clock }, notebook: true, pause: linePause, log: log,
		line: fakeDisplay{out, "line"}, figure: fakeDisplay{out, "figure"}}, out, log
}

// play tells the watcher of a whole run, each round taking some time.
func play(l fedkit.Watcher, clock *time.Time, h *fedkit.History, each time.Duration, err error) {
	all := h.Rounds
	for i := range all {
		*clock = clock.Add(each)
		h.Rounds = all[:i+1]
		l.Round(h, len(all))
	}
	l.Done(h, err)
}

func TestLiveInNotebook(t *testing.T) {
	l, out, log := fakeLive()
	play(l, out.clock, synthetic("FedAvg", 1, 500, 1, 10, 0.9), 10*time.Millisecond, nil) // 5 s in all

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
		for i := 1; i < len(m)-1; i++ { // the last comes when the run is over
			if d := m[i].at.Sub(m[i-1].at); d < 200*time.Millisecond {
				t.Errorf("%s: %v after the one before", id, d)
			}
		}
	}
	figures := out.of("figure")
	for i, m := range figures {
		charttest.Spec(t, m.row)
		if m.final != (i == len(figures)-1) {
			t.Errorf("figure %d of %d: final %v", i, len(figures), m.final)
		}
	}
	lines := out.of("line")
	if s := lines[len(lines)/2].text; !strings.Contains(s, "/500") || !strings.Contains(s, "10 ms/round") || !strings.Contains(s, " left") {
		t.Errorf("half way: %s", s)
	}
	if s := lines[len(lines)-1].text; !strings.HasPrefix(s, "FedAvg  ✓ 500 rounds in 5.24 s · accuracy ") {
		t.Errorf("at the end: %s", s)
	}
	if !lines[len(lines)-1].final || lines[0].final || log.Len() > 0 {
		t.Errorf("log %q", log)
	}
}

func TestLiveOverlaysRuns(t *testing.T) {
	l, out, _ := fakeLive()
	for seed := range uint64(3) {
		play(l, out.clock, synthetic("FedAvg", seed, 20, 1, 5, 0.9), time.Second, nil)
	}
	play(l, out.clock, synthetic("FedProx", 9, 20, 1, 5, 0.9), time.Second, context.Canceled)
	last := plain(l.lines(l.now()))
	if n := strings.Count(last, "\n"); n != 3 || !strings.Contains(last, "FedProx  ✗ canceled after round 20 of 20") {
		t.Errorf("lines:\n%s", last)
	}
	row := l.row()
	if len(row) != 2 || len(row[0].Series) != 2 || len(row[0].Series[0].Lo) != 20 || row[0].Series[1].Lo != nil {
		t.Fatalf("want a line with a band and one without: %+v", row)
	}
	// A fourth seed while it goes on: a line of its own, over the band of the finished ones.
	h := synthetic("FedAvg", 4, 20, 1, 5, 0.9)
	h.Rounds = h.Rounds[:7]
	l.Round(h, 20)
	if s := l.row()[0].Series; len(s) != 3 || s[2].Name != "FedAvg" || len(s[2].X) != 7 || len(s[0].X) != 20 {
		t.Errorf("%+v", s)
	}
	charttest.Spec(t, l.row())
}

// Runs of one name that are not seeds of one configuration are told apart, in the lines and in the figure.
func TestLiveTellsRunsApart(t *testing.T) {
	l, out, _ := fakeLive()
	for _, lr := range []float64{0.001, 0.1} {
		play(l, out.clock, with(0, lr), time.Second, nil)
	}
	if s := plain(l.lines(l.now())); !strings.HasPrefix(s, "FedAvg, Local.LR 0.001  ✓") || !strings.Contains(s, "\nFedAvg, Local.LR 0.1  ✓") {
		t.Errorf("lines:\n%s", s)
	}
	if s := l.row()[0].Series; len(s) != 2 || s[1].Name != "FedAvg, Local.LR 0.1" || s[0].Lo != nil {
		t.Errorf("%+v", s)
	}
}

func TestLiveFailures(t *testing.T) {
	l, out, _ := fakeLive()
	l.Done(history("early"), errors.New("no clients\nstack"))
	if s := plain(l.lines(l.now())); s != "early  ✗ failed before round 1: no clients" {
		t.Errorf("%q", s)
	}
	if len(out.of("figure")) != 0 {
		t.Error("a figure of nothing")
	}
	l.Round(nil, 3)
	l.Done(nil, nil)
	l.Round(&fedkit.History{}, 0)

	l, out, log := fakeLive()
	out.err = errors.New("pipe closed")
	play(l, out.clock, history("x", 0.1, 0.2, nan, 0.5), time.Second, nil)
	if n := strings.Count(log.String(), "pipe closed"); n != 1 || !strings.HasPrefix(log.String(), chart.ErrorPrefix+"plot: live: ") {
		t.Errorf("said %d times", n)
	}
}

// A notebook that takes 100 ms for a message is sent few of them: at most 5 % of the time goes there, but for the end.
func TestLiveBacksOff(t *testing.T) {
	l, out, _ := fakeLive()
	out.slow = 100 * time.Millisecond
	begin := *out.clock
	play(l, out.clock, synthetic("FedAvg", 1, 600, 1, 3, 0.9), 50*time.Millisecond, nil)
	if share := float64(len(out.messages)-2) * 0.1 / out.clock.Sub(begin).Seconds(); share > 0.12 {
		t.Errorf("%.0f %% of the time", 100*share)
	}
}

func TestLiveOutsideNotebook(t *testing.T) {
	chart.Dir = t.TempDir()
	defer func() { chart.Dir = "" }()
	l, out, log := fakeLive()
	l.notebook, l.pause, l.figure = false, logPause, &chart.Display{Log: log}
	play(l, out.clock, synthetic("FedAvg", 1, 100, 1, 5, 0.9), 500*time.Millisecond, errors.New("out of memory"))
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 7 || !strings.Contains(lines[5], "✗ failed after round 100 of 100: out of memory") || !strings.HasPrefix(lines[6], "wrote ") {
		t.Errorf("in 50 s:\n%s", log)
	}
	if _, err := os.Stat(filepath.Join(chart.Dir, "live.png")); err != nil {
		t.Error(err)
	}
	log.Reset()
	l.terminal, l.pause = true, linePause
	play(l, out.clock, history("B", 0.1, 0.2), time.Second, nil)
	if s := plain(log.String()); strings.Count(s, "\r") != 3 || strings.Count(s, "\n") != 2 {
		t.Errorf("%q", s)
	}
}

// Names and errors neither move a terminal's cursor nor begin lines.
func TestLineOfAnyName(t *testing.T) {
	p := &progress{Run: compare.Run{History: &fedkit.History{}}, label: "\x1b[2J\r\nFedAvg", over: true, err: errors.New("\x1bc")}
	if got, want := p.line(time.Now()), `\u001b[2J\r\nFedAvg  ✗ failed before round 1: \u001bc`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLiveIsNamed(t *testing.T) {
	if l := Live("sweep").(*live); l.name != "sweep" || l.now == nil || l.line == l.figure {
		t.Errorf("%+v", l)
	}
	if l := Live().(*live); l.name != "live" {
		t.Errorf("%+v", l)
	}
}

// One update of a 500-round run over 100 clients, figure included.
func BenchmarkLiveUpdate(b *testing.B) {
	l, _, _ := fakeLive()
	h := synthetic("FedAvg", 1, 500, 1, 100, 0.9)
	l.Round(h, 1000)
	for b.Loop() {
		l.lineAt, l.figureAt = time.Time{}, time.Time{}
		l.Round(h, 1000)
	}
}
