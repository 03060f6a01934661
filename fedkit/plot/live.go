package plot

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/progress"
)

// mostCurves limits the configurations in the figure, so that their colors differ and updates are fast.
const mostCurves = 20

// Live returns a watcher that draws a run in progress: a line with the round, accuracy (R² of a regression), loss, time per round and
// the time left (see progress.Line), and a figure of accuracy and loss against rounds. Both stay in place and are updated a few times per
// second at most. A 500-round run leaves two outputs, the last line and the figure. A run that is stopped or
// canceled, or fails, says so in its line and keeps its figure. One that resumes from its checkpoint has all its rounds in the
// figure.
//
// Pass one watcher to several runs to see them in one figure: finished runs stay, and the seeds of one configuration merge into
// their mean, as in Accuracy. Runs may be concurrent. Beyond 20 configurations, as a study may have, the figure shows the
// latest.
//
// Outside a notebook the figure is written into chart.Dir when a run is over, as "live.html" or the name given here. A figure that
// cannot be shown or written never stops the run: the reason is printed once on standard error.
func Live(name ...string) fedkit.Watcher { return watch(strings.Join(name, "-")) }

// Follow shows a run that another program computes, a notebook whose page was closed for example: the line and the figure of
// Live, until the run is over. See progress.Follow for all else.
func Follow(path string) (*fedkit.History, error) {
	return watch(filepath.Base(path)).Follow(path)
}

func watch(name string) *progress.Watcher {
	figure := &chart.Display{Log: os.Stderr}
	return progress.New(func(runs []*progress.Run, final bool) error {
		if row := live(cmp.Or(name, "live"), runs); row != nil {
			return figure.Show(row, final)
		}
		return nil
	})
}

// live returns accuracy and loss side by side; one of them if the other has no finite value, nil if neither has.
func live(name string, runs []*progress.Run) (row chart.Row) {
	for _, q := range []compare.Quantity{compare.Accuracy, compare.Loss} {
		if f := panel(q, runs); f != nil {
			f.Name, f.Width, f.Height = name, 380, 280
			row = append(row, f)
		}
	}
	return row
}

// panel draws one quantity: finished runs as Accuracy would, and each active run as a line of its own; nil if there is nothing to
// draw.
func panel(q compare.Quantity, runs []*progress.Run) *chart.Figure {
	shown, b := comparable(q, runs)
	drawn := each(shown, func(p *progress.Run) *compare.Run { return &p.Run })
	q, gs := q.For(drawn...), compare.GroupRuns(drawn)
	all := len(gs)
	v := &view{q, b, latest(gs, shown), q.Range}
	going := map[*compare.Run]bool{}
	for _, p := range shown {
		going[&p.Run] = !p.Ended
	}
	var over, on []curve
	for _, g := range v.groups {
		var done []*compare.Run
		for _, r := range g.Runs {
			if !going[r] {
				done = append(done, r)
			} else {
				on = append(on, v.curvesOf(g, []*compare.Run{r})...)
			}
		}
		if done != nil {
			over = append(over, v.curvesOf(g, done)...)
		}
	}
	f := &chart.Figure{}
	if _ = v.draw(f, append(over, on...)); f.Series == nil { // curves without a common round are left out
		return nil
	}
	f.X.Include = planned(shown)
	if len(v.groups) < all {
		note(f, "the latest %d of %d configurations", len(v.groups), all)
	}
	return f
}

// planned returns the x axis from the beginning: the rounds of the active runs.
func planned(shown []*progress.Run) (rounds []float64) {
	for _, p := range shown {
		if !p.Ended && p.Planned > 0 {
			rounds = append(rounds, 1, float64(p.Planned))
		}
	}
	return rounds
}

// latest returns the groups of the latest runs, as many as are drawn, in their order.
func latest(gs []*compare.Group, runs []*progress.Run) []*compare.Group {
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

// comparable returns the runs that have something to draw: all of them or, without a common basis, those on the basis of the
// newest.
func comparable(q compare.Quantity, runs []*progress.Run) (shown []*progress.Run, b compare.Basis) {
	has := func(p *progress.Run, b compare.Basis) bool {
		return slices.ContainsFunc(q.ByRound(&p.Run, b), func(v compare.Value) bool { return finite(v.Of) })
	}
	for _, p := range runs {
		if has(p, compare.GlobalModel) || has(p, compare.OwnModels) {
			shown = append(shown, p)
		}
	}
	b, err := compare.CommonBasis(each(shown, func(p *progress.Run) *compare.Run { return &p.Run }))
	if err != nil {
		newest := shown[len(shown)-1]
		if b = compare.OwnModels; has(newest, compare.GlobalModel) {
			b = compare.GlobalModel
		}
		shown = slices.DeleteFunc(shown, func(p *progress.Run) bool { return !has(p, b) || q.For(&p.Run).Name != q.For(&newest.Run).Name })
	}
	return shown, b
}
