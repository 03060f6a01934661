// Package convex has exact results for federated linear and logistic regression: the optimum and a model's suboptimality, proximal
// problems, and rates and fixed points of algorithms. All of it is computed on the host, in float64.
package convex

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/precision"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Regression reports whether the model has the parameters of one dense layer and no training mode.
func Regression(fed *fedkit.Federation) bool {
	if fed == nil || fed.Task == nil || fed.Data == nil {
		return fed == nil
	}
	t, k := fed.Task, max(1, fed.Data.Classes)
	return fed.Data.Train.Width <= 1 && !fed.Data.Tags && len(t.Params) == 2 && t.Store == nil && t.Train == nil &&
		slices.Equal(t.Params[0].Shape, []int{fed.Data.Features(), k}) && slices.Equal(t.Params[1].Shape, []int{k})
}

// Matches returns the error that refuse makes of a reason, unless the task's losses at one random model are those of a regression,
// since the parameters alone do not show what its functions compute.
func Matches(r *fedkit.Round, refuse func(why string) error) error {
	w := make([]float64, r.Fed.Task.Dim())
	rng := r.Rand("a model to compare losses at")
	for i := range w {
		w[i] = float64(float32(rng.NormFloat64()))
	}
	losses := r.Losses(fedkit.NewMatrix(precision.Single(w), 1, len(w)), datasets.TrainPart, r.AllClients())
	if r.Err() != nil {
		return r.Err()
	}
	for i, f := range Problems(r.Fed, 0) {
		if want := f.Loss(w); !(math.Abs(losses[0][i]-want) <= 1e-3*want) {
			return refuse("unless the loss is half the squared error or the cross entropy of one dense layer")
		}
	}
	return nil
}

// Problems returns the objectives φ_i/(M n_i/N) of all clients, φ_i = M (n_i/N) f_i + (λ/2)‖w‖² with the clients' losses f_i.
func Problems(fed *fedkit.Federation, l2 float64) (all []*Problem) {
	for i, share := range Shares(fed) {
		all = append(all, newProblem(fed.Data, fed.Clients[i].Train, l2/share))
	}
	return all
}

// Shares returns M n_i/N of all clients: all 1 if clients have equally many examples.
func Shares(fed *fedkit.Federation) []float64 {
	if fed == nil || fed.Data == nil {
		return nil
	}
	shares := make([]float64, fed.Size())
	for i, c := range fed.Clients {
		shares[i] = float64(len(c.Train))
	}
	floats.Scale(float64(len(shares))/floats.Sum(shares), shares)
	return shares
}

// newProblem returns the problem of some training rows of a data set.
func newProblem(d *datasets.Dataset, rows []int, l2 float64) *Problem {
	part, p := &d.Train, d.Features()+1
	f := &Problem{X: mat.NewDense(len(rows), p, nil), K: max(1, d.Classes), Labels: d.Classes > 0, L2: l2}
	values := make([]float32, p-1)
	for i, row := range rows {
		f.X.SetRow(i, append(precision.Double(part.Row(row, values)), 1))
		if f.Labels {
			f.Y = append(f.Y, float64(part.Labels[row]))
		} else {
			f.Y = append(f.Y, float64(part.Targets[row]))
		}
	}
	return f
}

// Newton takes a number of steps of Prox. With m > 0 they are those of the Newton sketch (Pilanci and Wainwright, arXiv 1505.02250):
// the Hessian of the loss is not AᵀA but (SA)ᵀ(SA), where S [m, n·k] has independent entries of N(0, 1/m) in every step. A row of A
// [n·k, p·k] is √(p_a/n) x ⊗ (e_a − p) for each example x and class a with the probabilities p, or x/√n for squares.
func (f *Problem) Newton(v []float64, mu float64, start []float64, steps, m int, rng *rand.Rand) (w []float64, err error) {
	w = slices.Clone(start)
	for range steps {
		h := f.Hessian
		if m > 0 {
			h = func(w []float64) *mat.SymDense { return f.sketch(w, m, rng) }
		}
		if w, _, err = f.Step(v, mu, w, h(w)); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// sketch returns (SA)ᵀ(SA) + λI.
func (f *Problem) sketch(w []float64, m int, rng *rand.Rand) *mat.SymDense {
	e, _ := f.Residuals(w)
	n, p := f.X.Dims()
	c := mat.NewDense(n, m*f.K, nil) // row s of SA is Σ_i x_i ⊗ c_is, c_is = Σ_a S_sia √p_a (e_a − p)
	for s := range m {
		for i := range n {
			cis := c.RawRowView(i)[s*f.K : (s+1)*f.K]
			if !f.Labels {
				cis[0] = rng.NormFloat64()
				continue
			}
			prob := slices.Clone(e.RawRowView(i))
			prob[int(f.Y[i])]++
			for a, q := range prob {
				cis[a] = rng.NormFloat64() * math.Sqrt(q)
			}
			floats.AddScaled(cis, -floats.Sum(cis), prob)
		}
	}
	var xc mat.Dense // [p, m·k]
	xc.Mul(f.X.T(), c)
	sa := mat.NewDense(p*f.K, m, nil)
	for j := range p {
		for s := range m {
			for a := range f.K {
				sa.Set(j*f.K+a, s, xc.At(j, s*f.K+a))
			}
		}
	}
	h := mat.NewSymDense(p*f.K, nil)
	h.SymOuterK(1/(float64(n)*float64(m)), sa)
	for j := range w {
		h.SetSym(j, j, h.At(j, j)+f.L2)
	}
	return h
}

// Curvature returns ℓ and L, bounds on the eigenvalues of the Hessians of FedSplit's local objectives, M (n_i/N) f_i + (λ/2)‖w‖²,
// over all clients and all w. The paper's step is s = 1/√(ℓL). For least squares they are exact. For logistic regression ℓ is λ,
// and L uses the bound ½ on the curvature of the softmax.
//
// Errors: another model.
func Curvature(fed *fedkit.Federation, l2 float64) (least, most float64, err error) {
	if fed == nil || !Regression(fed) {
		return 0, 0, fedkit.Invalid("fed", "another model", "a federation whose model is linear or logistic regression")
	}
	least = math.Inf(1)
	shares := Shares(fed)
	for i, f := range Problems(fed, 0) {
		f.K, f.Labels = 1, false // XᵀX/n
		var e mat.EigenSym
		if !e.Factorize(f.Hessian(make([]float64, fed.Data.Features()+1)), false) {
			return 0, 0, errors.New("the eigenvalues of a client's Hessian were not found")
		}
		values := e.Values(nil)
		low, high := values[0]*shares[i], values[len(values)-1]*shares[i]
		if fed.Data.Classes > 0 {
			low, high = 0, high/2
		}
		least, most = min(least, max(0, low)+l2), max(most, high+l2)
	}
	return least, most, nil
}
