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
		runs, err := compare.Runs(h...)
		if err != nil {
			return err
		}
		gs := compare.GroupRuns(runs)
		times, rounds := make([][]float64, len(gs)), make([]float64, len(gs)) // of each group: rounds with each client, and all of them
		most, clients := 0.0, 0
		for i, g := range gs {
			if times[i], rounds[i], err = attendance(g); err != nil {
				return err
			}
			most, clients = max(most, slices.Max(times[i])), max(clients, len(times[i]))
		}
		shown := min(clients, maxClients)
		f.Name, f.Title, f.Point = "participants", "How often each client took part", "took part"
		f.X = chart.Axis{Title: "client", Whole: true}
		f.Width, f.Height = min(900, max(360, 26*shown)), 40+76*len(gs)
		note(f, "bar: rounds with the client, the highest is %.3g", most)
		noteFirst(f, shown, clients, " clients")
		noteEach(f, compare.Remarks(gs))
		for i, g := range gs { // the first on top
			s, row := chart.Series{Name: g.Name, Mark: chart.Cells}, float64(len(gs)-1-i)
			for c, n := range times[i][:min(len(times[i]), maxClients)] {
				s.Cell(float64(c)-0.4, float64(c)+0.4, row-0.45, row-0.45+0.88*n/most+0.012, fmt.Sprintf("%.3g of %.3g rounds", n, rounds[i]))
			}
			f.Series = append(f.Series, s)
		}
		f.Y.Names = backward(each(gs, func(g *compare.Group) string { return g.Name }))
		return nil
	})
}

// attendance returns in how many rounds each client took part, and how many there are: means over the runs of a group.
func attendance(g *compare.Group) (times []float64, rounds float64, err error) {
	share := 1 / float64(len(g.Runs))
	for _, r := range g.Runs {
		any, h := false, r.History
		rounds += share * float64(len(h.Rounds))
		times = append(times, make([]float64, max(0, h.Clients-len(times)))...)
		for _, record := range h.Rounds {
			for _, c := range record.Clients() {
				if c >= 0 && c < len(times) {
					times[c], any = times[c]+share, true
				}
			}
		}
		if !any {
			return nil, 0, fmt.Errorf("history %q has no client that took part in any of its %d rounds", r.Name, r.Rounds)
		}
	}
	return times, rounds, nil
}
