package plot

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
)

// What cannot be drawn is refused before, with the reason.
func TestRefusals(t *testing.T) {
	inf := math.Inf(1)
	one, blank := historyOf("one", 0.5), &fedkit.History{Name: "blank", Rounds: make([]fedkit.Record, 3)}
	onlyOwn, clustered, took := scored(historyOf("L", nan), 0, []float64{0.5}, []int{1}), grouped("IFCA", 0, []float64{0.5}), sample()
	rates := []*fedkit.History{rated("A", "0.1", 0, 0.5), rated("B", "0.1", 0, inf)}
	clocked, light := atWork(), timed(historyOf("light", 0.5), 10)
	light.Rounds[0].Summary = &history.Summary{Training: &history.Training{Clients: 3}}
	twice, high := slices.Clone(small), slices.Clone(small)
	twice[3].A, high[2].Height = 4, nan
	p := cluster.FromGram(alike4)
	gram := func(n int, data ...float64) *cluster.Points { return cluster.FromGram(mat.NewSymDense(n, data)) }
	for says, c := range map[string]interface{ Err() error }{
		"plot: accuracy: no history given":                                               Accuracy(),
		"plot: accuracy: history 2 is nil":                                               Accuracy(one, nil),
		`plot: accuracy: history "blank" has no evaluated round among its 3`:             Accuracy(blank),
		"cannot be compared":                                                             Accuracy(one, onlyOwn),
		`"x" has no round with a finite accuracy`:                                        Accuracy(historyOf("x", inf)),
		"in all of its runs (2)":                                                         Over(compare.Loss, historyOf("x", 0.1), seeded(1, historyOf("x", nan, 0.1))),
		"plot: loss: no history given":                                                   Over(compare.Loss),
		`quantity "rounds to 50 %" has no values by round (Quantity.ByRound)`:            Over(compare.RoundsTo(0.5), one),
		`plot: norms: history "CFL" has no note "norms": it has "norm", "other"`:         Over(compare.Note("norms"), noted(0, "norm", 1)),
		`plot: norm: history "A" has no note "norm": it has none`:                        Over(compare.Note("norm"), noted(0, "norm", 1), historyOf("A", 1)),
		`plot: norm: "CFL" has no round with a finite norm`:                              Over(compare.Note("norm"), noted(0, "norm", inf)),
		`plot: F2: history "A" has no metric "F2": it has "ECE", "F1"`:                   Over(compare.Metric("F2"), metered(historyOf("A", 1), 0, 1, 1)),
		`plot: F1: history "A" has no metric "F1": it has none`:                          Over(compare.Metric("F1"), historyOf("A", 1)),
		`plot: F1: history "CFL" has no evaluated round among its 1`:                     Over(compare.Metric("F1"), noted(0, "norm", 1)),
		"plot: against: no history given":                                                Against(compare.Time, compare.Accuracy),
		`quantity "rounds to 90 %" has no values by round`:                               Against(compare.RoundsTo(0.9), compare.Accuracy, one),
		`plot: against: history "one" has no simulated clock`:                            Against(compare.Simulated, compare.Accuracy, one),
		"plot: by η: no history given":                                                   By("η", compare.Accuracy),
		"plot: by η: history 1 is nil":                                                   By("η", compare.Accuracy, nil),
		`plot: by α: history "A" does not have it, or not as a number: "no α"`:           By("α", compare.Accuracy, rates...),
		"plot: by η: no run has a finite idle share":                                     By("η", compare.Idle, rates...),
		"plot: client accuracy: no history given":                                        ClientAccuracy(),
		`plot: client accuracy: history "one" has no round in which clients were evalu`:  ClientAccuracy(one),
		"plot: participants: no history given":                                           Participants(),
		"plot: participants: history 2 is nil":                                           Participants(took, nil),
		`"blank" has no client that took part in any of its 0`:                           Participants(took, &fedkit.History{Name: "blank"}),
		"of = 7: must be plot.Participation, ":                                           Heat(took, 7),
		"plot: heat: the history is nil":                                                 Heat(nil, Drift),
		`no similarity (ClientResult.Similarity)`:                                        Heat(took, Similarity),
		`"blank" has no participation`:                                                   Heat(blank, Participation),
		"plot: facets: no panel given":                                                   Facets(Accuracy),
		"skewed: plot: accuracy: no history given":                                       Facets(Accuracy, Panel{Name: "skewed", Runs: nil}),
		"b: plot: loss: history 1 is nil: did its run":                                   Facets(over(compare.Loss), panels(1)[0], Panel{Name: "b", Runs: []*fedkit.History{nil}}),
		"plot: dots: no run has a finite idle share":                                     Dots(compare.Idle, "", panels(1)...),
		`plot: dots: baseline "Best": must be one of Good, Fair, Poor`:                   Dots(compare.Accuracy, "Best", panels(1)...),
		"plot: dots: compare: pivot: no panel given":                                     Dots(compare.Accuracy, ""),
		"plot: ranks: no problem given":                                                  Ranks(compare.Loss),
		`baseline = "Best": must be one of "Good", "Fair", "Poor"`:                       Forest(compare.Accuracy, "Best", panels(1)...),
		`plot: gantt: history "one" has no simulated clock: its clients have no devices`: Gantt(one),
		`plot: gantt: history 1 is nil`:                                                  Gantt(nil),
		`plot: gantt: invalid: Clients[1] = 4: must be in [0, 4)`:                        Schedule{Clients: []int{0, 4}}.Gantt(clocked),
		`plot: gantt: invalid: First = 3: must be a round of history "Fe`:                Schedule{First: 3}.Gantt(clocked),
		`plot: gantt: invalid: Last = 1: must be at least First, which is`:               Schedule{First: 2, Last: 1}.Gantt(clocked),
		`plot: gantt: history "light" has no work of these clients in`:                   Gantt(light),
		`plot: gantt: history "A" has no round`:                                          Gantt(timed(&fedkit.History{Name: "A"})),
		`plot: round time: history "one" has no simulated clock`:                         Over(compare.RoundTime, clocked, one),
		`plot: idle: history "one" has no simulated clock`:                               Over(compare.Idle, clocked, one),
		`plot: idle: "light" has no round with a finite idle share`:                      Over(compare.Idle, light),
		`plot: staleness: history "light" has no results of single client`:               Staleness(light),
		`plot: staleness: no history given`:                                              Staleness(),
		"plot: labels: the federation is nil":                                            Labels(nil),
		"plot: labels: the federation has no Data":                                       Labels(&fedkit.Federation{}),
		"plot: sizes: the federation has no Data":                                        Sizes(&fedkit.Federation{}),
		"plot: labels: the federation has no Clients":                                    Labels(&fedkit.Federation{Data: &datasets.Dataset{}}),
		`data set "r" has no labels: it is a regression`:                                 Labels(&fedkit.Federation{Data: &datasets.Dataset{Name: "r"}, Clients: make([]partition.Client, 1)}),
		"client 0 holds training row 1: the data set has": Labels(&fedkit.Federation{
			Data: &datasets.Dataset{Classes: 2, Train: datasets.Split{Labels: []int32{1}}}, Clients: []partition.Client{{Train: []int{1}}}}),
		"plot: samples: the federation is nil":                                             Samples(nil, 4),
		"plot: samples: n = 0: must be in [1, 30]":                                         Samples(tiny(), 0),
		"plot: samples: n = 31: must be in [1, 30]":                                        Samples(tiny(), 31),
		"plot: clusters: the history is nil":                                               Clusters(nil),
		`history "one" has no assignment`:                                                  Clusters(one),
		"plot: clusters: 2 true groups: must be 3, one per client":                         Clusters(assignments([]int{0, 1, 1}), 0, 1),
		"no series has a point":                                                            Clusters(assignments([]int{-1, -1})),
		"plot: ARI: no history given":                                                      Over(compare.ARI),
		"plot: purity: history 2 is nil":                                                   Over(compare.Purity, clustered, nil),
		`plot: NMI: history "one" has no clustering (Record.Clustering)`:                   Over(compare.NMI, clustered, one),
		`history "x" has nothing to compare its clusters with: its federation has no true`: Over(compare.ARI, grouped("x", 0, []float64{nan, nan})),
		`plot: clusters: history "blank" has no clustering`:                                Over(compare.Clusters, blank),
		"plot: cluster distances: the history is nil":                                      ClusterDistances(nil),
		`history "IFCA" has no distances of clusters (Clustering.Distances)`:               ClusterDistances(clustered),
		"plot: dendrogram: the tree has no merge":                                          Dendrogram(nil, nil),
		"plot: dendrogram: merge 3 joins 4 and 7: must be two":                             Dendrogram(twice, nil),
		"plot: dendrogram: merge 0 joins 0 and 2":                                          Dendrogram(cluster.Tree{{A: 0, B: 2}}, nil),
		"plot: dendrogram: merge 0 joins -1 and 1":                                         Dendrogram(cluster.Tree{{A: -1, B: 1}}, nil),
		"plot: dendrogram: merge 2 is at height NaN":                                       Dendrogram(high, nil),
		"plot: dendrogram: 3 labels: must be 5, one per client":                            Dendrogram(small, []int{0, 1, 2}),
		"plot: dendrogram: 1 true groups: must be 5, one per cl":                           Dendrogram(small, nil, 1),
		"similarities: no points given":                                                    Similarities(nil, nil),
		"similarities: no points":                                                          Similarities(new(cluster.Points), nil),
		"inner product of points 0 and 1 is NaN: must be finite":                           Similarities(gram(2, 1, nan, nan, 1), nil),
		"inner product of points 1 and 1 is +Inf: must be finite":                          PCA(gram(2, 1, 0, 0, inf), nil),
		"similarities: 3 labels: must be 4, one per client":                                Similarities(p, []int{1, 2, 3}),
		"similarities: 2 true groups: must be 4, one per client":                           Similarities(p, nil, 1, 2),
		"PCA: no points given":                                                             PCA(nil, nil),
		"PCA: 1 labels: must be 4, one per client":                                         PCA(p, []int{1}),
		"PCA: 5 true groups: must be 4, one per client":                                    PCA(p, nil, 1, 2, 3, 4, 5),
		"PCA: all points are the same":                                                     PCA(gram(3, 1, 1, 1, 1, 1, 1, 1, 1, 1), nil),
		"plot: PCA: all points are the same":                                               PCA(gram(1, 2), nil),
		"PCA: all points are the same: there is nothing to lay out on axes":                PCA(gram(2, 0, 0, 0, 0), nil),
	} {
		err := c.Err()
		expect.That(t, err != nil && strings.Contains(err.Error(), says) && !strings.Contains(err.Error(), "could not be drawn"), "%v, want … %s", err, says)
	}
}
