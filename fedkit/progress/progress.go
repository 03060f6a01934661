package progress

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/internal/display"
	"fedkit.example/fedkit/internal/text"
	"golang.org/x/term"
)

// Pauses between updates. A figure is redrawn by the browser from scratch, so it comes less often than the line.
const (
	linePause   = 200 * time.Millisecond
	figurePause = 600 * time.Millisecond
	logPause    = 10 * time.Second // if lines cannot be overwritten
	costShare   = 60               // duty cycle of at most 1/60: an update that takes t is followed by none for costShare · t
	mostLines   = 12               // of finished runs
)

// Line returns a watcher that shows a run in a line of text: the round, accuracy, loss, time per round and the time left. The
// line appears as soon as the run begins, shows when programs are compiled, and ticks during long rounds. It stays in place and
// is updated a few times per second at most. Pass one watcher to several runs to have a line for each.
//
// A study announces its runs (see study.PlanWatcher), which are then counted: "57 of 100 done, 2 running, 12 stored, 3 min
// left", in a notebook with a line for each active or failed run.
//
// Outside a notebook the line goes to standard error: on a terminal in its place, shortened to its width, else every 10 seconds.
func Line() fedkit.Watcher { return New(nil) }

// Watcher shows the progress of runs, which may be concurrent: see Line.
type Watcher struct {
	figure             func(runs []*Run, final bool) error // nil for none
	now                func() time.Time
	log                io.Writer                           // standard error
	notebook, terminal bool                                // whether there is a notebook; whether log is a terminal
	width              func() int                          // of the terminal in columns, 0 if unknown; it may change
	pause              time.Duration                       // between lines
	tick               time.Duration                       // interval at which the line is refreshed between rounds; 0 for never
	line               func(text string, final bool) error // shows it in a notebook

	mu               sync.Mutex
	runs             []*Run
	groups           []*compare.Group // of runs; reset when a run begins or ends
	plan             *plan            // of a study, nil without one
	lineAt, figureAt time.Time        // no update before these times
	said             string           // the line that is shown
	late             bool             // the figure is a round behind
	ticking          bool
	complained       bool
}

// New returns a watcher that shows the line of Line, and calls figure, unless nil, with all runs in the order in which they
// began: from time to time in a notebook, and at the end, with final set, anywhere. An error or panic of figure is printed once
// on standard error, and never stops a run.
func New(figure func(runs []*Run, final bool) error) *Watcher {
	w := &Watcher{figure: figure, now: time.Now, log: os.Stderr, notebook: display.InNotebook(), pause: linePause, tick: linePause / 2,
		line: new(display.Output).Text, terminal: term.IsTerminal(int(os.Stderr.Fd())), width: columnsOfTerminal}
	if !w.notebook && !w.terminal {
		w.pause = logPause
	}
	return w
}

// columnsOfTerminal returns the width of the terminal that standard error is, 0 if it is unknown.
func columnsOfTerminal() int {
	columns, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// Start is called before the first round: see fedkit.Watcher. In a log, which keeps every line, the first one comes later.
func (w *Watcher) Start(h *fedkit.History, of int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.rescue()
	now := w.now()
	p := w.run(h)
	p.begin(h, of, now)
	w.late = w.late || p.round > 0
	if w.notebook || w.terminal {
		w.update(p, now)
	}
	if !w.ticking && w.tick > 0 {
		w.ticking = true
		go func() {
			for w.lookAfter() {
				time.Sleep(w.tick)
			}
		}()
	}
}

// lookAfter refreshes what is shown when it is due, since rounds may take long. It returns false if no run is active.
func (w *Watcher) lookAfter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.rescue()
	w.ticking = false // also if it panics
	for _, p := range slices.Backward(w.runs) {
		if !p.Ended {
			w.update(p, w.now())
			w.ticking = true
			break
		}
	}
	return w.ticking
}

// Round implements fedkit.Watcher.
func (w *Watcher) Round(h *fedkit.History, of int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.rescue()
	if h == nil {
		return
	}
	now := w.now()
	p := w.run(h)
	p.advance(h, of, now)
	w.late = true
	w.update(p, now)
}

// update shows the line, and in a notebook the figure, when they are due.
func (w *Watcher) update(p *Run, now time.Time) {
	if now.Before(w.lineAt) {
		return
	}
	w.showLine(p, now, false)
	w.lineAt = w.after(now, w.pause)
	if !w.notebook || !w.late || now.Before(w.figureAt) {
		return
	}
	w.draw(false)
	w.figureAt = w.after(now, figurePause)
}

