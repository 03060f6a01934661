package datasets

import (
	"cmp"
	"errors"
	"fmt"

	"fedkit.example/fedkit/config"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// LeastSquares makes a linear regression task whose optimum is known. Client i's rows are
//
//	x ~ N(0, I),  y = x·w_i + b_i + σε,  ε ~ N(0, 1),  (w_i, b_i) ~ N((w, b), h² I),  (w, b) ~ N(0, I),
//
// w [f]. The clients' own optima differ if h > 0, and a little, by chance, if h = 0. Owner is the client. The objective is
// that of the model LinearRegression, half the squared error.
//
// Source: R. Pathak, M. J. Wainwright, FedSplit: an algorithmic framework for fast federated optimization, arXiv
// 2005.05238, experiment on least squares; the bias and h are additions.
type LeastSquares struct {
	Clients       int     `range:"[1,inf)" default:"20"`  // M
	Rows          int     `range:"[1,inf)" default:"50"`  // training examples per client
	TestRows      int     `range:"[1,inf)" default:"10"`  // test examples per client
	Features      int     `range:"[1,inf)" default:"10"`  // f
	Noise         float64 `range:"[0,inf)" default:"0.5"` // σ ≥ 0; the default is the paper's, fedkit.Zero is none
	Heterogeneity float64 `range:"[0,inf)"`               // h
	Seed          uint64  // chooses all that is drawn
}

// Make returns the data set (Shape [f], Floats, Targets) and its optimum, d = f + 1. It fails if the rows do not
// determine the optimum: M·Rows must be at least d.
func (l LeastSquares) Make() (*Dataset, *Optimum, error) {
	l = config.Defaults(l)
	if err := cmp.Or(inRange("LeastSquares", l),
		checkSize("LeastSquares", "Clients × (Rows + TestRows) × Features", maxValues, l.Clients, l.Rows+l.TestRows, l.Features),
		checkSize("LeastSquares", "Features", maxParameters-1, l.Features)); err != nil {
		return nil, nil, err
	}
	if n, d := l.Clients*l.Rows, l.Features+1; n < d {
		return nil, nil, fmt.Errorf("datasets: LeastSquares: Clients × Rows = %d: must be at least Features + 1 = %d", n, d)
	}
	d := &Dataset{Name: "least squares", Shape: []int{l.Features}}
	truth := normals(random(l.Seed, "least squares truth", 0), l.Features+1, 0, 1)
	for i := range l.Clients {
		rng := random(l.Seed, "least squares client", i)
		own := normals(rng, l.Features+1, 0, l.Heterogeneity)
		for row := range l.Rows + l.TestRows {
			part := d.part(row < l.Rows)
			y := truth[l.Features] + own[l.Features] + l.Noise*rng.NormFloat64()
			for j := range l.Features {
				x := rng.NormFloat64()
				y += x * (truth[j] + own[j])
				part.Floats = append(part.Floats, float32(x))
			}
			part.Targets = append(part.Targets, float32(y))
			part.Owner = append(part.Owner, int32(i))
		}
	}
	if _, err := d.finite(); err != nil {
		return nil, nil, err
	}
	optimum, err := solveLeastSquares(&d.Train, l.Features)
	if err != nil {
		return nil, nil, err
	}
	return d, optimum, nil
}

// solveLeastSquares minimizes half the squared error.
func solveLeastSquares(s *Split, f int) (*Optimum, error) {
	of := problem(s, f, 1, 0)
	w, err := of.Minimum()
	if err != nil {
		return nil, errors.New("datasets: LeastSquares: the rows do not determine the optimum: use more of them")
	}
	h := of.Hessian(w)
	return &Optimum{W: w, Loss: of.Loss(w), gap: func(at []float64) float64 { // ½ (w − w*)ᵀ H (w − w*), without cancellation
		e := mat.NewVecDense(len(at), floats.SubTo(make([]float64, len(at)), at, w))
		return mat.Inner(e, h, e) / 2
	}}, nil
}
