package plot

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
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/internal/text"
)

// Pauses between updates. A figure is redrawn by the browser from scratch, so it comes less often than the line.
const (
	linePause   = 200 * time.Millisecond
	figurePause = 600 * time.Millisecond
	logPause    = 10 * time.Second // if lines cannot be overwritten
	costShare   = 60               // an update that takes t is followed by none for costShare · t
	mostLines   = 12               // of finished runs
	mostCurves  = 20               // configurations in the figure: their colors still differ, and updates are fast
)

// Live returns a watcher that draws a run while it goes on: a line with the round, accuracy, loss, time per round and
// the time left, and a figure of accuracy and loss against rounds. The line is there as soon as the run begins, says so while
// programs are compiled, and ticks while a round takes long. Both stay in place and are updated a few times per
// second at most. A 500-round run leaves two outputs, the last line and the figure with its PNG. A run that
// is stopped or canceled, or fails, says so in its line and keeps its figure. One that goes on from its checkpoint has all its
// rounds in the figure.
//
// Pass one watcher to several runs to see them in one figure: finished runs stay, and the seeds of one configuration
// merge into a mean and a band as in Accuracy. It may watch runs that go on at the same time.
//
// A study says how many runs it has (see fedkit.PlanWatcher), and is seen from then on: "57 of 100 done, 2 running, 12
// stored, 3 min left", with a line for each run that goes on or failed. Beyond 20 configurations, the figure has the latest.
//
// Outside a notebook the line goes to standard error (every 10 seconds if that is no terminal), and the figure is
// written into chart.Dir when a run is over, as "live.png" or the name given here. A figure that cannot be shown or
// written never stops the run: the reason is said once on standard error.
func Live(name ...string) fedkit.Watcher {
	l := &live{
		name:     cmp.Or(strings.Join(name, "-"), "live"),
		now:      time.Now,
		log:      os.Stderr,
		notebook: chart.InNotebook(),
		pause:    linePause,
		tick:     linePause / 2,
		line:     &chart.Display{},
		figure:   &chart.Display{Log: os.Stderr},
	}
	if info, err := os.Stderr.Stat(); err == nil {
		l.terminal = info.Mode()&os.ModeCharDevice != 0
	}
	if !l.notebook && !l.terminal {
		l.pause = logPause
	}
	return l
}

// Progress is Live without the figure: only the line.
func Progress() fedkit.Watcher {
	l := Live().(*live)
	l.figure = nil
	return l
}

// display is a chart.Display, or a stand-in for one in tests.
type display interface {
	Text(text string, final bool) error
	Show(r chart.Row, final bool) error
}

type live struct {
	name               string
	now                func() time.Time
	log                io.Writer     // standard error
	notebook, terminal bool          // whether there is a notebook; whether log is a terminal
	pause              time.Duration // between lines
	tick               time.Duration // how often the line is looked after between rounds; 0 for never
	line, figure       display

	mu               sync.Mutex
	runs             []*progress
	groups           []*compare.Group // of runs, until another begins or one ends
	plan             *plan            // of a study, nil without one
	lineAt, figureAt time.Time        // no update before these
	said             string           // the line that is shown
	late             bool             // the figure lacks a round
	ticking          bool
	complained       bool
}

var _ fedkit.StartWatcher = (*live)(nil)

// Start implements fedkit.StartWatcher. In a log, which keeps every line, the first one comes later.
func (l *live) Start(h *fedkit.History, of int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.rescue()
	now := l.now()
	p := l.run(h)
	p.begin(h, of, now)
	l.late = l.late || p.round > 0
	if l.notebook || l.terminal {
		l.update(p, now)
	}
	if !l.ticking && l.tick > 0 {
		l.ticking = true
		go func() {
			for l.lookAfter() {
				time.Sleep(l.tick)
			}
		}()
	}
}

// lookAfter updates what is shown if it is time to, since rounds may take long. It returns false if no run goes on.
func (l *live) lookAfter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.rescue()
	l.ticking = false // also if it panics
	for _, p := range slices.Backward(l.runs) {
		if !p.over {
			l.update(p, l.now())
			l.ticking = true
			break
		}
	}
	return l.ticking
}

