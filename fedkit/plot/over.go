package plot

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/internal/text"
)

// Over returns the figure of a quantity against rounds, such as compare.Loss, compare.ARI or compare.Note("norm"); Show draws it. There is one line per configuration. Scores are those of
// the global model if every history has one, else the mean over clients of the model each would use, weighted by its test
// examples; the axis says which. A strategy that served personal models beside a global one has both lines, which say
// what they are of: "FedPRISM, global" and "FedPRISM, clients' own". Values that are not finite are left out; the note counts them,
// and says how many rounds have a value if not all do.
//
// Runs of one configuration, with several seeds, become one line: their mean over the rounds that all of them have. From five runs
// on it lies in the band of its 95 % confidence interval (see stats.Interval), as in tables; of fewer, the runs themselves are thin
// lines beside it. Bands end where the quantity does: at 0 and 100 % for an accuracy. Such runs have equal Name, Config, Data,
// Partition, Model, Clients, Params and Manifest, except for the seeds of the run, the partition and parts. Where names collide, what
// differs is added to them: "FedAvg, Local.LR 0.1", or in the end a number. A run that is given again counts once. The note says so,
// and which runs were stopped. The axis is logarithmic if the values are no shares and span more than three powers of ten; bytes and
// simulated times are in the unit that suits them.
//
// Errors: no history, a nil one, one without the quantity, or for scores without an evaluated round; a quantity that has no values
// by round.
func Over(q compare.Quantity, h ...*fedkit.History) *chart.Figure {
	return chart.Make("plot: "+q.Name, func(f *chart.Figure) error {
		v, err := newView(q, h)
		if err != nil {
			return err
		}
		err = v.draw(f, v.curves())
		v.sayRounds(f)
		v.remark(f)
		return err
	})
}

// Accuracy is that on test examples, or R² for regressions, which have no accuracy: see Over.
func Accuracy(h ...*fedkit.History) *chart.Figure { return Over(compare.Accuracy, h...) }

// Against returns the figure of a quantity against another, its cost, in the same rounds: compare.Sent, compare.Time or
// compare.Simulated, say; Show draws it. Several runs of one configuration have their mean cost at each round. All else is as in Over.
//
//	plot.Against(compare.Simulated, compare.Accuracy, hs...).Show()
//
// Errors: those of Over for both quantities.
func Against(cost, q compare.Quantity, h ...*fedkit.History) *chart.Figure {
	return chart.Make("plot: against", func(f *chart.Figure) error {
		v, err := newView(q, h)
		if err != nil {
			return err
		}
		runs, _, err := cost.Follow(h...)
		if err != nil {
			return err
		}
		cost := cost.For(runs...)
		var cs []curve
		for _, g := range v.groups {
			for _, c := range v.curvesOf(g, g.Runs) {
				c.x = v.costs(cost, g.Runs, c.x)
				for i := range c.single {
					c.single[i].X = v.costs(cost, g.Runs[i:i+1], c.single[i].X)
				}
				cs = append(cs, c)
			}
		}
		err = v.draw(f, cs)
		f.Name += "-against-" + cost.Name
		f.X = unitAxis(cost, cost.Range, f.Series, func(s *chart.Series) [][]float64 { return [][]float64{s.X} })
		v.sayRounds(f)
		if slices.ContainsFunc(v.groups, func(g *compare.Group) bool { return len(g.Runs) > 1 }) {
			note(f, "%s: mean over runs", strings.ToLower(cmp.Or(cost.Title, cost.Axis())))
		}
		v.remark(f)
		return err
	})
}

// view is a quantity of some runs.
type view struct {
	compare.Quantity
	basis  compare.Basis
	groups []*compare.Group
	bounds [2]float64 // of its values: the quantity's range, unless a run exceeds it
}

func newView(q compare.Quantity, h []*fedkit.History) (*view, error) {
	all, b, err := q.Follow(h...)
	if err != nil {
		return nil, err
	}
	q = q.For(all...)
	return &view{q, b, compare.GroupRuns(all), q.Range}, nil
}

// curves returns the curve of each group; two if it served personal models beside a global one.
func (v *view) curves() (cs []curve) {
	for _, g := range v.groups {
		cs = append(cs, v.curvesOf(g, g.Runs)...)
	}
	return cs
}

// curvesOf returns those of some of a group's runs.
func (v *view) curvesOf(g *compare.Group, runs []*compare.Run) []curve {
	if !v.Scored() || !g.Both() {
		return []curve{v.average(g.Name, runs, v.basis)}
	}
	first := v.average(g.Name+", "+v.basis.Name(), runs, v.basis)
	second := v.average(g.Name+", "+v.basis.Other().Name(), runs, v.basis.Other())
	first.of, second.of, second.beside = g.Name, g.Name, first.name
	return []curve{first, second}
}

