package plot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/table"
)

// maxConfused is how many classes a confusion matrix shows, of maxCells.
const maxConfused = 30

// Confusion returns the figure of a confusion matrix: a row for each label, the first on top, and a column for each predicted class. A
// cell is the darker the larger its share of the row is, and its tooltip has the number: see metric.Confusion. Of more than 30 classes,
// those with the most errors are drawn; the note says so.
//
//	p := must.M1(fed.Predict(ctx, avg.State.X, datasets.TestPart, nil))
//	plot.Confusion(&p[0]).Show()
//
// Errors: predictions without labels or outputs, more than 4,096 classes.
func Confusion(p *fedkit.Predictions) *chart.Figure {
	return chart.Make("plot: confusion", func(f *chart.Figure) error {
		counts := metric.Confusion(p)
		if counts == nil {
			return errors.New("the predictions have no outputs with labels")
		}
		wrong, row, shown := make([]int, len(counts)), make([]int, len(counts)), []int(nil)
		for i := range counts {
			shown = append(shown, i)
			for j, n := range counts[i] {
				row[i] += n
				wrong[i], wrong[j] = wrong[i]+n, wrong[j]+n
			}
			wrong[i] -= 2 * counts[i][i]
		}
		if len(shown) > maxConfused {
			slices.SortStableFunc(shown, func(i, j int) int { return cmp.Compare(wrong[j], wrong[i]) })
			shown = shown[:maxConfused]
			slices.Sort(shown)
			note(f, "%d of %d classes: those with the most errors", len(shown), len(counts))
		}
		f.Name, f.Title = "confusion", "Confusion matrix: share of each label"
		f.X, f.Y = chart.Axis{Title: "predicted class", Names: each(shown, strconv.Itoa)}, chart.Axis{Title: "label", Names: each(backward(shown), strconv.Itoa)}
		s := chart.Series{Name: "share of the label", Mark: chart.Cells, Covers: []float64{0, 1}}
		for a, i := range shown {
			for b, j := range shown {
				share := float64(counts[i][j]) / float64(max(1, row[i]))
				x, y := float64(b)-0.5, float64(len(shown)-a)-1.5
				s.Cell(x, x+1, y, y+1, fmt.Sprintf("%d as %d: %d of %d, %s", i, j, counts[i][j], row[i], table.Percent(share)))
				s.Values = append(s.Values, share)
			}
		}
		f.Series = []chart.Series{s}
		side := max(14, 420/len(shown)) // whole pixels, so that no seams show
		f.Width, f.Height = side*len(shown), side*len(shown)
		return nil
	})
}
