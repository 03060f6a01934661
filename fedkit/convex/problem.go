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

// Problem is a client's objective in a linear or logistic regression:
//
//	f(W) = mean over rows of ½(x·W − y)², or of the cross entropy of softmax(x·W), + (λ/2)‖W‖²
//
// with rows x [n, p], ones last, and W [p, k], the bias last; flattened, this is the parameter order of a model with one dense layer.
type Problem struct {
	x      *mat.Dense
	y      []float64 // targets, or labels
	k      int       // outputs
	labels bool
	l2     float64
}

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
		if want := f.loss(w); !(math.Abs(losses[0][i]-want) <= 1e-3*want) {
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
	f := &Problem{x: mat.NewDense(len(rows), p, nil), k: max(1, d.Classes), labels: d.Classes > 0, l2: l2}
	values := make([]float32, p-1)
	for i, row := range rows {
		f.x.SetRow(i, append(precision.Double(part.Row(row, values)), 1))
		if f.labels {
			f.y = append(f.y, float64(part.Labels[row]))
		} else {
			f.y = append(f.y, float64(part.Targets[row]))
		}
	}
	return f
}

// residuals returns the gradient of the loss with respect to the outputs, x·W − y or probabilities minus one-hot labels, [n, k], and f.
func (f *Problem) residuals(w []float64) (e *mat.Dense, loss float64) {
	e = new(mat.Dense)
	e.Mul(f.x, mat.NewDense(len(w)/f.k, f.k, w))
	for i, y := range f.y {
		row := e.RawRowView(i)
		if !f.labels {
			row[0] -= y
			loss += row[0] * row[0] / 2
			continue
		}
		sum := floats.LogSumExp(row)
		loss += sum - row[int(y)]
		for c, v := range row {
			row[c] = math.Exp(v - sum)
		}
		row[int(y)]--
	}
	return e, loss/float64(len(f.y)) + f.l2/2*floats.Dot(w, w)
}

func (f *Problem) loss(w []float64) float64 {
	_, loss := f.residuals(w)
	return loss
}

// gradient returns Xᵀe/n + λW, flattened.
func (f *Problem) gradient(w []float64) []float64 {
	e, _ := f.residuals(w)
	g := mat.NewDense(len(w)/f.k, f.k, nil)
	g.Mul(f.x.T(), e)
	g.Scale(1/float64(len(f.y)), g)
	flat := g.RawMatrix().Data
	floats.AddScaled(flat, f.l2, w)
	return flat
}

// hessian returns, for each pair of outputs, the block Xᵀ diag(c_ab) X/n, and λ on the diagonal: c is 1 for squares and
// p_a (δ_ab − p_b) for probabilities p.
func (f *Problem) hessian(w []float64) *mat.SymDense {
	h, n := mat.NewSymDense(len(w), nil), float64(len(f.y))
	e, _ := f.residuals(w)
	curvature := func(i, a, b int) float64 {
		if !f.labels {
			return 1
		}
		p := func(c int) float64 {
			if c == int(f.y[i]) {
				return e.At(i, c) + 1
			}
			return e.At(i, c)
		}
		if a == b {
			return p(a) * (1 - p(a))
		}
		return -p(a) * p(b)
	}
	var weighted, block mat.Dense
	for a := range f.k {
		for b := range a + 1 {
			weighted.Apply(func(i, _ int, x float64) float64 { return x * curvature(i, a, b) / n }, f.x)
			block.Mul(f.x.T(), &weighted)
			for j := range len(w) / f.k {
				for l := range len(w) / f.k {
					h.SetSym(j*f.k+a, l*f.k+b, block.At(j, l))
				}
			}
		}
	}
	for j := range w {
		h.SetSym(j, j, h.At(j, j)+f.l2)
	}
	return h
}

// Prox returns argmin_w f(w) + (μ/2)‖w − v‖² by Newton's method from start, with backtracking line search. Least squares needs one
// step, up to round-off.
func (f *Problem) Prox(v []float64, mu float64, start []float64) ([]float64, error) {
	w := slices.Clone(start)
	for range 100 {
		next, length, err := f.newton(v, mu, w, f.hessian(w))
		if w = next; err != nil || length <= 1e-12 {
			return w, err
		}
	}
	return nil, errors.New("100 steps of Newton's method are not enough")
}

