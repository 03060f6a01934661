package fedkit

import "fedkit.example/fedkit/internal/early"

// StopAt ends a run early, after an evaluation: the first one at which a quantity has reached Value, or that after which it has not
// improved for Patience evaluations. The zero value ends no run. The run is then complete, not Stopped, and History.Early says why
// it ended: run again from its checkpoint it has the same rounds, and a study stores it. The strategy serves its last models, not
// its best.
//
// The quantity is the global model's or, if there is none, the mean over the clients (Record.Score), on validation rows if the
// clients have them (see partition.Validation), else on test rows. A test score at a round that was chosen by test scores is
// optimistic: to report it, hold validation rows back. To count the rounds to a target, test rows are fine.
type StopAt struct {
	// Quantity is "accuracy", of a regression "R²", "RMSE" or "MAE", "loss", or the name of one of Options.Metrics; "test accuracy" is on
	// test rows in any case. Less is better of losses and errors, and of a metric with a method LowerIsBetter() bool that returns true.
	// Default: accuracy, or R².
	Quantity string
	Value    float64 // ends the run at this value, or a better one; default none
	Patience int     `range:"[1,inf)" default:"no limit"` // ends the run after this many evaluations in a row without a new best value
}

// earlyRule resolves StopAt.
func (o Options) earlyRule(fed *Federation) (*early.Rule, error) {
	s := early.Rule{Quantity: o.StopAt.Quantity, Value: o.StopAt.Value, Patience: o.StopAt.Patience, Rounds: o.Rounds}
	return early.Resolve(s, fed.ofValues(), o.Metrics)
}
