package plot_test

import (
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/plot"
)

// A cell has its share of the row; of a thousand classes those with the most errors are drawn, and the note says so.
func TestConfusion(t *testing.T) {
	f := plot.Confusion(&fedkit.Predictions{Outputs: [][]float32{{1, 0}, {0, 1}, {0, 1}, {0, 1}}, Labels: []int32{0, 0, 0, 1}})
	expect.OK(t, f.Err())
	s := f.Series[0]
	expect.That(t, len(s.Values) == 4 && s.Values[0] == 1./3 && s.Values[3] == 1 && f.Note == "", "values %v, note %q", s.Values, f.Note)
	expect.That(t, strings.HasPrefix(s.Tip[1], "0 as 1: 2 of 3, 66.7"), "tips %q", s.Tip)
	expect.That(t, s.Y[0] > s.Y[3] && f.Y.Names[1] == "0" && f.X.Names[1] == "1", "names %v and %v", f.X.Names, f.Y.Names)

	many := &fedkit.Predictions{}
	for i := range 2000 {
		out := make([]float32, 1000)
		out[i%1000] = 1
		many.Outputs, many.Labels = append(many.Outputs, out), append(many.Labels, int32(i%1000))
	}
	many.Labels[500], many.Labels[1999] = 77, 3
	f = plot.Confusion(many)
	expect.OK(t, f.Err())
	expect.That(t, f.Note == "30 of 1000 classes: those with the most errors" && len(f.Series[0].Values) == 900, "note %q", f.Note)
	for _, class := range []string{"3", "77", "500", "999"} {
		expect.That(t, strings.Contains(" "+strings.Join(f.X.Names, " ")+" ", " "+class+" "), "class %s is not among %v", class, f.X.Names)
	}
	for _, p := range []*fedkit.Predictions{nil, {}, {Labels: []int32{1}}, {Outputs: [][]float32{{1}}, Targets: []float32{1}}} {
		err := plot.Confusion(p).Err()
		expect.That(t, err != nil && strings.Contains(err.Error(), "plot: confusion: the predictions have no outputs with labels"), "error %v", err)
	}
	wide := &fedkit.Predictions{Outputs: [][]float32{make([]float32, 5000)}, Labels: []int32{1}}
	err := plot.Confusion(wide).Err()
	expect.That(t, err != nil && strings.Contains(err.Error(), "classes of the predictions = 5000: must be at most 4096"), "error %v", err)
}
