package plot

import (
	"fmt"
	"slices"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
)

// Sizes returns the figure of how many training rows each client holds; Show draws it. There is one bar per client, the
// largest first, in the color of its true group. Beyond 100 clients it is a histogram of the sizes instead. The note
// says how many clients of one size there are in effect: partition.EffectiveClients.
//
// Errors: no federation, no data, no clients.
func Sizes(fed *fedkit.Federation) *chart.Figure {
	return chart.Make("plot: sizes", func(f *chart.Figure) error {
		if err := holds(fed); err != nil {
			return err
		}
		sizes := partition.Sizes(fed.Clients)
		for _, c := range fed.Clients { // groups have the colors they have in Labels
			trueGroup(f, c.Group, chart.Cells)
		}
		if len(sizes) > maxClients {
			for i, c := range fed.Clients {
				s := trueGroup(f, c.Group, chart.Cells)
				s.X = append(s.X, float64(sizes[i]))
			}
			*f = *chart.Histogram("", "training rows", "clients", f.Series...)
		} else {
			sizeBars(f, fed, sizes)
		}
		f.Name, f.Title, f.Height = "sizes", "Training rows of each client", 220
		f.Note = dealt(fed, fmt.Sprintf("%d to %d rows; in effect %.1f clients of one size",
			slices.Min(sizes), slices.Max(sizes), partition.EffectiveClients(sizes)))
		return nil
	})
}

func sizeBars(f *chart.Figure, fed *fedkit.Federation, sizes []int) {
	f.X, f.Y = chart.Axis{Title: "clients, the largest first", Whole: true}, chart.Axis{Title: "training rows", Whole: true}
	f.Point, f.Width = "client", min(900, max(360, 22*len(sizes)))
	for rank, i := range sorted(len(sizes), func(i int) int { return -sizes[i] }) {
		s := trueGroup(f, fed.Clients[i].Group, chart.Cells)
		s.Cell(float64(rank)+0.58, float64(rank)+1.42, 0, float64(sizes[i]), fmt.Sprintf("%d: %d rows", i, sizes[i]))
	}
}
