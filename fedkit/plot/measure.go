package plot

import (
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
)

// measure is one of the values of a score.
type measure struct {
	name  string
	share bool
	value func(*fedkit.Score) float64
}

// by reads the measure of the models that the runs are compared by.
func (m measure) by(b basis) func(*track) []value {
	return func(t *track) (all []value) {
		for _, p := range b.points(t) {
			all = append(all, value{p.round, m.value(p.score)})
		}
		return all
	}
}

// curves returns the curve of runs of a group; two if they served personal models beside a global one.
func (m measure) curves(g *group, runs []*track, b basis) []curve {
	if !g.both() {
		return []curve{average(g.name, runs, m.by(b))}
	}
	first := average(g.name+", "+b.name, runs, m.by(b))
	second := average(g.name+", "+b.other().name, runs, m.by(b.other()))
	second.beside = first.name
	return []curve{first, second}
}

// draw draws the measure against rounds. A curve that has nothing to draw is reported, and left out of the figure.
func (m measure) draw(f *chart.Figure, gs []*group, cs []curve, b basis) error {
	f.Name, f.Title = m.name, "Test "+m.name
	f.Y = chart.Axis{Title: m.name + " " + b.of, Percent: m.share}
	err := drawCurves(f, cs, m.name)
	if slices.ContainsFunc(gs, (*group).both) {
		f.Y.Title = m.name + " " + globalModel.of + " and " + ownModels.of
		if slices.ContainsFunc(gs, func(g *group) bool { return !g.both() }) {
			note(f, "unless a name says otherwise: %s", b.of)
		}
	}
	return err
}

// overRounds fills in the figure of the measure against rounds.
func (m measure) overRounds(f *chart.Figure, all []*track, b basis) error {
	gs := groups(all)
	var cs []curve
	for _, g := range gs {
		cs = append(cs, m.curves(g, g.runs, b)...)
	}
	err := m.draw(f, gs, cs, b)
	noteEach(f, remarks(gs))
	return err
}
