package plot

import (
	"cmp"
	"fmt"
	"slices"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
)

// Sizes draws how many training rows each client holds: a bar a client, the largest first, in the colour of its true
// group. Beyond 100 clients it is a histogram of the sizes instead. The note says how many clients of one size there
// are in effect: partition.EffectiveClients.
//
// Errors: no federation, no data, no clients.
func Sizes(fed *fedkit.Federation) error { return show(SizesFigure(fed)) }

// SizesFigure returns the figure that Sizes shows.
func SizesFigure(fed *fedkit.Federation) (f *Figure, err error) {
	defer guard(&err)
	if err := holds(fed); err != nil {
		return nil, fmt.Errorf("plot: sizes: %w", err)
	}
	f = &Figure{}
	sizes := partition.Sizes(fed.Clients)
	if len(sizes) > maxClients {
		for i, c := range fed.Clients {
			s := f.group(c.Group, Cells)
			s.X = append(s.X, float64(sizes[i]))
		}
		if f, err = HistogramFigure("", "training rows", f.Series...); err != nil {
			return nil, err
		}
	} else {
		f.X, f.Y = Axis{Title: "clients, the largest first", Whole: true}, Axis{Title: "training rows", Whole: true}
		f.Point = "client"
		for _, c := range fed.Clients { // groups have the colours they have in Labels
			f.group(c.Group, Cells)
		}
		order := indices(len(sizes))
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(sizes[j], sizes[i]) })
		for rank, i := range order {
			s := f.group(fed.Clients[i].Group, Cells)
			s.X, s.X2 = append(s.X, float64(rank)+0.58), append(s.X2, float64(rank)+1.42)
			s.Y, s.Y2 = append(s.Y, 0), append(s.Y2, float64(sizes[i]))
			s.Tip = append(s.Tip, fmt.Sprintf("%d: %d rows", i, sizes[i]))
		}
		f.Width = min(900, max(360, 22*len(sizes)))
	}
	f.Name, f.Title, f.Height = "sizes", "Training rows of each client", 220
	f.Note = dealt(fed, fmt.Sprintf("%d to %d rows; in effect %.1f clients of one size",
		slices.Min(sizes), slices.Max(sizes), partition.EffectiveClients(sizes)))
	return f, nil
}
