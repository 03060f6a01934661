package examples

import (
	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// head returns f and k of a model's last layer, whose weights are [f, k] and biases [k].
func head(fed *fedkit.Federation, layer string) (f, k int, err error) {
	p := fed.Task.Params
	w, b := p[max(0, len(p)-2)], p[len(p)-1]
	if len(w.Shape) != 2 || len(b.Shape) != 1 || w.Shape[1] != b.Shape[0] || w.Frozen || b.Frozen || fed.Task.Features == nil && layer == "" {
		return 0, 0, fedkit.Invalid("model", fed.Task.Name, "one with Features, or a Layer, below weights [f, k] and biases [k] that are last and not frozen")
	}
	return w.Shape[0], w.Shape[1], nil
}

// fitsHead refuses a model without such a layer, or one for which there is no memory for so many numbers in float64.
func fitsHead(fed *fedkit.Federation, layer string, numbers func(f, k float64) float64) error {
	if fed == nil {
		return nil
	}
	f, k, err := head(fed, layer)
	if err != nil {
		return err
	}
	return fed.Fits("features", f, numbers(float64(f), float64(k))/float64(fed.Task.Dim()))
}

// withHead returns x with W [f or f+1, k] as its last layer, row f as biases, else 0; if normalized, each column is divided by the norm
// of its f weights.
func withHead(r *fedkit.Round, x *fedkit.Matrix, W *mat.Dense, f int, normalized bool) *fedkit.Matrix {
	values, err := x.Host()
	r.Fail(err)
	if r.Err() != nil {
		return x
	}
	rows, k := W.Dims()
	last := values[len(values)-(f+1)*k:]
	clear(last)
	for c := range k {
		column, norm := mat.Col(nil, c, W), 1.0
		if length := floats.Norm(column[:f], 2); normalized && length > 0 {
			norm = length
		}
		for j := range rows {
			last[j*k+c] = float32(column[j] / norm)
		}
	}
	return fedkit.NewMatrix(values, 1, len(values))
}