// Round implements fedkit.Watcher.
func (l *live) Round(h *fedkit.History, of int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.rescue()
	if h == nil {
		return
	}
	now := l.now()
	p := l.run(h)
	p.advance(h, of, now)
	l.late = true
	l.update(p, now)
}

// update shows the line, and in a notebook the figure, unless it is too early for that.
func (l *live) update(p *progress, now time.Time) {
	if now.Before(l.lineAt) {
		return
	}
	l.showLine(p, now, false)
	l.lineAt = l.after(now, l.pause)
	if !l.notebook || !l.late || now.Before(l.figureAt) {
		return
	}
	l.showFigure(false)
	l.figureAt = l.after(now, figurePause)
}

// Done implements fedkit.Watcher.
func (l *live) Done(h *fedkit.History, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.rescue()
	if h == nil {
		h = &fedkit.History{Name: "run"}
	}
	now := l.now()
	p := l.run(h)
	p.Follow(h)
	p.over, p.err, p.last = true, err, now
	l.groups = nil
	if r := h.Last(); r != nil {
		p.round = r.Round // also if a checkpoint had it
	}
	if p.start.IsZero() {
		p.start = now
	}
	p.forget()
	if l.plan != nil && p.failed() && !l.notebook { // a notebook has it among its lines
		l.tellApart()
		l.print(p.line(now), "\n")
	}
	if l.plan != nil && !l.plan.over(l.runs) {
		l.update(p, now)
		return
	}
	l.lineAt, l.figureAt = time.Time{}, time.Time{}
	l.showLine(p, now, true)
	l.showFigure(true)
}

// run returns what is known of the run with this history.
func (l *live) run(h *fedkit.History) *progress {
	for _, p := range l.runs {
		if p.History == h && !p.over {
			return p
		}
	}
	if l.plan != nil && l.plan.over(l.runs) { // this run is none of the study's
		l.plan = nil
	}
	p := &progress{Run: compare.Run{History: h}}
	l.runs, l.groups = append(l.runs, p), nil
	return p
}

// after returns when the next update may come. An update that was slow, because the notebook is, makes it later.
func (l *live) after(begin time.Time, pause time.Duration) time.Time {
	end := l.now()
	return end.Add(max(pause, costShare*end.Sub(begin)))
}

// showLine shows what a run has to say; final says that no run goes on.
func (l *live) showLine(p *progress, now time.Time, final bool) {
	l.tellApart()
	text := l.headline(p, now)
	if l.notebook {
		text = l.lines(now)
	}
	if text == l.said && !final {
		return
	}
	l.said = text
	switch {
	case l.notebook:
		l.complain(l.line.Text(text, final))
	case final:
		l.print(text, "\n")
	default:
		l.print(text, "")
	}
}

// print writes a line to the log. One without an end is overwritten by the next, if the log is a terminal.
func (l *live) print(line, end string) {
	line = text.Lines(line)
	if l.terminal {
		fmt.Fprintf(l.log, "\r\x1b[K%s%s", line, end)
	} else {
		fmt.Fprintln(l.log, line)
	}
}

// headline is the one line of a terminal: of the study if there is one, else of the run.
func (l *live) headline(p *progress, now time.Time) string {
	if l.plan != nil {
		return l.plan.line(l.runs, now)
	}
	return p.line(now)
}

// tellApart labels the runs as in the figure.
func (l *live) tellApart() {
	if l.groups != nil {
		return
	}
	of := map[*compare.Run]*progress{}
	for _, p := range l.runs {
		of[&p.Run] = p
	}
	l.groups = compare.GroupRuns(each(l.runs, func(p *progress) *compare.Run { return &p.Run }))
	for _, g := range l.groups {
		for _, r := range slices.Concat(g.Runs, g.Repeats) {
			of[r].label = g.Name
		}
	}
}

// lines is one line per run: the latest finished ones, then those that go on. Of a study it is a line for all of it, and
// one for each run that goes on or failed.
func (l *live) lines(now time.Time) string {
	var study, over, on []string
	for _, p := range l.runs {
		switch {
		case !p.over:
			on = append(on, p.line(now))
		case l.plan == nil || p.failed():
			over = append(over, p.line(now))
		}
	}
	if n := len(over) - mostLines; n > 0 {
		over = append([]string{fmt.Sprintf("… %d more finished", n)}, over[n:]...)
	}
	if l.plan != nil {
		study = []string{l.plan.line(l.runs, now)}
	}
	return strings.Join(slices.Concat(study, over, on), "\n")
}

