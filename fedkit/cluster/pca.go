package cluster

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// PCA returns the coordinates [n, d] of the centered points along their first d principal axes, the greatest variance first. They
// come from the Gram matrix, however long the points are: with its eigenvalues λ_c and eigenvectors u_c [n], column c is
// √λ_c·u_c. The sign of an axis makes its coordinate of greatest size positive, the first in a tie. Axes beyond the rank of the
// points are 0.
//
// Errors: d < 1 or too many, and those of points as in Clusterer.
func PCA(p *Points, d int) (*mat.Dense, error) {
	if d < 1 {
		return nil, invalid("d", d, "at least 1")
	}
	if most := (1 << 30) / max(1, p.Len()); d > most {
		return nil, invalid("d", d, fmt.Sprintf("at most %d for %d points", most, p.Len()))
	}
	if err := p.finite(); err != nil {
		return nil, err
	}
	values, found, err := p.axes(d)
	if err != nil {
		return nil, err
	}
	at := mat.NewDense(p.n, d, nil)
	for c, v := range values {
		if v <= values[0]*float64(p.n)*0x1p-52 {
			break // the rest is rounding
		}
		axis := mat.Col(nil, c, found)
		floats.Scale(math.Copysign(1, farthest(axis)), axis)
		at.SetCol(c, axis)
	}
	return at, nil
}

// axes returns the greatest eigenvalues and the coordinates along their axes, at most d. With fewer features than points, it
// decomposes the features' scatter matrix.
func (p *Points) axes(d int) ([]float64, *mat.Dense, error) {
	if p.x != nil && p.x.RawMatrix().Cols < p.n {
		var scatter, at mat.Dense
		x := centered(p.x)
		scatter.Mul(x.T(), x)
		values, v, err := leading(&scatter, min(d, x.RawMatrix().Cols), 1e-10)
		if err == nil {
			at.Mul(x, v)
		}
		return values, &at, err
	}
	values, u, err := leading(aroundMean(full(p.Centered())), min(d, p.n), 1e-10)
	if err == nil {
		u.Apply(func(_, c int, v float64) float64 { return v * math.Sqrt(max(0, values[c])) }, u)
	}
	return values, u, err
}

// aroundMean double-centers inner products in place, which moves their origin to the points' mean:
//
//	g_ij − mean_l g_il − mean_l g_lj + mean_lm g_lm.
func aroundMean(g *mat.Dense) *mat.Dense {
	n, _ := g.Dims()
	mean := make([]float64, n)
	for i := range n {
		mean[i] = floats.Sum(g.RawRowView(i)) / float64(n)
	}
	all := floats.Sum(mean) / float64(n)
	g.Apply(func(i, j int, v float64) float64 { return v - mean[i] - mean[j] + all }, g)
	return g
}

// farthest returns the first number of greatest size, up to rounding.
func farthest(v []float64) float64 {
	most := floats.Norm(v, math.Inf(1))
	for _, x := range v {
		if math.Abs(x) >= most*(1-1e-9) {
			return x
		}
	}
	return 0
}

// Directions returns the first d principal directions as weights of the centered points, [d, n]: direction c, a unit vector, is
// Σ_i weights[c][i] (x_i − mean). Directions in which the points differ by no more than rounding in float32 are 0.
//
// Errors: those of PCA.
func Directions(p *Points, d int) (weights [][]float64, err error) {
	at, err := PCA(p, d) // column c is √λ_c u_c
	if err != nil {
		return nil, err
	}
	most := 0.0
	for c := range d {
		axis := mat.Col(nil, c, at)
		lambda := floats.Dot(axis, axis)
		if most = max(most, lambda); lambda > 1e-6*most {
			floats.Scale(1/lambda, axis)
		} else {
			clear(axis)
		}
		weights = append(weights, axis)
	}
	return weights, nil
}
