package plot

import (
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// measure is one of the values of a score.
type measure struct {
	name  string
	axis  chart.Axis // without its title
	value func(*fedkit.Score) float64
}

// by reads the measure of the models that the runs are compared by.
func (m measure) by(b compare.Basis) func(*compare.Run) []value {
	return func(r *compare.Run) (all []value) {
		for _, p := range b.Points(r) {
			all = append(all, value{p.Round, m.value(p.Score)})
		}
		return all
	}
}

// curves returns the curve of runs of a group; two if they served personal models beside a global one.
func (m measure) curves(g *compare.Group, runs []*compare.Run, b compare.Basis) []curve {
	if !g.Both() {
		return []curve{average(g.Name, runs, m.by(b))}
	}
	first := average(g.Name+", "+b.Name(), runs, m.by(b))
	second := average(g.Name+", "+b.Other().Name(), runs, m.by(b.Other()))
	first.of, second.of, second.beside = g.Name, g.Name, first.name
	return []curve{first, second}
}

// draw draws the measure against rounds. A curve that has nothing to draw is reported, and left out of the figure.
func (m measure) draw(f *chart.Figure, gs []*compare.Group, cs []curve, b compare.Basis) error {
	f.Name, f.Title, f.Y = m.name, "Test "+m.name, m.axis
	f.Y.Title = m.name + " " + b.String()
	err := drawCurves(f, cs, m.name)
	if slices.ContainsFunc(gs, (*compare.Group).Both) {
		f.Y.Title = m.name + " " + compare.GlobalModel.String() + " and " + compare.OwnModels.String()
		if slices.ContainsFunc(gs, func(g *compare.Group) bool { return !g.Both() }) {
			note(f, "unless a name says otherwise: %s", b)
		}
	}
	return err
}

// overRounds fills in the figure of the measure against rounds.
func (m measure) overRounds(f *chart.Figure, all []*compare.Run, b compare.Basis) error {
	gs := compare.GroupRuns(all)
	var cs []curve
	for _, g := range gs {
		cs = append(cs, m.curves(g, g.Runs, b)...)
	}
	err := m.draw(f, gs, cs, b)
	noteEach(f, compare.Remarks(gs))
	return err
}
