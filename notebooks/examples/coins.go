package examples

import (
	"math/rand/v2"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
)

// Coins is a model whose parameters all start at 0 or 1, by the toss of a coin, as those of IFCA's experiment on synthetic data do
// (Ghosh et al., arXiv 2006.04088). The given model must not be a GoMLX model function.
func Coins(of fedkit.Model) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		t, err := of(d)
		if err != nil {
			return nil, err
		}
		if t.Init != nil || t.Store != nil {
			return nil, fedkit.Invalid("Coins' model", t.Name, "one without Init and Store")
		}
		for i := range t.Params {
			t.Params[i].Init = func(rng *rand.Rand, w []float32) {
				for j := range w {
					w[j] = float32(rng.IntN(2))
				}
			}
		}
		t.Name += ", start by coins"
		return t, nil
	}
}
