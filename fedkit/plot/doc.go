// Package plot makes charts of federated learning: of what the clients of a federation hold, and of what happened in
// runs.
//
//	data      Labels, Sizes, Samples
//	runs      a quantity (see compare.Quantity) Over rounds, Against a cost, By a label; ClientAccuracy, Heat, Participants
//	usual     Over rounds: Accuracy, and Over any other quantity
//	clock     of runs on a simulated clock: Gantt, Schedule, Staleness
//	clusters  of runs: Clusters, ClusterDistances
//	          of what is clustered: Dendrogram, Similarities, PCA; of several rounds, with a slider: SimilaritiesOver, PCAs
//	touch     Rounds, a curve and a map of clusters that it zooms; ClientLabels, of the client that was clicked
//	methods   Grid, a table in shades; Dots, a row for each; Forest, differences from a baseline; Ranks, mean ranks by Nemenyi's test
//	many      Facets, small figures of one kind
//	any       Show, for whatever a cell's last line is: a chart, a history, a federation
//	live      Live, a watcher that draws while a run goes on, or a whole study; Follow, for a run of another program
//
// Each function returns a chart, which nobody sees until Show draws it. In the kernel "Go (fedkit)" the last line of a cell
// shows by itself: see the function Show.
//
//	plot.Accuracy(fedavg, fedprox).Show()
//
//	f := plot.Accuracy(fedavg, fedprox)
//	f.Title, f.Targets = "MNIST, two classes per client", []float64{0.95}
//	f.Show()
//
//	chart.Row{plot.Accuracy(h), plot.Over(compare.Loss, h)}.Show() // side by side
//
// If a chart cannot be made, because a history is nil, say, it carries the error: Show displays it in the chart's place,
// and Err returns it. Package compare has tables of runs. Package chart draws anything else, such as one quantity against another or a
// histogram.
package plot
