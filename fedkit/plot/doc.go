// Package plot makes charts of federated learning: of what the clients of a federation hold, and of what happened in
// runs.
//
//	data   Labels, Sizes, Samples
//	runs   Accuracy, Loss, Metric, Note, ClientAccuracy, Clusters, Heat, Participants, Table
//	live   Live, a watcher that draws while a run goes on, and Progress, its line alone
//
// Each function returns a chart, which nobody sees until Show draws it:
//
//	plot.Accuracy(fedavg, fedprox).Show()
//
//	f := plot.Accuracy(fedavg, fedprox)
//	f.Title, f.Targets = "MNIST, two classes per client", []float64{0.95}
//	f.Show()
//
//	chart.Row{plot.Accuracy(h), plot.Loss(h)}.Show() // side by side
//
// If a chart cannot be made, because a history is nil, say, it carries the error: Show displays it in the chart's place,
// and Err returns it. Package chart draws anything else, such as one quantity against another or a histogram.
package plot
