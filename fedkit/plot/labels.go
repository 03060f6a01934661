package plot

import (
	"fmt"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
)

// Labels returns the figure of the distribution of labels over clients; Show draws it. The area of the bubble at (client, label)
// is the number of training rows with that label that the client holds. Clients of different true groups differ in color. At most
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
		f.Name, f.Title, f.Area = "labels", "Labels of each client's training rows", "training rows"
		f.X, f.Y = chart.Axis{Title: "client", Whole: true}, chart.Axis{Title: "label", Whole: true}
		most := 0
		for i := range shown {
			s := trueGroup(f, fed.Clients[i].Group, chart.Dots)
			for label, n := range counts[i] {
				if n > 0 {
					s.X, s.Y, s.Size = append(s.X, float64(i)), append(s.Y, float64(label)), append(s.Size, float64(n))
					most = max(most, n)
				}
			}
		}
		f.Width = min(900, max(360, 40*shown))
		f.Height = min(620, max(200, max(18, min(28, f.Width/shown))*fed.Data.Classes))
		f.Note = dealt(fed, fmt.Sprintf("area: number of rows, the largest is %d", most))
		noteFirst(f, shown, len(fed.Clients), " clients")
		return nil
	})
}

// labelCounts returns [client][label] the number of training rows.
func labelCounts(fed *fedkit.Federation) ([][]int, error) {
	if err := holds(fed); err != nil {
		return nil, err
	}
	if fed.Data.Classes < 1 || len(fed.Data.Train.Labels) < fed.Data.Train.Len() {
		return nil, fmt.Errorf("data set %q has no labels: it is a regression", fed.Data.Name)
	}
	labels := fed.Data.Train.Labels
	counts := make([][]int, len(fed.Clients))
	for i, c := range fed.Clients {
		counts[i] = make([]int, fed.Data.Classes)
		for _, row := range c.Train {
			l := labels[row]
			if l < 0 || int(l) >= fed.Data.Classes {
				return nil, fmt.Errorf("training row %d has label %d: must be in [0, %d)", row, l, fed.Data.Classes)
			}
			counts[i][l]++
		}
	}
	return counts, nil
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
