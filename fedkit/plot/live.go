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

	"github.com/janpfeifer/gonb/gonbui"

	"fedkit.example/fedkit"
)

// Pauses between updates. A figure is redrawn by the browser from scratch, so it comes less often than the line.
const (
	linePause   = 200 * time.Millisecond
	figurePause = 600 * time.Millisecond
	logPause    = 10 * time.Second // where lines cannot be overwritten
	costShare   = 20               // an update that takes t is followed by none for costShare · t
	mostLines   = 12               // of finished runs
)

// Live returns a watcher that draws a run while it goes on: a line with the round, accuracy, loss, seconds a round and
// the time left, and a figure of accuracy and loss against rounds. Both stay in place and are updated a few times a
// second at most; a 500-round run leaves two outputs, the last line and the figure with its PNG. A run that is
// cancelled or fails says so in its line and keeps its figure.
//
// Pass one watcher to several runs to see them in one figure: finished runs stay, those of the same Name merge into a
// mean and a band as in Accuracy. It may watch runs that go on at the same time.
//
// Outside a notebook the line goes to standard error (every 10 seconds if that is no terminal), and the figure is
// written into Dir when a run is over, as "live.png" or the name given here. A figure that cannot be shown or written
// never stops the run: the reason is said once on standard error.
func Live(name ...string) fedkit.Watcher {
	l := &live{
		name:     cmp.Or(strings.Join(name, "-"), "live"),
		now:      time.Now,
		log:      os.Stderr,
		lineID:   "line_" + gonbui.UniqueId(),
		figureID: "figure_" + gonbui.UniqueId(),
	}
	if gonbui.IsNotebook {
		l.out = notebook{}
	} else if info, err := os.Stderr.Stat(); err == nil {
		l.terminal = info.Mode()&os.ModeCharDevice != 0
	}
	return l
}

type live struct {
	name             string
	now              func() time.Time
	out              screen    // nil outside a notebook
	log              io.Writer // standard error
	terminal         bool      // log is one
	lineID, figureID string

	mu               sync.Mutex
	runs             []*progress
	lineAt, figureAt time.Time // no update before these
	complained       bool
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
	if now.Before(l.lineAt) {
		return
	}
	l.showLine(p)
	l.lineAt = l.after(now, cmp.Or(l.pause(), linePause))
	if l.out == nil || now.Before(l.figureAt) {
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
	p.follow(h)
	p.over, p.err, p.last = true, err, now
	if p.start.IsZero() {
		p.start = now
	}
	l.lineAt, l.figureAt = time.Time{}, time.Time{}
	l.showLine(p)
	l.showFigure(true)
	if l.out != nil {
		l.out.sync()
	}
}

// run returns what is known of the run with this history.
func (l *live) run(h *fedkit.History) *progress {
	for _, p := range l.runs {
		if p.history == h && !p.over {
			return p
		}
	}
	p := &progress{history: h}
	l.runs = append(l.runs, p)
	return p
}

// pause is how long lines wait for each other where the usual time would be too short.
func (l *live) pause() time.Duration {
	if l.out == nil && !l.terminal {
		return logPause
	}
	return 0
}

// after returns when the next update may come. An update that was slow, because the notebook is, makes it later.
func (l *live) after(begin time.Time, pause time.Duration) time.Time {
	end := l.now()
	return end.Add(max(pause, costShare*end.Sub(begin)))
}

func (l *live) showLine(p *progress) {
	switch {
	case l.out != nil:
		l.complain(l.out.send(l.lineID, map[string]any{"text/plain": l.lines()}, nil))
	case l.terminal:
		end := ""
		if p.over {
			end = "\n"
		}
		fmt.Fprintf(l.log, "\r\x1b[K%s%s", p.line(), end)
	default:
		fmt.Fprintln(l.log, p.line())
	}
}

// lines is one line a run: the latest finished ones, then those that go on.
func (l *live) lines() string {
	var over, on []string
	for _, p := range l.runs {
		if p.over {
			over = append(over, p.line())
		} else {
			on = append(on, p.line())
		}
	}
	if n := len(over) - mostLines; n > 0 {
		over = append([]string{fmt.Sprintf("… %d more finished", n)}, over[n:]...)
	}
	return strings.Join(append(over, on...), "\n")
}

// showFigure draws what there is to draw. The PNG comes only with the last picture of a run.
func (l *live) showFigure(final bool) {
	row := l.figure()
	if row == nil {
		return
	}
	s, err := row.prepare()
	if err != nil {
		l.complain(err)
		return
	}
	if l.out == nil {
		path, err := s.write()
		if err == nil {
			fmt.Fprintln(l.log, "wrote", path)
		}
		l.complain(err)
		return
	}
	forms, metadata, err := s.forms(final)
	if err == nil {
		err = l.out.send(l.figureID, forms, metadata)
	}
	l.complain(err)
}

// figure returns accuracy and loss side by side; one of them where the other has no finite value, nil if neither has.
func (l *live) figure() Row {
	var row Row
	for _, m := range []measure{accuracy, loss} {
		if f := l.panel(m); f != nil {
			f.Name, f.Width, f.Height = l.name, 380, 280
			row = append(row, f)
		}
	}
	return row
}

// panel draws one measure: finished runs as Accuracy would, and each run that goes on as a line of its own.
func (l *live) panel(m measure) *Figure {
	var groups, alone []*track
	shown := l.comparable(m)
	for _, p := range shown {
		if p.over {
			groups = append(groups, &p.track)
		}
	}
	for _, p := range shown {
		switch named := func(t *track) bool { return t.name == p.name }; {
		case p.over:
		case slices.ContainsFunc(groups, named):
			alone = append(alone, &p.track)
		default:
			groups = append(groups, &p.track)
		}
	}
	b, err := commonBasis(slices.Concat(groups, alone))
	if err != nil || len(groups) == 0 {
		return nil
	}
	f, _ := m.figure(groups, b) // names without a common round are left out
	for _, c := range alone {
		c := curves([]*track{c}, b, m.value)[0]
		f.Series = append(f.Series, Series{Name: c.name, X: c.round, Y: c.mean})
	}
	if len(f.Series) == 0 {
		return nil
	}
	return f
}

// comparable returns the runs that have something to draw: all of them, or if they have no model in common to be
// judged by, those that are judged as the newest is.
func (l *live) comparable(m measure) []*progress {
	has := func(p []point) bool {
		return slices.ContainsFunc(p, func(q point) bool { return finite(m.value(q)) })
	}
	var shown []*progress
	var all []*track
	for _, p := range l.runs {
		if has(p.global) || has(p.local) {
			shown, all = append(shown, p), append(all, &p.track)
		}
	}
	if len(shown) == 0 {
		return nil
	}
	if _, err := commonBasis(all); err == nil {
		return shown
	}
	global := has(shown[len(shown)-1].global)
	return slices.DeleteFunc(shown, func(p *progress) bool {
		return global && !has(p.global) || !global && !has(p.local)
	})
}

func (l *live) complain(err error) {
	if err != nil && !l.complained {
		l.complained = true
		fmt.Fprintf(l.log, "plot: live: %v\n", err)
	}
}

// rescue keeps a panic of the drawing libraries away from the run.
func (l *live) rescue() {
	if p := recover(); p != nil {
		l.complain(fmt.Errorf("could not be drawn: %v", p))
	}
}
