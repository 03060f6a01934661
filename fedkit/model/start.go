package model

import (
	"math"
	"math/rand/v2"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
)

// UniformInit initializes a model as PyTorch does Linear and Conv2d: weights and biases of a layer are uniform in ±1/√f,
// where f is its fan-in. Without it, MLP and LeNet are initialized by He, with biases of 0, and the
// regressions at zero.
//
// Initialization matters for clustering. Of k models, as many as possible should each suit another group of clients first,
// which depends on how far apart they start.
//
// Errors: a model with parameters that are not the weights or biases of a dense or convolutional layer.
func UniformInit(of fedkit.Model) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		if of == nil {
			return nil, fedkit.Invalid("model.UniformInit: of", "nil", "a model, such as model.MLP(200)")
		}
		t, err := of(d)
		if err != nil || t == nil {
			return t, err
		}
		inputs := map[string]int{} // by layer
		for _, p := range t.Params {
			if layer, isWeights := strings.CutSuffix(p.Name, "/weights"); isWeights {
				inputs[layer] += p.Size()
			}
		}
		for _, p := range t.Params {
			if layer, isBiases := strings.CutSuffix(p.Name, "/biases"); isBiases {
				inputs[layer] /= p.Size() // the fan-in
			}
		}
		for i, p := range t.Params {
			f := inputs[p.Name[:max(0, strings.LastIndex(p.Name, "/"))]]
			if f == 0 || t.Store != nil || t.Init != nil || !strings.HasSuffix(p.Name, "/weights") && !strings.HasSuffix(p.Name, "/biases") {
				return nil, fedkit.Invalid("model.UniformInit: parameter", p.Name, "the weights or biases of a dense or convolutional layer of this package")
			}
			t.Params[i].Init = uniform(1 / math.Sqrt(float64(f)))
		}
		t.Name += ", uniform start"
		return t, nil
	}
}

// uniform draws from [−bound, bound).
func uniform(bound float64) func(*rand.Rand, []float32) {
	return drawn(bound, func(rng *rand.Rand) float64 { return 2*rng.Float64() - 1 })
}

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