// Done implements fedkit.Watcher.
func (w *Watcher) Done(h *fedkit.History, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.rescue()
	if h == nil {
		h = &fedkit.History{Name: "run"}
	}
	now := w.now()
	p := w.run(h)
	p.Follow(h)
	p.Ended, p.err, p.last = true, err, now
	w.groups = nil
	if r := h.Last(); r != nil {
		p.round = r.Round // also if a checkpoint had it
	}
	if p.start.IsZero() {
		p.start = now
	}
	p.forget()
	if w.plan != nil && p.failed() && !w.notebook { // a notebook lists it
		w.tellApart()
		w.print(p.line(now), "\n")
	}
	if w.plan != nil && !w.plan.over(w.runs) {
		w.update(p, now)
		return
	}
	w.lineAt, w.figureAt = time.Time{}, time.Time{}
	w.showLine(p, now, true)
	w.draw(true)
}

// run returns the progress of the run with this history.
func (w *Watcher) run(h *fedkit.History) *Run {
	for _, p := range w.runs {
		if p.History == h && !p.Ended {
			return p
		}
	}
	if w.plan != nil && w.plan.over(w.runs) { // this run is none of the study's
		w.plan = nil
	}
	p := &Run{Run: compare.Run{History: h}}
	w.runs, w.groups = append(w.runs, p), nil
	return p
}

// after returns the time of the next update. A slow update, because the notebook is slow, delays it.
func (w *Watcher) after(begin time.Time, pause time.Duration) time.Time {
	end := w.now()
	return end.Add(max(pause, costShare*end.Sub(begin)))
}

// showLine shows the state of a run; final means that no run is active.
func (w *Watcher) showLine(p *Run, now time.Time, final bool) {
	w.tellApart()
	text := w.headline(p, now)
	switch {
	case w.notebook:
		text = w.lines(now)
	case w.terminal && !(final && w.plan == nil && p.failed()): // why a run failed is left whole
		text = fit(text, w.width()-1)
	}
	if text == w.said && !final {
		return
	}
	w.said = text
	switch {
	case w.notebook:
		w.complain(w.line(text, final))
	case final:
		w.print(text, "\n")
	default:
		w.print(text, "")
	}
}

// print writes a line to the log. On a terminal, a line without an end is overwritten by the next.
func (w *Watcher) print(line, end string) {
	line = text.Lines(line)
	if w.terminal {
		fmt.Fprintf(w.log, "\r\x1b[K%s%s", line, end)
	} else {
		fmt.Fprintln(w.log, line)
	}
}

// headline is the single line of a terminal: of the study if there is one, else of the run.
func (w *Watcher) headline(p *Run, now time.Time) string {
	if w.plan != nil {
		return w.plan.line(w.runs, now)
	}
	return p.line(now)
}

// tellApart labels the runs as in the figure.
func (w *Watcher) tellApart() {
	if w.groups != nil {
		return
	}
	var runs []*compare.Run
	of := map[*compare.Run]*Run{}
	for _, p := range w.runs {
		runs, of[&p.Run] = append(runs, &p.Run), p
	}
	w.groups = compare.GroupRuns(runs)
	for _, g := range w.groups {
		for _, r := range slices.Concat(g.Runs, g.Repeats) {
			of[r].label = g.Name
		}
	}
}

// lines has one line per run: the latest finished ones, then the active ones. For a study it has one line in all, and one for
// each active or failed run.
func (w *Watcher) lines(now time.Time) string {
	var study, over, on []string
	for _, p := range w.runs {
		switch {
		case !p.Ended:
			on = append(on, p.line(now))
		case w.plan == nil || p.failed():
			over = append(over, p.line(now))
		}
	}
	if n := len(over) - mostLines; n > 0 {
		over = append([]string{fmt.Sprintf("… %d more finished", n)}, over[n:]...)
	}
	if w.plan != nil {
		study = []string{w.plan.line(w.runs, now)}
	}
	return strings.Join(slices.Concat(study, over, on), "\n")
}

// draw draws the figure, if there is one.
func (w *Watcher) draw(final bool) {
	if w.late = false; w.figure != nil {
		w.complain(w.figure(w.runs, final))
	}
}

func (w *Watcher) complain(err error) {
	if err != nil && !w.complained {
		w.complained = true
		fmt.Fprintf(w.log, "%sprogress: %v\n", display.ErrorPrefix, err)
	}
}

// rescue keeps a panic of the figure away from the run.
func (w *Watcher) rescue() {
	if p := recover(); p != nil {
		w.complain(fmt.Errorf("could not be drawn: %v", p))
	}
}
