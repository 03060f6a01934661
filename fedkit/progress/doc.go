// Package progress shows the progress of runs in lines of text. It draws nothing: plot.Live adds a figure.
//
//	h, err := fedkit.Run(ctx, fed, avg, fedkit.Options{Rounds: 30, Watch: progress.Line()})
//	h, err = progress.Follow("runs/digits") // of a run that another program computes
//
// prints
//
//	FedAvg  ████████░░░░░░░░░░░░ round 12/30 · accuracy 91.4 % · loss 0.3 · 81 ms/round · 2 s left
package progress
