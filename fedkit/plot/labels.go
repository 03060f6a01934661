package plot

import (
	"fmt"
	"slices"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
)

// maxBubbles is how many clients have bubbles that are more than dust.
const maxBubbles = 40

// Labels returns the figure of the distribution of labels over clients; Show draws it. The area of the bubble at (client, label)
// is the number of training rows with that label that the client holds. Clients of different true groups differ in color. Of more
// than 40 clients, a cell takes the place of each bubble, the darker the more rows, with a strip of the true groups on top. At most
// the first 100 clients are drawn, fewer if there are very many labels; the note says so.
//
// Errors: no federation, no data, no clients, a data set without labels, a row that the data set does not have.
func Labels(fed *fedkit.Federation) *chart.Figure {
	return chart.Make("plot: labels", func(f *chart.Figure) error {
		counts, err := labelCounts(fed)
		if err != nil {
			return err
		}
		shown := firstClients(counts, 1000)
		f.Name, f.Title = "labels", "Labels of each client's training rows"
		f.X, f.Y = chart.Axis{Title: "client", Whole: true}, chart.Axis{Title: "label", Whole: true}
		f.Width = min(900, max(360, 40*shown))
		f.Height = min(620, max(200, max(18, min(28, f.Width/shown))*fed.Data.Classes))
		draw := labelDots
		if shown > maxBubbles {
			draw = labelCells
		}
		f.Note = dealt(fed, draw(f, fed, counts[:shown]))
		held := each(counts, func(of []int) int {
			return len(of) - len(slices.DeleteFunc(slices.Clone(of), func(n int) bool { return n > 0 }))
		})
		f.Alt = fmt.Sprintf("%s with %s of %s each", plural(len(counts), "client"), span(held), plural(fed.Data.Classes, "label"))
		noteFirst(f, shown, len(fed.Clients), " clients")
		return nil
	})
}

// labelDots adds a bubble for each client and label, and says how to read them.
func labelDots(f *chart.Figure, fed *fedkit.Federation, counts [][]int) string {
	f.Area = "training rows"
	most := 0
	for i, of := range counts {
		s := trueGroup(f, fed.Clients[i].Group, chart.Dots)
		for label, n := range of {
			if n > 0 {
				s.X, s.Y, s.Size = append(s.X, float64(i)), append(s.Y, float64(label)), append(s.Size, float64(n))
				most = max(most, n)
			}
		}
	}
	return fmt.Sprintf("area: number of rows, the largest is %d", most)
}

// labelCells adds a cell for each client and label, and a strip of the true groups if there are several. It says how to read them.
func labelCells(f *chart.Figure, fed *fedkit.Federation, counts [][]int) string {
	s := chart.Series{Of: "training rows", Mark: chart.Cells, Covers: []float64{0}}
	f.Point = "training rows"
	for i, of := range counts {
		x := float64(i)
		for label, n := range of {
			if n > 0 {
				s.Cell(x-0.5, x+0.5, float64(label)-0.46, float64(label)+0.46, fmt.Sprint(n))
				s.Values = append(s.Values, float64(n))
			}
		}
	}
	f.Series = []chart.Series{s}
	clients, top := fed.Clients[:len(counts)], float64(fed.Data.Classes)
	if !slices.ContainsFunc(clients, func(c partition.Client) bool { return c.Group != clients[0].Group }) {
		return "shade: number of rows"
	}
	for i, c := range clients {
		trueGroup(f, c.Group, chart.Cells).Cell(float64(i)-0.5, float64(i)+0.5, top-0.4, top-0.1, fmt.Sprint(len(c.Train)))
	}
	return "shade: number of rows; strip: true group"
}

// labelCounts returns [client][label] the number of training rows.
func labelCounts(fed *fedkit.Federation) ([][]int, error) {
	if err := holds(fed); err != nil {
		return nil, err
	}
	if fed.Data.Classes < 1 || len(fed.Data.Train.Labels) < fed.Data.Train.Len() {
		return nil, fmt.Errorf("data set %q has no labels: it is a regression", fed.Data.Name)
	}
	for _, c := range fed.Clients {
		for _, row := range c.Train {
			if l := fed.Data.Train.Labels[row]; fed.Data.Labeled() && (l < 0 || int(l) >= fed.Data.Classes) {
				return nil, fmt.Errorf("training row %d has label %d: must be in [0, %d)", row, l, fed.Data.Classes)
			}
		}
	}
	return partition.Labels(fed.Data, fed.Clients), nil
}

// firstClients returns how many clients can be drawn with at most this many bubbles.
func firstClients(counts [][]int, bubbles int) int {
	for i, c := range counts {
		if i == maxClients {
			return i
		}
		for _, n := range c {
			if n > 0 {
				bubbles--
			}
		}
		if bubbles < 0 && i > 0 {
			return i
		}
	}
	return len(counts)
}

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
		f.Alt = fmt.Sprintf("%s with %s rows", plural(len(sizes), "client"), span(sizes))
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

// ClientLabels returns the figure of the labels of one client's training rows, the share of each; Show draws it. It is the client that
// was clicked last in a figure of clients next to it, such as Clusters with true groups, PCA or Sizes; before, it is the mean of all. At
// most the first 100 clients can be clicked.
//
//	chart.Row{plot.Sizes(fed), plot.ClientLabels(fed)}.Show()
//
// Errors: those of Labels, and of chart.Row.Click.
func ClientLabels(fed *fedkit.Federation) *chart.Figure {
	return chart.Make("plot: client labels", func(f *chart.Figure) error {
		counts, err := labelCounts(fed)
		if err != nil {
			return err
		}
		figure := func(title, note string, shares []float64) *chart.Figure {
			f := &chart.Figure{Name: "client-labels", Title: title, Note: note, Width: 200, Height: min(320, max(160, 24*len(shares)))}
			f.X, f.Y = chart.Axis{Title: "share of its training rows", Percent: true, Include: []float64{0}}, chart.Axis{Title: "label", Whole: true, Include: []float64{-0.5, float64(len(shares)) - 0.5}}
			s := chart.Series{Name: "share", Mark: chart.Cells, Ink: true, Opacity: 0.6}
			for label, share := range shares {
				s.Cell(0, share, float64(label)-0.4, float64(label)+0.4)
			}
			f.Series = []chart.Series{s}
			return f
		}
		shown := min(len(counts), maxClients)
		all, row, keys := make([]float64, fed.Data.Classes), make(chart.Row, 1), []string{""}
		for i, of := range counts {
			own, n := make([]float64, len(of)), max(1, len(fed.Clients[i].Train))
			for label, k := range of {
				own[label] = float64(k) / float64(n)
				all[label] += own[label] / float64(len(counts))
			}
			if i < shown {
				row, keys = append(row, figure(fmt.Sprint("Client ", i), plural(len(fed.Clients[i].Train), "row"), own)), append(keys, fmt.Sprint(i))
			}
		}
		row[0] = figure("All clients", "mean", all)
		*f = *row.Click("client", keys...)
		return nil
	})
}
