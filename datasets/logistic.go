package datasets

import (
	"cmp"
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Logistic makes a classification of which the optimum of logistic regression is known. Client i's rows are
//
//	x ~ N(0, I),  P(y = c) = softmax(W_i x + b_i)_c,  (W_i, b_i) ~ N((W, b), h² I),  (W, b) ~ N(0, 1/(f+1)),
//
// W [classes, f]: labels are drawn, so that no classes can be separated and the optimum is finite. Owner is the client.
// The objective is that of the model LogisticRegression, the cross entropy, plus (λ/2)‖w‖² where L2 is set: train that
// with Local.Prox = λ and a Job.Anchor of zeros. Without it, one vector can be added to the weights of all classes and
// nothing changes; the optimum given is the one whose weights sum to 0 over the classes, which gradient steps from
// zero, where that model starts, never leave.
//
// Source: R. Pathak, M. J. Wainwright, FedSplit: an algorithmic framework for fast federated optimization, arXiv
// 2005.05238, its experiment on logistic regression; bias, more than two classes and h are ours.
type Logistic struct {
	Clients       int     // M; default 20
	Rows          int     // training examples of a client; default 50
	TestRows      int     // test examples of a client; default 10
	Features      int     // f; default 10
	Classes       int     // default 2
	Heterogeneity float64 // h ≥ 0
	L2            float64 // λ ≥ 0
	Seed          uint64
}

// Make returns the data set (Shape [f], Floats) and its optimum, d = (f + 1)·classes. It fails if there is none, which
// few rows and no L2 can bring about: a class without an example, or classes that can be separated.
func (l Logistic) Make() (*Dataset, *Optimum, error) {
	l.Clients, l.Rows, l.TestRows = cmp.Or(l.Clients, 20), cmp.Or(l.Rows, 50), cmp.Or(l.TestRows, 10)
	l.Features, l.Classes = cmp.Or(l.Features, 10), cmp.Or(l.Classes, 2)
	if err := checkOptions("Logistic", option{"Clients", float64(l.Clients), 1}, option{"Rows", float64(l.Rows), 1},
		option{"TestRows", float64(l.TestRows), 1}, option{"Features", float64(l.Features), 1}, option{"Classes", float64(l.Classes), 2},
		option{"Heterogeneity", l.Heterogeneity, 0}, option{"L2", l.L2, 0}); err != nil {
		return nil, nil, err
	}
	if err := cmp.Or(checkSize("Logistic", "Clients × (Rows + TestRows) × Features", maxValues, l.Clients, l.Rows+l.TestRows, l.Features),
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
			part := &d.Train
			if row >= l.Rows {
				part = &d.Test
			}
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
			part.addLabelled(x, label, i)
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
	top, sum := math.Inf(-1), 0.0
	for _, s := range scores {
		top = max(top, s)
	}
	for c, s := range scores {
		scores[c] = math.Exp(s - top)
		sum += scores[c]
	}
	for c := range scores {
		scores[c] /= sum
	}
	return top + math.Log(sum)
}

// solveLogistic minimises the cross entropy by Newton's method with step halving, until the gradient's norm is below
// 1e-10 and the steps have become small: where the classes can be separated the gradient vanishes too, far away.
func solveLogistic(s *Split, f, classes int, l2 float64) (*Optimum, error) {
	o := &logistic{x: withOnes(s, f), y: s.Labels, classes: classes, l2: l2}
	w := mat.NewVecDense((f+1)*classes, nil)
	loss := o.loss(w.RawVector().Data)
	for range 100 {
		g, h := o.derivatives(w.RawVector().Data)
		var chol mat.Cholesky
		var step mat.VecDense
		if !chol.Factorize(h) || chol.SolveVecTo(&step, g) != nil {
			return nil, errNoOptimum
		}
		if mat.Norm(g, 2) < 1e-10 && mat.Norm(&step, 2) < 1e-6*(1+mat.Norm(w, 2)) {
			return &Optimum{W: w.RawVector().Data, Loss: loss, gap: func(at []float64) float64 { return o.loss(at) - loss }}, nil
		}
		rate, next := 1.0, new(mat.VecDense)
		for {
			next.AddScaledVec(w, -rate, &step)
			if to := o.loss(next.RawVector().Data); to <= loss+1e-13 { // round-off
				w, loss = next, to
				break
			}
			if rate /= 2; rate < 1e-6 {
				return nil, errNoOptimum
			}
		}
	}
	return nil, errNoOptimum
}

var errNoOptimum = errors.New("datasets: Logistic: there is no optimum, the classes can be separated: take more Rows, or set L2")

// logistic is the objective of multinomial logistic regression: x [n, f+1] with ones last, labels y [n], parameters
// w [f+1, classes].
type logistic struct {
	x       *mat.Dense
	y       []int32
	classes int
	l2      float64
}

func (o *logistic) probabilities(w []float64, i int, p []float64) (logSum, own float64) {
	clear(p)
	for j, v := range o.x.RawRowView(i) {
		for c := range p {
			p[c] += v * w[j*o.classes+c]
		}
	}
	own = p[o.y[i]]
	return softmax(p), own
}

func (o *logistic) loss(w []float64) float64 {
	p, sum := make([]float64, o.classes), 0.0
	for i := range o.y {
		logSum, own := o.probabilities(w, i, p)
		sum += logSum - own
	}
	norm := 0.0
	for _, v := range w {
		norm += v * v
	}
	return sum/float64(len(o.y)) + o.l2/2*norm
}

// derivatives returns the gradient [d] and the Hessian [d, d]. Without L2 the Hessian is zero along the directions that
// shift all classes alike; there it is given the curvature 1, which moves no step, for the gradient is zero there too.
func (o *logistic) derivatives(w []float64) (*mat.VecDense, *mat.SymDense) {
	k, d := o.classes, len(w)
	n := float64(len(o.y))
	g, h := mat.NewVecDense(d, nil), mat.NewSymDense(d, nil)
	p := make([]float64, k)
	for i := range o.y {
		o.probabilities(w, i, p)
		x := o.x.RawRowView(i)
		for j, v := range x {
			for c := range p {
				e := p[c]
				if int(o.y[i]) == c {
					e--
				}
				g.SetVec(j*k+c, g.AtVec(j*k+c)+v*e/n)
				for j2 := j; j2 < len(x); j2++ {
					first := 0
					if j2 == j {
						first = c
					}
					for c2 := first; c2 < k; c2++ {
						curvature := -p[c] * p[c2]
						if c == c2 {
							curvature += p[c]
						}
						h.SetSym(j*k+c, j2*k+c2, h.At(j*k+c, j2*k+c2)+v*x[j2]*curvature/n)
					}
				}
			}
		}
	}
	for a := range d {
		g.SetVec(a, g.AtVec(a)+o.l2*w[a])
		h.SetSym(a, a, h.At(a, a)+o.l2)
		if o.l2 == 0 {
			for b := a; b < a/k*k+k; b++ {
				h.SetSym(a, b, h.At(a, b)+1/float64(k))
			}
		}
	}
	return g, h
}
