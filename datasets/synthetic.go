package datasets

import (
	"cmp"
	"fmt"
	"math"

	"fedkit.example/fedkit/config"
)

// Synthetic is synthetic(α, β) of the FedProx paper: classification tables in which each client k has its own model and
// its own distribution of features,
//
//	W_k, b_k ~ N(u_k, 1)  with u_k ~ N(0, α²)
//	x ~ N(v_k, Σ), v_k ~ N(B_k, 1), B_k ~ N(0, β²), Σ diagonal, Σ_jj = j^−1.2    β: how much the local data differ
//	y = argmax softmax(W_k x + b_k)
//
// (u_k and B_k are numbers, W_k [classes, f], b_k [classes], v_k [f]). Client k has 50 + ⌊e^z⌋ examples, z ~ N(4, 2²), of
// which 80 % are for training. The zero value is synthetic(0, 0). Owner is the client: partition the data with the
// rule Natural.
//
// The paper has α control how much the local models differ. In its formula, which this follows, α does not change the
// data: u_k adds u_k (1 + Σ_j x_j) to the score of every class alike, so that the greatest stays the greatest. Local
// models differ by the N(0, 1) of W_k and b_k, for every α.
//
// Source: T. Li, A. K. Sahu, M. Zaheer, M. Sanjabi, A. Talwalkar, V. Smith, Federated optimization in heterogeneous
// networks, arXiv 1812.06127, section 5.1 and appendix C.1. The paper writes N(0, α); here α and β are the standard
// deviations, as in the authors' program. The split is the paper's; the program's is 90 %.
type Synthetic struct {
	Alpha    float64 `range:"[0,inf)"` // α; changes the Name alone
	Beta     float64 `range:"[0,inf)"` // β
	IID      bool    // one W, b ~ N(0, 1) and v = 0 for all clients, the paper's IID set; Alpha and Beta must be 0
	Clients  int     `range:"[1,inf)" default:"30"` // M
	Features int     `range:"[1,inf)" default:"60"` // f
	Classes  int     `range:"[2,inf)" default:"10"` // number of labels
	Seed     uint64  // chooses all that is drawn
}

// Make returns the data set: Shape [f], Floats.
func (s Synthetic) Make() (*Dataset, error) {
	s = config.Defaults(s)
	// A client has e⁶ + 50 ≈ 450 examples on average.
	if err := cmp.Or(inRange("Synthetic", s),
		checkSize("Synthetic", "450 × Clients × Features", 450, s.Clients, s.Features),
		checkSize("Synthetic", "Features × Classes", s.Features, s.Classes)); err != nil {
		return nil, err
	}
	if s.IID && (s.Alpha != 0 || s.Beta != 0) {
		return nil, fmt.Errorf("datasets: Synthetic: Alpha = %v, Beta = %v: must be 0 if IID is set", s.Alpha, s.Beta)
	}
	d := &Dataset{Name: fmt.Sprintf("synthetic(%v, %v)", s.Alpha, s.Beta), Shape: []int{s.Features}, Classes: s.Classes}
	if s.IID {
		d.Name = "synthetic IID"
	}
	shared := random(s.Seed, "synthetic model", 0)
	common := linear{normals(shared, s.Classes*s.Features, 0, 1), normals(shared, s.Classes, 0, 1)}
	for k := range s.Clients {
		rng := random(s.Seed, "synthetic client", k)
		n := 50 + int(math.Exp(4+2*rng.NormFloat64()))
		u, b := s.Alpha*rng.NormFloat64(), s.Beta*rng.NormFloat64()
		model, v := common, make([]float64, s.Features)
		if !s.IID {
			model = linear{normals(rng, s.Classes*s.Features, u, 1), normals(rng, s.Classes, u, 1)}
			v = normals(rng, s.Features, b, 1)
		}
		for i := range n {
			part := d.part(i < n*4/5)
			x := make([]float64, s.Features)
			for j := range x {
				x[j] = float64(float32(v[j] + math.Pow(float64(j+1), -0.6)*rng.NormFloat64()))
			}
			part.addLabeled(x, model.argmax(x), k)
		}
	}
	return d.finite()
}

// linear is a linear classifier: weights [classes, f] and biases [classes].
type linear struct{ w, b []float64 }

// argmax returns the class of x with the greatest score.
func (m linear) argmax(x []float64) (best int) {
	top := math.Inf(-1)
	for c, score := range m.b {
		for j, v := range x {
			score += m.w[c*len(x)+j] * v
		}
		if score > top {
			best, top = c, score
		}
	}
	return best
}
