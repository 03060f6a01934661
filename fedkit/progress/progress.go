// Package progress shows the progress of runs in lines of text. It draws nothing: plot.Live adds a figure.
//
//	h, err := fedkit.Run(ctx, fed, avg, fedkit.Options{Rounds: 30, Watch: progress.Line()})
//	h, err = progress.Follow("runs/digits") // of a run that another program computes
//
// prints
//
//	FedAvg  ████████░░░░░░░░░░░░ round 12/30 · accuracy 91.4 % · loss 0.3 · 81 ms/round · 2 s left
package progress

import (
	"cmp"
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
	shown            string           // the line
	late             bool             // the figure is a round behind
	ticking          bool
	complained       bool
}

// New returns a watcher that shows the line of Line, and calls figure, unless nil, with all runs in the order in which they
// began: from time to time in a notebook, and at the end, with final set, anywhere. An error or panic of figure is printed once
// on standard error, and never stops a run.
func New(figure func(runs []*Run, final bool) error) *Watcher {
	terminal := int(os.Stderr.Fd())
	w := &Watcher{figure: figure, now: time.Now, log: os.Stderr, notebook: display.InNotebook(), pause: linePause, tick: linePause / 2,
		line: new(display.Output).Text, terminal: term.IsTerminal(terminal), width: func() int {
			columns, _, _ := term.GetSize(terminal)
			return columns
		}}
	if !w.notebook && !w.terminal {
		w.pause = logPause
	}
	return w
}

// do runs f with the time, while no other update goes on. A panic of the figure does not reach the run.
func (w *Watcher) do(f func(now time.Time)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.complain(display.Try(func() error {
		f(w.now())
		return nil
	}))
}

// Start is called before the first round: see fedkit.Watcher. In a log, which keeps every line, the first one comes later.
func (w *Watcher) Start(h *fedkit.History, of int) {
	w.do(func(now time.Time) {
		p := w.run(h)
		p.begin(h, of, now)
		w.late = w.late || p.round > 0
		if w.notebook || w.terminal {
			w.update(p, now)
		}
		if !w.ticking && w.tick > 0 {
			w.ticking = true
			go func() {
				for w.refresh() {
					time.Sleep(w.tick)
				}
			}()
		}
	})
}

// refresh updates what is shown when it is due, since rounds may take long. It returns false if no run is active.
func (w *Watcher) refresh() (ticking bool) {
	w.do(func(now time.Time) {
		w.ticking = false // also if it panics
		for _, p := range slices.Backward(w.runs) {
			if !p.Ended {
				w.update(p, now)
				w.ticking = true
				break
			}
		}
		ticking = w.ticking
	})
	return ticking
}

// Round implements fedkit.Watcher.
func (w *Watcher) Round(h *fedkit.History, of int) {
	if h == nil {
		return
	}
	w.do(func(now time.Time) {
		p := w.run(h)
		p.advance(h, of, now)
		w.late = true
		w.update(p, now)
	})
}

// Done implements fedkit.Watcher.
func (w *Watcher) Done(h *fedkit.History, err error) {
	h = cmp.Or(h, &fedkit.History{Name: "run"})
	w.do(func(now time.Time) {
		p := w.run(h)
		p.end(h, err, now)
		w.groups = nil
		if w.plan != nil && p.state() == failed && !w.notebook { // a notebook lists it
			w.tellApart()
			w.print(p.line(now), true)
		}
		if w.plan != nil && !w.plan.over(w.runs) {
			w.update(p, now)
			return
		}
		w.lineAt, w.figureAt = time.Time{}, time.Time{}
		w.showLine(p, now, true)
		w.draw(true)
	})
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

// after returns the time of the next update. A slow update, because the notebook is slow, delays it.
func (w *Watcher) after(begin time.Time, pause time.Duration) time.Time {
	end := w.now()
	return end.Add(max(pause, costShare*end.Sub(begin)))
}

// showLine shows the state of a run, or of the study; final means that no run is active.
func (w *Watcher) showLine(p *Run, now time.Time, final bool) {
	w.tellApart()
	var text string
	switch {
	case w.notebook:
		text = w.lines(now)
	case w.plan != nil:
		text = w.plan.line(w.runs, now)
	default:
		text = p.line(now)
	}
	if whole := final && w.plan == nil && p.state() == failed; w.terminal && !whole {
		text = fit(text, w.width()-1)
	}
	if text == w.shown && !final {
		return
	}
	w.shown = text
	if w.notebook {
		w.complain(w.line(text, final))
	} else {
		w.print(text, final)
	}
}

// print writes a line to the log. On a terminal, the next line overwrites one that is not final.
func (w *Watcher) print(line string, final bool) {
	line = text.Lines(line)
	if w.terminal {
		line = "\r\x1b[K" + line
	}
	if final || !w.terminal {
		line += "\n"
	}
	fmt.Fprint(w.log, line)
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
		case w.plan == nil || p.state() == failed:
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
