package cluster

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// centered returns the rows minus their mean.
func centered(x *mat.Dense) *mat.Dense {
	n, p := x.Dims()
	mean, out := make([]float64, p), mat.NewDense(n, p, nil)
	for i := range n {
		floats.AddScaled(mean, 1/float64(n), x.RawRowView(i))
	}
	for i := range n {
		floats.SubTo(out.RawRowView(i), x.RawRowView(i), mean)
	}
	return out
}