// Newton takes a number of steps of Prox. With m > 0 they are those of the Newton sketch (Pilanci and Wainwright, arXiv 1505.02250):
// the Hessian of the loss is not AᵀA but (SA)ᵀ(SA), where S [m, n·k] has independent entries of N(0, 1/m) in every step. A row of A
// [n·k, p·k] is √(p_a/n) x ⊗ (e_a − p) for each example x and class a with the probabilities p, or x/√n for squares.
func (f *Problem) Newton(v []float64, mu float64, start []float64, steps, m int, rng *rand.Rand) (w []float64, err error) {
	w = slices.Clone(start)
	for range steps {
		h := f.hessian
		if m > 0 {
			h = func(w []float64) *mat.SymDense { return f.sketch(w, m, rng) }
		}
		if w, _, err = f.newton(v, mu, w, h(w)); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// sketch returns (SA)ᵀ(SA) + λI.
func (f *Problem) sketch(w []float64, m int, rng *rand.Rand) *mat.SymDense {
	e, _ := f.residuals(w)
	n, p := f.x.Dims()
	c := mat.NewDense(n, m*f.k, nil) // row s of SA is Σ_i x_i ⊗ c_is, c_is = Σ_a S_sia √p_a (e_a − p)
	for s := range m {
		for i := range n {
			cis := c.RawRowView(i)[s*f.k : (s+1)*f.k]
			if !f.labels {
				cis[0] = rng.NormFloat64()
				continue
			}
			prob := slices.Clone(e.RawRowView(i))
			prob[int(f.y[i])]++
			for a, q := range prob {
				cis[a] = rng.NormFloat64() * math.Sqrt(q)
			}
			floats.AddScaled(cis, -floats.Sum(cis), prob)
		}
	}
	var xc mat.Dense // [p, m·k]
	xc.Mul(f.x.T(), c)
	sa := mat.NewDense(p*f.k, m, nil)
	for j := range p {
		for s := range m {
			for a := range f.k {
				sa.Set(j*f.k+a, s, xc.At(j, s*f.k+a))
			}
		}
	}
	h := mat.NewSymDense(p*f.k, nil)
	h.SymOuterK(1/(float64(n)*float64(m)), sa)
	for j := range w {
		h.SetSym(j, j, h.At(j, j)+f.l2)
	}
	return h
}

// newton takes a step on f(w) + (μ/2)‖w − v‖² with a Hessian h of f, and returns its relative length. h is changed.
func (f *Problem) newton(v []float64, mu float64, w []float64, h *mat.SymDense) (next []float64, length float64, err error) {
	objective := func(w []float64) float64 {
		d := floats.Distance(w, v, 2)
		return f.loss(w) + mu/2*d*d
	}
	g := f.gradient(w)
	for j := range w {
		g[j] += mu * (w[j] - v[j])
		h.SetSym(j, j, h.At(j, j)+mu)
	}
	var chol mat.Cholesky
	var step mat.VecDense
	if !chol.Factorize(h) || chol.SolveVecTo(&step, mat.NewVecDense(len(w), g)) != nil {
		return nil, 0, errors.New("there is no unique solution in float64")
	}
	d, now, slope := step.RawVector().Data, objective(w), floats.Dot(g, step.RawVector().Data)
	length = floats.Norm(d, 2) / (1e-3 + floats.Norm(w, 2))
	next = floats.SubTo(make([]float64, len(w)), w, d)
	for t := 0.5; length > 1e-6 && t > 1e-9 && objective(next) > now-t*slope/2; t /= 2 { // below, the objective's round-off hides descent
		floats.AddScaledTo(next, w, -t, d)
	}
	return next, length, nil
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
		f.k, f.labels = 1, false // XᵀX/n
		var e mat.EigenSym
		if !e.Factorize(f.hessian(make([]float64, fed.Data.Features()+1)), false) {
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
