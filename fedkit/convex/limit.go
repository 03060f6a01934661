package convex

import (
	"cmp"
	"errors"
	"math"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/precision"
	"gonum.org/v1/gonum/mat"
)

// FixedPoint returns the model to which FedAvg converges on linear regression, which is in general not the optimum. All clients
// take part, and client i takes K local steps from x on all of its examples,
//
//	w_i ← w_i − η (H_i w_i − b_i + λ w_i + μ (w_i − x)),  x ← Σ_i (n_i/N) w_i,
//
// with H_i = X_iᵀX_i/n_i and b_i = X_iᵀy_i/n_i, rows of X_i ending in 1. With K = 1 the fixed point is the optimum. With more steps
// it is so in general only if the clients' optima agree (Pathak and Wainwright, arXiv 2005.05238, section 2). μ is Local.Prox, which covers
// FedProx: with many steps, its proximal problems are solved. λ is that of fedkit.WeightDecay.
//
// Errors: another model; other local steps; an η at which x does not converge.
func FixedPoint(fed *fedkit.Federation, l fedkit.Local) ([]float32, error) {
	l = l.WithDefaults()
	lambda, err := checkDescent(fed, &l)
	if err != nil {
		return nil, err
	}
	d, shares := fed.Task.Dim(), Shares(fed)
	p, q := mat.NewDense(d, d, nil), mat.NewVecDense(d, nil) // x ← P x + q
	for i, f := range Problems(fed, 0) {
		f.L2 = lambda
		all, weight := f.steps(max(l.Steps, l.Epochs), l.LR, l.Prox), shares[i]/float64(len(shares))
		var own mat.Dense
		own.Add(all.Slice(0, d, 0, d), all.Slice(0, d, d, 2*d)) // w begins at x
		own.Scale(weight, &own)
		p.Add(p, &own)
		q.AddScaledVec(q, weight, all.Slice(0, d, 2*d, 2*d+1).(*mat.Dense).ColView(0))
	}
	if most, err := radius(p); err != nil || !(most < 1) {
		return nil, cmp.Or(err, fedkit.Invalid("Local.LR", l.LR, "less: x does not come to rest"))
	}
	p.Scale(-1, p)
	for j := range d {
		p.Set(j, j, 1+p.At(j, j))
	}
	var x mat.VecDense
	if err := x.SolveVec(p, q); err != nil {
		return nil, err
	}
	return precision.Single(x.RawVector().Data), nil
}

// checkDescent refuses models and local solvers that FixedPoint does not cover, and returns λ.
func checkDescent(fed *fedkit.Federation, l *fedkit.Local) (lambda float64, err error) {
	decay, decays := l.Optimizer.(fedkit.WeightDecay)
	if !decays {
		decay.Then = l.Optimizer
	}
	switch {
	case fed == nil || !Regression(fed) || fed.Data.Classes > 0:
		err = fedkit.Invalid("fed", "another model", "a federation whose model is linear regression")
	case l.Batch != fedkit.FullBatch:
		err = fedkit.Invalid("Local.Batch", l.Batch, "fedkit.FullBatch: minibatches come to no rest")
	case l.ClipExamples != 0:
		err = fedkit.Invalid("Local.ClipExamples", l.ClipExamples, "0")
	case l.Schedule != nil:
		err = fedkit.Invalid("Local.Schedule", l.Schedule, "nil")
	case cmp.Or[fedkit.Optimizer](decay.Then, fedkit.SGD{}) != fedkit.Optimizer(fedkit.SGD{}):
		err = fedkit.Invalid("Local.Optimizer", l.Optimizer, "SGD, or WeightDecay around it")
	}
	return decay.Lambda, err
}

// steps returns the matrix [2d+1, 2d+1] that maps (w, x, 1) to its value after count local steps of least squares.
func (f *Problem) steps(count int, rate, mu float64) *mat.Dense {
	zero := make([]float64, f.X.RawMatrix().Cols)
	d, h, g := len(zero), f.Hessian(zero), f.Gradient(zero)
	one := mat.NewDense(2*d+1, 2*d+1, nil)
	for j := range d {
		for k := range d {
			one.Set(j, k, -rate*h.At(j, k))
		}
		one.Set(j, j, 1+one.At(j, j)-rate*mu)
		one.Set(j, d+j, rate*mu)
		one.Set(d+j, d+j, 1)
		one.Set(j, 2*d, -rate*g[j])
	}
	one.Set(2*d, 2*d, 1)
	var all mat.Dense
	all.Pow(one, count)
	return &all
}

// SplitRate returns the asymptotic contraction rate per round of exact FedSplit on linear regression, with the step s: the
// spectral radius of the map of all z
//
//	z_i ← z_i + 2 (P_i (2x − z_i) − x),  P_i = (I + s H_i)⁻¹,  x = (1/M) Σ_i z_i,
//
// where H_i is the Hessian of φ_i. FedSplit's bound (√κ − 1)/(√κ + 1) holds for all problems with these ℓ and L, this rate for one.
// It takes O((M d)³) operations.
//
// Errors: another model, a step ≤ 0.
func SplitRate(fed *fedkit.Federation, l2, step float64) (float64, error) {
	switch {
	case fed == nil || !Regression(fed) || fed.Data.Classes > 0:
		return 0, fedkit.Invalid("fed", "another model", "a federation whose model is linear regression")
	case !(step > 0) || math.IsInf(step, 0):
		return 0, fedkit.Invalid("step", step, "a number > 0")
	}
	d, shares := fed.Task.Dim(), Shares(fed)
	M := len(shares)
	all := mat.NewDense(M*d, M*d, nil)
	for i, f := range Problems(fed, l2) {
		p := f.Hessian(make([]float64, d))
		p.ScaleSym(step*shares[i], p)
		for j := range d {
			p.SetSym(j, j, 1+p.At(j, j))
		}
		var chol mat.Cholesky
		if !chol.Factorize(p) || chol.InverseTo(p) != nil {
			return 0, errors.New("a proximal problem has no unique solution in float64: lower the step")
		}
		p.ScaleSym(-2, p)
		for j := range d {
			p.SetSym(j, j, 1+p.At(j, j))
		}
		for k := range M { // how the next z_i depends on z_k
			share := -2 / float64(M)
			if k == i {
				share++
			}
			all.Slice(i*d, (i+1)*d, k*d, (k+1)*d).(*mat.Dense).Scale(share, p)
		}
	}
	return radius(all)
}

// radius returns the spectral radius.
func radius(m *mat.Dense) (most float64, err error) {
	var e mat.Eigen
	if !e.Factorize(m, mat.EigenNone) {
		return 0, errors.New("eigenvalues were not found")
	}
	for _, v := range e.Values(nil) {
		most = max(most, math.Hypot(real(v), imag(v)))
	}
	return most, nil
}
