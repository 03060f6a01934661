package plot

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/fedtest/expect"
)

// cross returns Moments of four clients on a cross, which is turned by these angles.
func cross(angles ...float64) (all []Moment) {
	for i, a := range angles {
		s, c := math.Sincos(a)
		x := mat.NewDense(4, 2, []float64{3 * c, 3 * s, -3 * c, -3 * s, -s, c, s, -c})
		all = append(all, Moment{5 * (i + 1), cluster.FromVectors(x), [][]int{{0, 0, 1, 1}, {1, 1, 0, 0}}[i%2]})
	}
	return all
}

// By hand: a cross that only turns stands still, and a method that renumbers its clusters changes no color.
func TestPCAs(t *testing.T) {
	truth := []int{0, 0, 1, 1}
	row := append(PCAs(cross(0, 1, 2), truth...), ClientLabels(federation(4, 3, 2, 0.5)))
	charttest.Golden(t, "pcas", row)
	for i, s := range row[0].Series {
		want := row[0].Series[i%2]
		expect.That(t, s.Name == want.Name && near(s.X, want.X) && near(s.Y, want.Y), "%s is at %v, %v, want %v, %v", s.Name, s.X, s.Y, want.X, want.Y)
	}
	one := PCAs(cross(0)) // has no slider
	expect.That(t, len(one) == 1 && one.Err() == nil && one.VegaLite()["params"].([]any)[0].(map[string]any)["name"] == "width", "%v", one.VegaLite()["params"])
}

func TestSimilaritiesOver(t *testing.T) {
	f := SimilaritiesOver(cross(0, 1), 0, 0, 1, 1)
	charttest.Golden(t, "similarities-over", f)
	whole := Similarities(cross(0, 1)[1].Points, []int{0, 0, 1, 1}, 0, 0, 1, 1)
	expect.That(t, f.Err() == nil && slices.Equal(f.Y.Names, whole.Y.Names), "rows %v, want %v, %v", f.Y.Names, whole.Y.Names, f.Err())
}

func TestRounds(t *testing.T) {
	h, fed := synthetic("IFCA", 1, 8, 4, 6, 0.9), federation(6, 4, 2, 0.5)
	charttest.Golden(t, "rounds", Rounds(h, fed))
	b, err := json.Marshal(chart.Row{Sizes(federation(100, 10, 2, 1)), ClientLabels(federation(100, 10, 2, 1))}.VegaLite())
	expect.That(t, err == nil && len(b) < 60_000, "%d bytes for 100 clients, %v", len(b), err)
	alone := Rounds(h, nil)
	expect.That(t, alone.Err() == nil && len(alone) == 2 && slices.Equal(alone[1].Y.Names, []string{"0", "1", "2", "3", "4", "5"}), "%v", alone.Err())
}

// Methods take turns in figures that are rows otherwise.
func TestMenus(t *testing.T) {
	a, b, fed := synthetic("IFCA", 1, 8, 4, 6, 0.9), synthetic("FedSC", 2, 8, 4, 6, 0.8), federation(6, 4, 2, 0.5)
	maps := chart.Row{Rounds(a, fed)[1], Rounds(b, fed)[1]}.Menu("method", "IFCA", "FedSC")
	for _, r := range []chart.Row{
		chart.Row{Accuracy(a, b), maps, ClientLabels(fed)}.Brush(),
		{Dots(compare.Accuracy, "", panels(3)...).Menu("world")},
		{Facets(Accuracy, panels(3)...).Menu("world")},
		{chart.Row{Clusters(a), Clusters(b)}.Menu("method")},
		{chart.Row{Samples(tiny(), 4), Samples(tiny(), 4)}.Slider("round", 1, 9)},
	} {
		charttest.Spec(t, r)
	}
}

func TestTouchRefusals(t *testing.T) {
	fewer := append(cross(0), Moment{9, cluster.FromVectors(mat.NewDense(2, 1, []float64{0, 1})), nil})
	for says, c := range map[string]interface{ Err() error }{
		"plot: PCAs: no moment given":                             PCAs(nil),
		"round 9 has 2 points: must be 4, as round 5 has":         PCAs(fewer),
		"round 5: 1 true groups: must be 4":                       PCAs(cross(0), 1),
		"over rounds: no moment given":                            SimilaritiesOver(nil),
		"plot: similarities over rounds: round 10: no points":     SimilaritiesOver([]Moment{{Round: 10}}),
		"from[1] = 5: must be > 5":                                PCAs(append(cross(0), cross(1)...)),
		"round 10: no points given":                               PCAs([]Moment{{Round: 10}}),
		"plot: client labels: the federation is nil":              ClientLabels(nil),
		`nothing to click for "client"`:                           ClientLabels(federation(3, 2, 1, 1)),
		"plot: clusters: the history is nil":                      chart.Row{Rounds(nil, nil)[1]},
		`plot: clusters: history "one" has no assignment (Record`: Rounds(historyOf("one", 0.5), nil),
	} {
		err := c.Err()
		expect.That(t, err != nil && strings.Contains(err.Error(), says) && !strings.Contains(err.Error(), "could not be drawn"), "%v, want … %s", err, says)
	}
}

// What stands for a figure where none is seen says what it shows, not only of what.
func TestInWords(t *testing.T) {
	says := func(r chart.Row) string {
		cell := charttest.InCell(t)
		r.Show()
		return cell.Outputs[0].Forms["text/plain"].(string)
	}
	for name, f := range figures() {
		got := says(chart.Row{f})
		expect.That(t, strings.Contains(strings.TrimPrefix(got, f.Title), ": "), "%s: %s", name, got)
	}
	moving, truth := assignments([]int{0, 0, 1, 1}, []int{0, 1, 1, 1}, []int{0, 0, 1, 1}, []int{0, 0, 1, 1}), []int{0, 0, 1, 1}
	for want, r := range map[string]chart.Row{
		"2 clusters of 4 clients, ARI with the true groups 1.00; 1 moved, the last in round 3": {Clusters(moving, truth...)},
		"2 clusters of 4 clients; none ever moves":                                             {Clusters(assignments(truth, truth))},
		"5 clients, all merged at ":                                                            {Dendrogram(small, nil)},
		"; cut into branches of ":                                                              {Dendrogram(small, small.Cut(2))},
		"4 clients, mean cosine within groups 0.85, mean cosine between them −0.575":           {Similarities(cluster.FromGram(alike4), nil, 0, 1, 0, 1)},
		"by cluster: cluster 0 (2); cluster 1 (2)":                                             PCAs(cross(0, 1), truth...),
	} {
		got := says(r)
		expect.That(t, strings.Contains(got, want), "%s, want … %s", got, want)
	}
}
