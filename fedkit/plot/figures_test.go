package plot

import (
	"math"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/charttest"
	"fedkit.example/fedkit/history"
)

// figures is one of each kind.
func figures() map[string]*chart.Figure {
	a, b := historyOf("FedAvg", 0.2, 0.4, 0.6), seeded(1, historyOf("FedAvg", 0.4, nan, 0.8))
	return map[string]*chart.Figure{
		"accuracy": Accuracy(a, b, historyOf("FedProx", 0.3, 0.5, 0.9)),
		"loss":     Over(compare.Loss, a),
		"clients": ClientAccuracy(scored(historyOf("A", 0.5), 0, []float64{0.1, 0.5, 0.9, nan}, []int{5, 5, 5, 5}),
			scored(historyOf("B", 0.5), 0, []float64{1, 1}, []int{5, 0})),
		"labels":     Labels(federation(6, 4, 2, 0.5)),
		"sizes":      Sizes(federation(6, 4, 2, 0.5)),
		"sizes-many": Sizes(federation(130, 4, 2, 0.5)),
		"samples":    Samples(tiny(), 4),
		"clusters":   Clusters(synthetic("IFCA", 1, 8, 4, 6, 0.9)),

		"against-clock": Against(compare.Simulated, compare.Accuracy, timed(historyOf("FedAvg", 0.2, 0.4, 0.6), 500, 1000, 1500), timed(historyOf("FedAsync", 0.1, 0.5), 300, 600)),
		"gantt":         Gantt(atWork()),
		"idle":          Over(compare.Idle, atWork(), working("FedAvg", 3, 5)),
		"round-times":   Over(compare.RoundTime, atWork(), timed(seeded(1, atWork()), 9, 18), working("FedAvg", 3, 5)),
		"staleness":     Staleness(atWork(), attended("FedAvg", 3, []int{0, 1}, []int{2})),
	}
}

func TestFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("drawing")
	}
	for name, f := range figures() {
		t.Run(name, func(t *testing.T) {
			charttest.Golden(t, name, f)
		})
	}
}

func FuzzHistory(f *testing.F) {
	f.Add(0.5, 0.1, 3, 1)
	f.Add(nan, math.Inf(-1), 0, -1)
	f.Fuzz(func(t *testing.T, a, l float64, n, k int) {
		s := fedkit.Score{Accuracy: fedkit.Float(a), Loss: fedkit.Float(l), Examples: n}
		h := &fedkit.History{Name: "<b>", Rounds: []fedkit.Record{
			{Round: n, Global: &s, Scores: []fedkit.Score{s, {}}, Clusters: []int{k, k % 3}}, {Round: k, Scores: []fedkit.Score{s}},
		}}
		h.Rounds[1].Clustering = &history.Clustering{Count: k, ARI: s.Accuracy, Distances: []fedkit.Float{s.Loss, s.Accuracy}}
		for _, f := range []*chart.Figure{Accuracy(h, h), Over(compare.Loss, h, h), ClientAccuracy(h, h), Clusters(h), Clusters(h, k, n), Over(compare.ARI, h, h), Over(compare.Clusters, h), ClusterDistances(h)} {
			fuzzed(t, f)
		}
	})
}

// fuzzed fails the test if a drawing function panicked, or if the figure's specification is invalid.
func fuzzed(t *testing.T, f *chart.Figure) {
	t.Helper()
	if err := f.Err(); err == nil {
		charttest.Spec(t, f)
	} else if strings.Contains(err.Error(), "could not be drawn") {
		t.Error(err)
	}
}
