package datasets

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit/config"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// Logistic makes a classification task for which the optimum of logistic regression is known. Client i's rows are
//
//	x ~ N(0, I),  P(y = c) = softmax(W_i x + b_i)_c,  (W_i, b_i) ~ N((W, b), h² I),  (W, b) ~ N(0, 1/(f+1)),
//
// W [classes, f]. Labels are drawn, so that the classes overlap: with enough rows they cannot be separated, and the
// optimum is finite. Owner is the client. The objective is that of the model LogisticRegression, the cross entropy, plus
// (λ/2)‖w‖² if L2 is set: train that with a fedkit.Pull of weight λ to zeros. Without it, adding one vector to the
// weights of all classes changes nothing. The optimum returned is the one whose weights sum to 0 over the classes. That
// model starts at zero, and gradient steps keep the sum at 0.
//
// Source: R. Pathak, M. J. Wainwright, FedSplit: an algorithmic framework for fast federated optimization, arXiv
// 2005.05238, experiment on logistic regression; the bias, more than two classes and h are additions.
type Logistic struct {
	Clients       int     `range:"[1,inf)" default:"20"` // M
	Rows          int     `range:"[1,inf)" default:"50"` // training examples per client
	TestRows      int     `range:"[1,inf)" default:"10"` // test examples per client
	Features      int     `range:"[1,inf)" default:"10"` // f
	Classes       int     `range:"[2,inf)" default:"2"`  // number of labels
	Heterogeneity float64 `range:"[0,inf)"`              // h
	L2            float64 `range:"[0,inf)"`              // λ
	Seed          uint64  // chooses all that is drawn
}

// Make returns the data set (Shape [f], Floats) and its optimum, d = (f + 1)·classes. It fails if there is none.
// That can happen with few rows and no L2: a class has no examples, or the classes can be separated.
func (l Logistic) Make() (*Dataset, *Optimum, error) {
	l = config.Defaults(l)
	if err := cmp.Or(inRange("Logistic", l),
		checkSize("Logistic", "Clients × (Rows + TestRows) × Features", maxValues, l.Clients, l.Rows+l.TestRows, l.Features),
		checkSize("Logistic", "(Features + 1) × Classes", maxParameters, l.Features+1, l.Classes)); err != nil {
		return nil, nil, err
	}
	d := &Dataset{Name: "logistic", Shape: []int{l.Features}, Classes: l.Classes}
	size := l.Classes * (l.Features + 1) // [f + 1, classes], biases last
	truth := normals(random(l.Seed, "logistic truth", 0), size, 0, 1/math.Sqrt(float64(l.Features+1)))
	scores := make([]float64, l.Classes)
	for i := range l.Clients {
		rng := random(l.Seed, "logistic client", i)
		own := normals(rng, size, 0, l.Heterogeneity)
		for row := range l.Rows + l.TestRows {
			part := d.part(row < l.Rows)
			x := normals(rng, l.Features, 0, 1)
			for c := range scores {
				scores[c] = truth[l.Features*l.Classes+c] + own[l.Features*l.Classes+c]
				for j, v := range x {
					scores[c] += v * (truth[j*l.Classes+c] + own[j*l.Classes+c])
				}
			}
			softmax(scores)
			label, u := 0, rng.Float64()
			for u -= scores[0]; u >= 0 && label < l.Classes-1; u -= scores[label] {
				label++
			}
			part.addLabeled(x, label, i)
		}
	}
	optimum, err := solveLogistic(&d.Train, l.Features, l.Classes, l.L2)
	if err != nil {
		return nil, nil, err
	}
	return d, optimum, nil
}

// softmax replaces scores by their softmax and returns log Σ exp(scores).
func softmax(scores []float64) (logSum float64) {
	top, sum := slices.Max(scores), 0.0
	for c, s := range scores {
		scores[c] = math.Exp(s - top)
		sum += scores[c]
	}
	for c := range scores {
		scores[c] /= sum
	}
	return top + math.Log(sum)
}

