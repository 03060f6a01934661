package fedkit

import (
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/xla"
)

// checkIndependence refuses a model whose output for an example depends on other examples, as with batch normalization: batches are
// padded, and a model cannot tell which rows are padding.
func (t *Task) checkIndependence(d *datasets.Dataset) error {
	w, err := t.sample()
	if err != nil {
		return nil // Run reports it
	}
	e := t.forEngine()
	what, from := e.Mixing(d, t.Features, w)
	if what == "" {
		return nil
	}
	return Invalid(fmt.Sprintf("model %s: %s", t.Name, what), "a result that depends on "+from,
		"computed for each example alone, since rows that do not count fill up batches; instead of batch normalization or a mean over the batch, "+
			"use layer or group normalization of each example, such as norm.LayerNorm")
}

// sample returns initial parameters with every 0 replaced by a random value: zeros would hide dependencies between examples.
func (t *Task) sample() (w []float32, err error) {
	rng := Random(0, "sample")
	if t.Store == nil {
		w, err = t.start(rng)
	} else {
		w, err = t.stored() // drawing new ones would compile the initializers
	}
	for i := range w {
		if w[i] == 0 {
			w[i] = float32(0.05 * rng.NormFloat64())
		}
	}
	return w, err
}

// stored returns the parameters in the store of a GoMLX model function.
func (t *Task) stored() ([]float32, error) {
	w := make([]float32, t.Dim())
	rest := w
	for v := range t.Store.IterVariables() {
		if !v.Trainable {
			continue
		}
		values, err := xla.Host(v.MustValue())
		if err != nil {
			return nil, err
		}
		rest = rest[copy(rest, values):]
	}
	return w, nil
}
