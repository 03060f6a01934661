package datasets

import (
	"cmp"
	"math"
	"slices"

	"fedkit.example/fedkit/config"
)

// Logistic makes a classification task for logistic regression. Client i's rows are
//
//	x ~ N(0, I),  P(y = c) = softmax(W_i x + b_i)_c,  (W_i, b_i) ~ N((W, b), h² I),  (W, b) ~ N(0, 1/(f+1)),
//
// W [classes, f]. Labels are drawn, so that the classes overlap: with enough rows they cannot be separated, and the
// optimum is finite. Owner is the client. The objective is that of the model LogisticRegression, the cross entropy;
// convex.RegressionGap knows its optimum, also with (λ/2)‖w‖²: train that with a fedkit.Pull of weight λ to zeros. Without it,
// adding one vector to the weights of all classes changes nothing.
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
	Seed          uint64  // chooses all that is drawn
}

// Make returns the data set: Shape [f], Floats.
func (l Logistic) Make() (*Dataset, error) {
	l = config.Defaults(l)
	if err := cmp.Or(inRange("Logistic", l),
		checkSize("Logistic", "Clients × (Rows + TestRows) × Features", l.Clients, l.Rows+l.TestRows, l.Features),
		checkSize("Logistic", "(Features + 1) × Classes", l.Features+1, l.Classes)); err != nil {
		return nil, err
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
	return d.finite()
}

// softmax replaces scores by their softmax.
func softmax(scores []float64) {
	top, sum := slices.Max(scores), 0.0
	for c, s := range scores {
		scores[c] = math.Exp(s - top)
		sum += scores[c]
	}
	for c := range scores {
		scores[c] /= sum
	}
}