// solveLogistic minimizes the cross entropy by Newton's method.
func solveLogistic(s *Split, f, classes int, l2 float64) (*Optimum, error) {
	o := &logistic{x: withOnes(s, f), y: s.Labels, classes: classes, l2: l2}
	result, err := optimize.Minimize(optimize.Problem{Func: o.loss, Grad: o.gradient, Hess: o.hessian}, make([]float64, (f+1)*classes),
		&optimize.Settings{GradientThreshold: 1e-10, MajorIterations: 100, Converger: optimize.NeverTerminate{}}, &optimize.Newton{Linesearcher: &optimize.Backtracking{}})
	if result == nil {
		return nil, fmt.Errorf("datasets: Logistic: %w", err)
	}
	w := result.X
	loss, ok := o.polish(w) // even if the line search failed, for it does at round-off
	if !ok {
		return nil, errors.New("datasets: Logistic: there is no optimum because the classes can be separated: use more Rows, or set L2")
	}
	return &Optimum{W: w, Loss: loss, gap: func(at []float64) float64 { return o.loss(at) - loss }}, nil
}

// logistic is the objective of multinomial logistic regression: x [n, f+1] with ones last, labels y [n], parameters
// w [f+1, classes].
type logistic struct {
	x       *mat.Dense
	y       []int32
	classes int
	l2      float64
}

// polish takes two more Newton steps from w. It is not ok if they do not end at an optimum: if the classes can be
// separated, the gradient vanishes too, but far away, and steps stay long.
func (o *logistic) polish(w []float64) (loss float64, ok bool) {
	g, h := make([]float64, len(w)), mat.NewSymDense(len(w), nil)
	var step mat.VecDense
	for range 2 {
		o.gradient(g, w)
		o.hessian(h, w)
		var chol mat.Cholesky
		if !chol.Factorize(h) || chol.SolveVecTo(&step, mat.NewVecDense(len(w), g)) != nil {
			return 0, false
		}
		floats.Sub(w, step.RawVector().Data)
	}
	o.gradient(g, w)
	return o.loss(w), floats.Norm(g, 2) < 1e-10 && mat.Norm(&step, 2) < 1e-6*(1+floats.Norm(w, 2))
}

// probabilities returns the class probabilities, [n, classes], and the mean cross entropy.
func (o *logistic) probabilities(w []float64) (p *mat.Dense, loss float64) {
	p = new(mat.Dense)
	p.Mul(o.x, mat.NewDense(len(w)/o.classes, o.classes, w))
	for i, y := range o.y {
		row := p.RawRowView(i)
		own := row[y]
		loss += softmax(row) - own
	}
	return p, loss / float64(len(o.y))
}

func (o *logistic) loss(w []float64) float64 {
	_, loss := o.probabilities(w)
	return loss + o.l2/2*floats.Dot(w, w)
}

func (o *logistic) gradient(g, w []float64) {
	p, _ := o.probabilities(w)
	for i, y := range o.y {
		p.Set(i, int(y), p.At(i, int(y))-1)
	}
	to := mat.NewDense(len(w)/o.classes, o.classes, g)
	to.Mul(o.x.T(), p)
	to.Scale(1/float64(len(o.y)), to)
	floats.AddScaled(g, o.l2, w)
}

// hessian writes [d, d], for each pair of classes the block Xᵀ diag(p_a (δ_ab − p_b)) X / n. Without L2 it is zero along
// the directions that shift all classes alike. There it gets the curvature 1, which moves no step, for the gradient is
// zero there too.
func (o *logistic) hessian(h *mat.SymDense, w []float64) {
	p, _ := o.probabilities(w)
	k, n := o.classes, float64(len(o.y))
	var weighted, block mat.Dense
	for a := range k {
		for b := range k {
			weighted.Apply(func(i, _ int, x float64) float64 { return x * p.At(i, a) * (delta(a, b) - p.At(i, b)) / n }, o.x)
			block.Mul(o.x.T(), &weighted)
			for j := range len(w) / k {
				for l := range len(w) / k {
					h.SetSym(j*k+a, l*k+b, block.At(j, l)+delta(j, l)*o.ridge(a, b))
				}
			}
		}
	}
}

func (o *logistic) ridge(a, b int) float64 {
	if o.l2 == 0 {
		return 1 / float64(o.classes)
	}
	return o.l2 * delta(a, b)
}

// delta is Kronecker's.
func delta(a, b int) float64 {
	if a == b {
		return 1
	}
	return 0
}
