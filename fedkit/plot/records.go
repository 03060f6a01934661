package plot

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// overRecords fills in the figure of a number of each round against rounds, one line per configuration. Rounds in which the
// number is not finite are left out. Lacking says why a run cannot be drawn, nil if it can.
func overRecords(f *chart.Figure, what string, h []*fedkit.History, read func(*fedkit.Record) float64, lacking func(*compare.Run) error) error {
	return overRuns(f, what, h, func(r *compare.Run) (values []value) {
		for i := range r.History.Rounds {
			rec := &r.History.Rounds[i]
			values = append(values, value{rec.Round, read(rec)})
		}
		return values
	}, lacking)
}

// overRuns is overRecords for what does not follow from one record alone.
func overRuns(f *chart.Figure, what string, h []*fedkit.History, read func(*compare.Run) []value, lacking func(*compare.Run) error) error {
	all, err := compare.Runs(h...)
	if err != nil {
		return err
	}
	for _, r := range all {
		if err := lacking(r); err != nil {
			return err
		}
	}
	gs := compare.GroupRuns(all)
	err = drawCurves(f, each(gs, func(g *compare.Group) curve { return average(g.Name, g.Runs, read) }), what)
	noteEach(f, compare.Remarks(gs))
	return err
}
