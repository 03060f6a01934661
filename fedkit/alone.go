package fedkit

import (
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/xla"
)

// alone refuses a model whose result for an example depends on other examples, as in batch normalization. Rows that do not count
// fill up batches, and a model cannot tell which ones do.
func (t *Task) alone(d *datasets.Dataset) error {
	w, err := t.sample()
	if err != nil {
		return nil // a run says so
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

// sample returns parameters of which none is 0, as many are at first: they would hide what the model computes.
func (t *Task) sample() (w []float32, err error) {
	rng := Random(0, "sample")
	if t.Store == nil {
		w, err = t.start(rng)
	} else {
		w, err = t.stored() // its initializers would have to be compiled
	}
	for i := range w {
		if w[i] == 0 {
			w[i] = float32(0.05 * rng.NormFloat64())
		}
	}
	return w, err
}

// stored returns the parameters that the store of a GoMLX model function has.
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