// showFigure draws what there is to draw.
func (l *live) showFigure(final bool) {
	if l.figure == nil {
		return
	}
	l.late = false
	if row := l.row(); row != nil {
		l.complain(l.figure.Show(row, final))
	}
}

// row returns accuracy and loss side by side; one of them if the other has no finite value, nil if neither has.
func (l *live) row() (row chart.Row) {
	for _, m := range []measure{accuracy, loss} {
		if f := l.panel(m); f != nil {
			f.Name, f.Width, f.Height = l.name, 380, 280
			row = append(row, f)
		}
	}
	return row
}

// panel draws one measure: finished runs as Accuracy would, and each run that goes on as a line of its own; nil if there
// is nothing to draw.
func (l *live) panel(m measure) *chart.Figure {
	shown, b := l.comparable(m)
	gs := compare.GroupRuns(each(shown, func(p *progress) *compare.Run { return &p.Run }))
	all := len(gs)
	gs = latest(gs, shown)
	going := map[*compare.Run]bool{}
	for _, p := range shown {
		going[&p.Run] = !p.over
	}
	var over, on []curve
	for _, g := range gs {
		var done []*compare.Run
		for _, r := range g.Runs {
			if !going[r] {
				done = append(done, r)
			} else {
				on = append(on, m.curves(g, []*compare.Run{r}, b)...)
			}
		}
		if done != nil {
			over = append(over, m.curves(g, done, b)...)
		}
	}
	f := &chart.Figure{}
	if _ = m.draw(f, gs, append(over, on...), b); f.Series == nil { // curves without a common round are left out
		return nil
	}
	f.X.Covers = planned(shown)
	if len(gs) < all {
		note(f, "the latest %d of %d configurations", len(gs), all)
	}
	return f
}

// planned returns the rounds that the axis has from the beginning: those of the runs that go on.
func planned(shown []*progress) (rounds []float64) {
	for _, p := range shown {
		if !p.over && p.of > 0 {
			rounds = append(rounds, 1, float64(p.of))
		}
	}
	return rounds
}

// latest returns the groups that the latest runs belong to, as many as are drawn, in the order they have.
func latest(gs []*compare.Group, runs []*progress) []*compare.Group {
	if len(gs) <= mostCurves {
		return gs
	}
	of := map[*compare.Run]*compare.Group{}
	for _, g := range gs {
		for _, r := range slices.Concat(g.Runs, g.Repeats) {
			of[r] = g
		}
	}
	drawn := map[*compare.Group]bool{}
	for _, p := range slices.Backward(runs) {
		if len(drawn) < mostCurves {
			drawn[of[&p.Run]] = true
		}
	}
	return slices.DeleteFunc(gs, func(g *compare.Group) bool { return !drawn[g] })
}

// comparable returns the runs that have something to draw: all of them, or if they have no model in common to be
// judged by, those that are judged as the newest is.
func (l *live) comparable(m measure) (shown []*progress, b compare.Basis) {
	has := func(p []compare.Point) bool {
		return slices.ContainsFunc(p, func(q compare.Point) bool { return finite(m.value(q.Score)) })
	}
	for _, p := range l.runs {
		if has(p.Global) || has(p.Own) {
			shown = append(shown, p)
		}
	}
	b, err := compare.CommonBasis(each(shown, func(p *progress) *compare.Run { return &p.Run }))
	if err != nil {
		if b = compare.OwnModels; has(shown[len(shown)-1].Global) {
			b = compare.GlobalModel
		}
		shown = slices.DeleteFunc(shown, func(p *progress) bool { return !has(b.Points(&p.Run)) })
	}
	return shown, b
}

func (l *live) complain(err error) {
	if err != nil && !l.complained {
		l.complained = true
		fmt.Fprintf(l.log, "%splot: live: %v\n", chart.ErrorPrefix, err)
	}
}

// rescue keeps a panic of the drawing libraries away from the run.
func (l *live) rescue() {
	if p := recover(); p != nil {
		l.complain(fmt.Errorf("could not be drawn: %v", p))
	}
}
