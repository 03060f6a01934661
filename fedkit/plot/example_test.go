package plot_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/plot"
)

// run is a history as fedkit.Run returns it, with these accuracies of the global model.
func run(name string, accuracy ...fedkit.Float) *fedkit.History {
	h := &fedkit.History{Name: name, Clients: 3}
	for i, a := range accuracy {
		h.Rounds = append(h.Rounds, fedkit.Record{
			Round: i + 1, Seconds: 0.5, BytesUp: 1000, BytesDown: 2000,
			Global:  &fedkit.Score{Accuracy: a, Loss: 1 - a, Examples: 100},
			Results: []fedkit.ClientResult{{Client: i % 3, Steps: 10, Loss: 1 - a, Drift: 0.1 * fedkit.Float(i+1)}},
		})
	}
	return h
}

// A figure is customized before it is shown. The seeds of one configuration are one experiment: a mean, with a band from five seeds
// on, and else with the seeds themselves.
func ExampleAccuracy() {
	again := run("FedAvg", 0.4, 0.8)
	again.Seed = 1
	f := plot.Accuracy(run("FedAvg", 0.2, 0.4), again, run("FedProx", 0.3, 0.7))
	f.Title, f.Targets = "MNIST, two classes per client", []float64{0.75}
	for _, s := range f.Series {
		fmt.Printf("%s: rounds %v, accuracy %.2f, thin: %v\n", s.Name, s.X, s.Y, s.Thin)
	}
	fmt.Println(f.Y.Title)
	fmt.Println(f.Note)
	// f.Show() draws it.

	// Output:
	// FedAvg: rounds [1 2], accuracy [0.30 0.60], thin: false
	// FedProx: rounds [1 2], accuracy [0.30 0.70], thin: false
	// FedAvg: rounds [1 2], accuracy [0.20 0.40], thin: true
	// FedAvg: rounds [1 2], accuracy [0.40 0.80], thin: true
	// accuracy of the global model
	// line: mean of 2 runs; thin lines: single runs
}

func ExampleAgainst() {
	f := plot.Against(compare.Sent, compare.Accuracy, run("FedAvg", 0.2, 0.4, 0.5))
	fmt.Println(f.X.Title, f.Series[0].X, f.Series[0].Y)
	// Output:
	// sent, both ways (kB) [3 6 9] [0.2 0.4 0.5]
}

func ExampleHeat() {
	f := plot.Heat(run("FedAvg", 0.2, 0.8, 0.6), plot.Drift)
	fmt.Println(f.Title)
	fmt.Printf("%s %.1f\n", f.Series[0].Of, f.Series[0].Values)
	// Output:
	// Drift of each client: FedAvg
	// drift [0.1 0.2 0.3]
}

func ExampleLabels() {
	fed := &fedkit.Federation{
		Rule:    "by hand",
		Data:    &datasets.Dataset{Name: "toy", Classes: 2, Train: datasets.Split{Labels: []int32{0, 1, 1, 0}}},
		Clients: []partition.Client{{Train: []int{0, 1, 2}}, {Train: []int{3}}},
	}
	f := plot.Labels(fed)
	fmt.Println(f.Note)
	fmt.Println("clients", f.Series[0].X, "labels", f.Series[0].Y, "rows", f.Series[0].Size)
	// Output:
	// toy: by hand; area: number of rows, the largest is 2
	// clients [0 0 1] labels [0 1 0] rows [1 2 1]
}

// A group keeps its color though the second round numbers its clusters again. Sorted by true group, clients 0 and 2 are
// side by side.
func ExampleClusters() {
	h := &fedkit.History{Name: "FedClust", Rounds: []fedkit.Record{
		{Round: 1, Clusters: []int{0, 1, 0, 1}},
		{Round: 2, Clusters: []int{1, 0, 1, 1}},
	}}
	f := plot.Clusters(h, 0, 1, 0, 1) // or partition.Groups(fed.Clients)...
	fmt.Println("from the bottom up:", f.Y.Names)
	for _, s := range f.Series[:2] {
		fmt.Println(s.Name, "clients", s.Tip, "from round", s.X[0]+0.5)
	}
	// Output:
	// from the bottom up: [0 2 1 3]
	// cluster 0 clients [0 2 3] from round 1
	// cluster 1 clients [1 3] from round 1
}

// Four clients on a line, in two pairs. The tree is cut between the heights of its merges inside and across clusters.
func ExampleDendrogram() {
	points := cluster.FromVectors(mat.NewDense(4, 1, []float64{0, 10, 1, 12}))
	tree, err := cluster.Link(points, cluster.Single)
	if err != nil {
		fmt.Println(err)
		return
	}
	f := plot.Dendrogram(tree, tree.Cut(2))
	fmt.Println("leaves", f.X.Names, "cut at", f.Targets)
	// Output:
	// leaves [0 2 1 3] cut at [5.5]
}