// average returns the mean over runs, and each of them. A round counts for the mean if every run has a finite value there: a mean
// over other runs at other rounds would bend the curve.
func (v *view) average(name string, runs []*compare.Run, b compare.Basis) curve {
	c := curve{name: name, runs: len(runs), single: make([]chart.Series, len(runs))}
	for i, r := range runs {
		one := &c.single[i]
		for _, value := range v.ByRound(r, b) {
			if !v.take(value.Of) {
				c.bad++
				continue
			}
			one.X, one.Y = append(one.X, float64(value.Round)), append(one.Y, value.Of)
		}
		if c.longest = max(c.longest, len(one.X)); len(one.X) < 2 {
			one.Mark = chart.Dots
		}
	}
	if len(runs) == 1 { // a thousand of them are drawn in a second
		c.x, c.mean, c.least = c.single[0].X, c.single[0].Y, 1
		return c
	}
	values := make([]float64, 0, len(runs))
	for _, x := range c.single[0].X {
		values = values[:0]
		for _, one := range c.single {
			if i, there := slices.BinarySearch(one.X, x); there {
				values = append(values, one.Y[i])
			}
		}
		if len(values) == len(runs) {
			c.add(x, values...)
		}
	}
	return c
}

// take reports whether a value of a run can be drawn, and lets the bounds hold it.
func (v *view) take(of float64) bool {
	if finite(of) && v.bounds != [2]float64{} {
		v.bounds = [2]float64{min(v.bounds[0], of), max(v.bounds[1], of)}
	}
	return finite(of)
}

// costs returns the mean cost of runs at some rounds, NaN for one without.
func (v *view) costs(cost compare.Quantity, runs []*compare.Run, rounds []float64) []float64 {
	costs := make([]float64, len(rounds))
	for _, r := range runs {
		at := map[float64]float64{}
		for _, c := range cost.ByRound(r, v.basis) {
			at[float64(c.Round)] = c.Of
		}
		for i, round := range rounds {
			c, there := at[round]
			if !there {
				c = math.NaN()
			}
			costs[i] += c / float64(len(runs))
		}
	}
	return costs
}

// draw draws the curves against rounds. One that has nothing to draw is reported, and left out of the figure.
func (v *view) draw(f *chart.Figure, cs []curve) error {
	f.Name, f.Title = strings.ReplaceAll(v.Name, " ", "-"), cmp.Or(v.Title, v.Axis())
	f.Y.Percent = v.Unit == "%"
	err := drawCurves(f, cs, v.Axis())
	log := f.Y.Log
	f.Y = unitAxis(v.Quantity, v.bounds, f.Series, func(s *chart.Series) [][]float64 { return [][]float64{s.Y, s.Lo, s.Hi} })
	f.Y.Log = log
	if v.Scored() {
		f.Title = "Test " + v.Name
		v.sayBasis(f)
	}
	return err
}

// sayBasis says which models scores are of.
func (v *view) sayBasis(f *chart.Figure) {
	if !slices.ContainsFunc(v.groups, (*compare.Group).Both) {
		f.Y.Title += " " + v.basis.String()
		return
	}
	f.Y.Title += " " + compare.GlobalModel.String() + " and " + compare.OwnModels.String()
	if slices.ContainsFunc(v.groups, func(g *compare.Group) bool { return !g.Both() }) {
		note(f, "unless a name says otherwise: %s", v.basis)
	}
}

// sayRounds says how many of their rounds the runs have values in, unless in all.
func (v *view) sayRounds(f *chart.Figure) {
	var have, all []int
	var of []string
	runs := 0
	for _, g := range v.groups {
		runs += len(g.Runs)
		for _, r := range g.Runs {
			n, last := len(v.ByRound(r, v.basis)), r.History.Last()
			if last != nil && n < last.Round {
				have, all, of = append(have, n), append(all, last.Round), append(of, g.Name)
			}
		}
	}
	if of == nil {
		return
	}
	note(f, "values in %s of %s rounds", span(have), span(all))
	if len(of) < runs {
		f.Note += " (" + some(of) + ")"
	}
}

func (v *view) remark(f *chart.Figure) { noteEach(f, compare.Remarks(v.groups)) }

// unitAxis returns the axis of a quantity with these bounds, and brings the values that are on it into the unit that suits them.
func unitAxis(q compare.Quantity, bounds [2]float64, series []chart.Series, on func(*chart.Series) [][]float64) chart.Axis {
	var all [][]float64
	most := 0.0
	for i := range series {
		for _, values := range on(&series[i]) {
			all = append(all, values)
			for _, v := range values {
				if finite(v) {
					most = max(most, v)
				}
			}
		}
	}
	unit, size := "", 1.0
	switch q.Unit {
	case "B":
		unit, size = text.ByteUnit(most)
	case "s":
		unit, size = timeUnit(most)
	}
	a := chart.Axis{Title: q.Axis(), Percent: q.Unit == "%", Whole: q.Unit == "1", Include: slices.Clone(q.Include), Bounds: bounds}
	if unit == "" {
		return a
	}
	a.Title += " (" + unit + ")"
	for _, v := range append(all, a.Include, a.Bounds[:]) {
		for i := range v {
			v[i] /= size
		}
	}
	return a
}

// timeUnit returns the unit that suits times up to most, in s, and its length.
func timeUnit(most float64) (unit string, seconds float64) {
	unit, seconds = "s", 1
	for _, larger := range []struct {
		unit          string
		from, seconds float64
	}{{"min", 10 * 60, 60}, {"h", 4 * 3600, 3600}, {"days", 4 * 86400, 86400}} {
		if most >= larger.from {
			unit, seconds = larger.unit, larger.seconds
		}
	}
	return unit, seconds
}
