package plot_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/plot"
	"fedkit.example/fedkit/sim"
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

// A group keeps its color though the second round numbers its clusters anew. Sorted by true group, clients 0 and 2 are
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

// A round of 10 s in which client 0 waits for 2 s, and client 2 drops out after 4.
func ExampleSchedule_Gantt() {
	h := run("FedAvg", 0.3)
	h.Devices = config.Of(sim.Devices{})
	h.Rounds[0] = fedkit.Record{Round: 1, Clock: 10,
		Results:  []fedkit.ClientResult{{Client: 0, Received: 1, Finished: 5, Arrived: 8}, {Client: 1, Received: 2, Finished: 6, Arrived: 10}},
		Absences: []history.Absence{{Client: 2, End: 4, DroppedOut: true}}}
	f := plot.Schedule{First: 1, Last: 1}.Gantt(h)
	fmt.Println("clients from the bottom up:", f.Y.Names)
	for _, s := range f.Series[:4] {
		fmt.Println(s.Name, "from", s.X, "to", s.X2)
	}
	fmt.Println("idle", plot.Over(compare.Idle, h).Series[0].Y)
	// Output:
	// clients from the bottom up: [2 1 0]
	// download from [0 0] to [1 2]
	// training from [1 2] to [5 6]
	// upload from [5 6] to [8 10]
	// no result from [0] to [4]
	// idle [0.08333333333333333]
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

func ExampleSimilarities() {
	points := cluster.FromVectors(mat.NewDense(3, 2, []float64{1, 0, 0, 2, 4, 3}))
	f := plot.Similarities(points, []int{0, 1, 0})
	fmt.Printf("%s of columns: %q\n", f.X.Title, f.X.Names)
	fmt.Printf("%s of rows, from the bottom: %q\n", f.Y.Title, f.Y.Names)
	fmt.Printf("%s: %q\n", f.Series[0].Of, f.Series[0].Tip[:3])
	// Output:
	// cluster of columns: ["0" "" "1"]
	// client of rows, from the bottom: ["1" "2" "0"]
	// cosine: ["0 and 0: 1" "0 and 2: 0.8" "0 and 1: 0"]
}

func ExamplePCA() {
	points := cluster.FromVectors(mat.NewDense(4, 2, []float64{0, 0, 0, 1, 8, 0, 8, 1}))
	row := plot.PCA(points, []int{0, 0, 1, 1}, 0, 0, 0, 1)
	for _, f := range row {
		for _, s := range f.Series {
			fmt.Println(s.Name, "clients", s.Tip)
		}
	}
	fmt.Println(row[0].X.Title)
	// Output:
	// cluster 0 clients [0 1]
	// cluster 1 clients [2 3]
	// group 0 clients [0 1 2]
	// group 1 clients [3]
	// first component (98.5 % of the variance)
}
