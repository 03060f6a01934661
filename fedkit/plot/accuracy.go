package plot

import (
	"math"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
)

// Accuracy returns the figure of test accuracy against rounds; Show draws it. There is one line per configuration: of the
// global model if every history has one, else the mean over clients of the model each would use, weighted by its test
// examples. The axis says which. A strategy that served personal models beside a global one has both lines, which say
// what they are of: "FedPRISM, global" and "FedPRISM, clients' own". Rounds that were not evaluated are skipped, and so
// are values that are not finite.
//
// Runs of one configuration, with several seeds, become one line, their mean, in a band of ± one sample standard deviation
// (divisor n−1; or see Bands), over the rounds that all of them have. Bands end at 0 and 100 %. Such runs have equal Name,
// Config, Data, Partition, Model, Clients, Params and Manifest, except for the seeds of the run, the partition and parts. Where
// names collide, what differs is added to them: "FedAvg, Local.LR 0.1", or in the end a number. A run that is given again counts
// once. The note says so, and which runs were stopped.
//
// Errors: no history, a nil one, one without an evaluated round.
func Accuracy(h ...*fedkit.History) *chart.Figure { return overRounds(accuracy, h) }

// Loss returns the figure of test loss (mean over examples, natural logarithm) against rounds; Show draws it. All else
// is as in Accuracy, but bands end at 0 alone. The axis is logarithmic if the losses span more than three powers of ten.
func Loss(h ...*fedkit.History) *chart.Figure { return overRounds(loss, h) }

// share is the axis of a quantity from 0 to 100 %.
var share = chart.Axis{Percent: true, Bounds: [2]float64{0, 1}}

// notNegative are the bounds of losses, counts and times.
var notNegative = [2]float64{0, math.Inf(1)}

var (
	accuracy = measure{"accuracy", share, func(s *fedkit.Score) float64 { return float64(s.Accuracy) }}
	loss     = measure{"loss", chart.Axis{Bounds: notNegative}, func(s *fedkit.Score) float64 { return float64(s.Loss) }}
)

func overRounds(m measure, h []*fedkit.History) *chart.Figure {
	return chart.Make("plot: "+m.name, func(f *chart.Figure) error {
		all, b, err := compared(h)
		if err != nil {
			return err
		}
		return m.overRounds(f, all, b)
	})
}

// compared follows the histories, and returns the basis on which they can be compared.
func compared(h []*fedkit.History) ([]*compare.Run, compare.Basis, error) {
	all, err := compare.Evaluated(h...)
	if err != nil {
		return nil, 0, err
	}
	b, err := compare.CommonBasis(all)
	return all, b, err
}
