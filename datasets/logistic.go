package datasets

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"fedkit.example/fedkit/config"
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

// solveLogistic minimizes the cross entropy.
func solveLogistic(s *Split, f, classes int, l2 float64) (*Optimum, error) {
	of := problem(s, f, classes, l2)
	w, err := of.Minimum()
	if err != nil {
		return nil, errors.New("datasets: Logistic: there is no optimum because the classes can be separated: use more Rows, or set L2")
	}
	loss := of.Loss(w)
	return &Optimum{W: w, Loss: loss, gap: func(at []float64) float64 { return of.Loss(at) - loss }}, nil
}
