package convex

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Problem is the objective of a linear or logistic regression, such as a client's:
//
//	f(W) = mean over rows of ½(x·W − y)², or of the cross entropy of softmax(x·W), + (λ/2)‖W‖²
//
// with rows x [n, p], ones last, and W [p, k], the bias last; flattened, this is the parameter order of a model with one dense layer.
type Problem struct {
	X      *mat.Dense // rows, [n, p]
	Y      []float64  // targets, or labels, [n]
	K      int        // outputs, k
	Labels bool       // Y has labels
	L2     float64    // λ
}

// Residuals returns the gradient of the loss with respect to the outputs, x·W − y or probabilities minus one-hot labels, [n, k], and f.
func (f *Problem) Residuals(w []float64) (e *mat.Dense, loss float64) {
	e = new(mat.Dense)
	e.Mul(f.X, mat.NewDense(len(w)/f.K, f.K, w))
	for i, y := range f.Y {
		row := e.RawRowView(i)
		if !f.Labels {
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
	return e, loss/float64(len(f.Y)) + f.L2/2*floats.Dot(w, w)
}

// Loss is the loss at w, with the penalty.
func (f *Problem) Loss(w []float64) float64 {
	_, loss := f.Residuals(w)
	return loss
}

// Gradient returns Xᵀe/n + λW, flattened.
func (f *Problem) Gradient(w []float64) []float64 {
	e, _ := f.Residuals(w)
	g := mat.NewDense(len(w)/f.K, f.K, nil)
	g.Mul(f.X.T(), e)
	g.Scale(1/float64(len(f.Y)), g)
	flat := g.RawMatrix().Data
	floats.AddScaled(flat, f.L2, w)
	return flat
}

// Hessian returns, for each pair of outputs, the block Xᵀ diag(c_ab) X/n, and λ on the diagonal: c is 1 for squares and
// p_a (δ_ab − p_b) for probabilities p.
func (f *Problem) Hessian(w []float64) *mat.SymDense {
	h, n := mat.NewSymDense(len(w), nil), float64(len(f.Y))
	e, _ := f.Residuals(w)
	curvature := func(i, a, b int) float64 {
		if !f.Labels {
			return 1
		}
		p := func(c int) float64 {
			if c == int(f.Y[i]) {
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
	for a := range f.K {
		for b := range a + 1 {
			weighted.Apply(func(i, _ int, x float64) float64 { return x * curvature(i, a, b) / n }, f.X)
			block.Mul(f.X.T(), &weighted)
			for j := range len(w) / f.K {
				for l := range len(w) / f.K {
					h.SetSym(j*f.K+a, l*f.K+b, block.At(j, l))
				}
			}
		}
	}
	for j := range w {
		h.SetSym(j, j, h.At(j, j)+f.L2)
	}
	return h
}

// Step takes a step on f(w) + (μ/2)‖w − v‖² with a Hessian h of f, and returns its relative length. h is changed.
func (f *Problem) Step(v []float64, mu float64, w []float64, h *mat.SymDense) (next []float64, length float64, err error) {
	objective := func(w []float64) float64 {
		d := floats.Distance(w, v, 2)
		return f.Loss(w) + mu/2*d*d
	}
	g := f.Gradient(w)
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

// Prox returns argmin_w f(w) + (μ/2)‖w − v‖² by Newton's method from start, with backtracking line search. Least squares needs one
// step, up to round-off.
func (f *Problem) Prox(v []float64, mu float64, start []float64) ([]float64, error) {
	return f.minimize(v, mu, start, f.Hessian)
}

// Minimum returns argmin_w f(w), which logistic regression has unless the classes can be separated. Without λ, of the many that logistic regression has, it is the one whose weights sum to 0 over the classes.
func (f *Problem) Minimum() ([]float64, error) {
	_, p := f.X.Dims()
	zero := make([]float64, p*f.K)
	return f.minimize(zero, 0, zero, func(w []float64) *mat.SymDense {
		h := f.Hessian(w)
		for i := range w { // it is zero along the directions that shift all classes alike, where 1 moves no step: the gradient is zero there too
			for j := i; f.Labels && f.L2 == 0 && j < i-i%f.K+f.K; j++ {
				h.SetSym(i, j, h.At(i, j)+1/float64(f.K))
			}
		}
		return h
	})
}

func (f *Problem) minimize(v []float64, mu float64, w []float64, hessian func(w []float64) *mat.SymDense) ([]float64, error) {
	for range 100 {
		next, length, err := f.Step(v, mu, w, hessian(w))
		if w = next; err != nil || length <= 1e-12 {
			return w, err
		}
	}
	return nil, errors.New("100 steps of Newton's method are not enough")
}
