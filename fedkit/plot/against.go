package plot

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/internal/text"
)

// Cost is what accuracy is drawn against instead of rounds.
type Cost int

const (
	Bytes   Cost = iota // sent so far, from the server to clients and back
	Seconds             // wall time of the rounds so far, evaluations apart
	Clock               // simulated time, of runs whose clients have devices
)

// Against returns the figure of test accuracy against its cost; Show draws it. Several runs of one configuration have their mean
// cost at each round. All else is as in Accuracy.
//
// Errors: those of Accuracy, a cost that is not one, Clock of a run without one.
func Against(x Cost, h ...*fedkit.History) *chart.Figure {
	return chart.Make("plot: against", func(f *chart.Figure) error {
		if x < Bytes || x > Clock {
			return fmt.Errorf("cost %d: must be plot.Bytes, plot.Seconds or plot.Clock", int(x))
		}
		all, b, err := compared(h)
		if err != nil {
			return err
		}
		for _, r := range all {
			if err := clocked(r); x == Clock && err != nil {
				return err
			}
		}
		gs := compare.GroupRuns(all)
		var cs []curve
		several, most := false, 0.0
		for _, g := range gs {
			several = several || len(g.Runs) > 1
			for _, c := range accuracy.curves(g, g.Runs, b) {
				c.x = x.at(c.x, g.Runs)
				most = slices.Max(append(c.x, most))
				cs = append(cs, c)
			}
		}
		err = accuracy.draw(f, gs, cs, b)
		f.X = x.axis(f, most)
		f.Name += []string{"-against-bytes", "-against-seconds", "-against-clock"}[x]
		if several {
			note(f, "%s: mean over runs", []string{"bytes", "time", "simulated time"}[x])
		}
		noteEach(f, compare.Remarks(gs))
		return err
	})
}

// at returns the mean cost of runs up to each of these rounds, which all of them have.
func (c Cost) at(rounds []float64, runs []*compare.Run) []float64 {
	costs := make([]float64, len(rounds))
	for _, r := range runs {
		sum, next := 0.0, 0
		for i := range r.History.Rounds {
			rec := &r.History.Rounds[i]
			switch c {
			case Bytes:
				sum += compare.Sent(rec)
			case Seconds:
				sum += rec.Seconds
			case Clock:
				sum = float64(rec.Clock)
			}
			if next < len(rounds) && float64(rec.Round) == rounds[next] {
				costs[next] += sum / float64(len(runs))
				next++
			}
		}
	}
	return costs
}

// axis returns the axis of the cost, up to most. Bytes and simulated time are drawn in the unit that suits them.
func (c Cost) axis(f *chart.Figure, most float64) chart.Axis {
	title, unit, by := "time", "s", 1.0
	switch c {
	case Bytes:
		title = "sent, both ways"
		unit, by = text.ByteUnit(most)
	case Clock:
		title = "simulated time"
		unit, by = timeUnit(most)
	}
	for _, s := range f.Series {
		for i := range s.X {
			s.X[i] /= by
		}
	}
	return chart.Axis{Title: title + " (" + unit + ")"}
}
