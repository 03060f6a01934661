package datasets

import (
	"cmp"
	"fmt"

	"fedkit.example/fedkit/config"
)

// LeastSquares makes a linear regression task. Client i's rows are
//
//	x ~ N(0, I),  y = x·w_i + b_i + σε,  ε ~ N(0, 1),  (w_i, b_i) ~ N((w, b), h² I),  (w, b) ~ N(0, I),
//
// w [f]. The clients' own optima differ if h > 0, and a little, by chance, if h = 0. Owner is the client. The objective is
// that of the model LinearRegression, half the squared error; convex.RegressionGap knows its optimum.
//
// With Groups, client i is in group i mod K, which Dataset.Groups has. Each group has its own w instead of the common one, with
// coordinates 0 or Separation by the toss of a coin, and b = 0.
//
// Source: R. Pathak, M. J. Wainwright, FedSplit: an algorithmic framework for fast federated optimization, arXiv
// 2005.05238, experiment on least squares; the bias and h are additions. Groups are those of A. Ghosh et al., An efficient framework
// for clustered federated learning, arXiv 2006.04088, experiment on synthetic data.
type LeastSquares struct {
	Clients       int     `range:"[1,inf)" default:"20"`  // M
	Rows          int     `range:"[1,inf)" default:"50"`  // training examples per client
	TestRows      int     `range:"[1,inf)" default:"10"`  // test examples per client
	Features      int     `range:"[1,inf)" default:"10"`  // f
	Noise         float64 `range:"[0,inf)" default:"0.5"` // σ ≥ 0; the default is the paper's, fedkit.Zero is none
	Heterogeneity float64 `range:"[0,inf)"`               // h
	Groups        int     `range:"[0,inf)"`               // K; default: all clients have the same w and b
	Separation    float64 `range:"[0,inf)"`               // r, with Groups
	Seed          uint64  // chooses all that is drawn
}

// Make returns the data set: Shape [f], Floats, Targets.
func (l LeastSquares) Make() (*Dataset, error) {
	l = config.Defaults(l)
	if err := cmp.Or(inRange("LeastSquares", l),
		checkSize("LeastSquares", "Clients × (Rows + TestRows) × Features", l.Clients, l.Rows+l.TestRows, l.Features)); err != nil {
		return nil, err
	}
	if l.Clients < l.Groups {
		return nil, fmt.Errorf("datasets: LeastSquares: Clients = %d: must be at least %d, the number of Groups", l.Clients, l.Groups)
	}
	if l.Groups == 0 && l.Separation != 0 {
		return nil, fmt.Errorf("datasets: LeastSquares: Separation = %v: must be 0 without Groups", l.Separation)
	}
	d := &Dataset{Name: "least squares", Shape: []int{l.Features}}
	truth := normals(random(l.Seed, "least squares truth", 0), l.Features+1, 0, 1)
	for i := range l.Clients {
		if l.Groups > 0 {
			d.Groups = append(d.Groups, i%l.Groups)
			rng := random(l.Seed, "least squares group", i%l.Groups)
			for j := range truth {
				truth[j] = l.Separation * float64(rng.IntN(2))
			}
			truth[l.Features] = 0
		}
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
	return d.finite()
}
