package server

import (
	"fmt"

	"fedkit.example/fedkit"
)

// Check refuses an η above 1 for a model with running values: see fedkit.Param.
func (o SGD) Check(fed *fedkit.Federation, _ int) error {
	if o.LR > 1 {
		return fed.AllTrained("LR", o.LR)
	}
	return nil
}

// Check refuses a model with running values: see fedkit.Param.
func (o Momentum) Check(fed *fedkit.Federation, _ int) error { return averages(fed, o) }

// Check refuses a model with running values: see fedkit.Param.
func (o Adagrad) Check(fed *fedkit.Federation, _ int) error { return averages(fed, o) }

// Check refuses a model with running values: see fedkit.Param.
func (o Adam) Check(fed *fedkit.Federation, _ int) error { return averages(fed, o) }

// Check refuses a model with running values: see fedkit.Param.
func (o Yogi) Check(fed *fedkit.Federation, _ int) error { return averages(fed, o) }

// Check refuses a model with running values: see fedkit.Param.
func (o AMSGrad) Check(fed *fedkit.Federation, _ int) error { return averages(fed, o) }

// averages refuses an optimizer that does not step to the mean, for a model with running values.
func averages(fed *fedkit.Federation, o fedkit.ServerOptimizer) error {
	return fed.AllTrained("", fmt.Sprintf("%T", o))
}
