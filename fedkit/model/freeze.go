package model

import (
	"fedkit.example/datasets"
	"fedkit.example/fedkit"
)

// Freeze freezes layers of a model, named as in Task.Mask: they stay at their initial values, and do not travel after a client's
// first model (see fedkit.Param.Frozen).
//
//	fed, err := fedkit.New(data, rule, model.Freeze(model.LeNet(), "conv1", "conv2"))
//
// Errors: a name that matches nothing, or no layer that is left to train.
func Freeze(of fedkit.Model, layers ...string) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		if of == nil {
			return nil, fedkit.Invalid("model.Freeze: of", "nil", "a model, such as model.LeNet()")
		}
		t, err := of(d)
		if err != nil || t == nil {
			return t, err
		}
		return t.Freeze(layers...)
	}
}
