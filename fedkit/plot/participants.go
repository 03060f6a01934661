package plot

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// Participants returns the figure of how often each client took part; Show draws it. It has a row of bars for each
// configuration, one bar per client, all to one scale. A bar is the mean over the runs of a configuration, with several
// seeds, as in Accuracy. At most the first 100 clients are drawn.
//
// Errors: no history, a nil one, one in which nobody took part.
func Participants(h ...*fedkit.History) *chart.Figure {
	return chart.Make("plot: participants", func(f *chart.Figure) error {
		all, gs, err := attendances(h)
		if err != nil {
			return err
		}
		most, clients := 0.0, 0
		for _, a := range all {
			most, clients = max(most, slices.Max(a.times)), max(clients, len(a.times))
		}
		shown := min(clients, maxClients)
		f.Name, f.Title, f.Point = "participants", "How often each client took part", "took part"
		f.X = chart.Axis{Title: "client", Whole: true}
		f.Width, f.Height = min(900, max(360, 26*shown)), 40+76*len(all)
		note(f, "bar: rounds with the client, the highest is %.3g", most)
		noteFirst(f, shown, clients, " clients")
		noteEach(f, compare.Remarks(gs))
		for i, a := range all {
			f.Y.Names = append([]string{a.name}, f.Y.Names...)
			f.Series = append(f.Series, a.bars(float64(len(all)-1-i), most)) // the first on top
		}
		return nil
	})
}

// attendance is in how many rounds each client took part, the mean over the runs of a group.
type attendance struct {
	name   string
	rounds float64
	times  []float64
}

func attendances(h []*fedkit.History) (all []*attendance, gs []*compare.Group, err error) {
	runs, err := compare.Runs(h...)
	if err != nil {
		return nil, nil, err
	}
	gs = compare.GroupRuns(runs)
	for _, g := range gs {
		a := &attendance{name: g.Name}
		share := 1 / float64(len(g.Runs))
		for _, r := range g.Runs {
			if !a.add(r.History, share) {
				return nil, nil, fmt.Errorf("history %q has no client that took part in any of its %d rounds", r.Name, r.Rounds)
			}
		}
		all = append(all, a)
	}
	return all, gs, nil
}

// add counts a run by its share of all runs, and reports whether any client took part.
func (a *attendance) add(h *fedkit.History, share float64) (any bool) {
	a.rounds += share * float64(len(h.Rounds))
	a.times = append(a.times, make([]float64, max(0, h.Clients-len(a.times)))...)
	for _, r := range h.Rounds {
		for _, c := range r.Clients() {
			if c >= 0 && c < len(a.times) {
				a.times[c] += share
				any = true
			}
		}
	}
	return any
}

func (a *attendance) bars(row, most float64) chart.Series {
	s := chart.Series{Name: a.name, Mark: chart.Cells}
	for c, n := range a.times[:min(len(a.times), maxClients)] {
		s.Cell(float64(c)-0.4, float64(c)+0.4, row-0.45, row-0.45+0.88*n/most+0.012, fmt.Sprintf("%.3g of %.3g rounds", n, a.rounds))
	}
	return s
}
