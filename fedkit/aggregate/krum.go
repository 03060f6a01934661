package aggregate

import (
	"cmp"
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Krum is the row closest to its neighbors, [1, d] (Blanchard et al., Machine Learning with Adversaries: Byzantine
// Tolerant Gradient Descent, NeurIPS 2017, §4). To withstand f attackers, a row's score is the sum of its squared
// distances to the n−f−2 nearest rows,
//
//	s(i) = Σ_{j→i} ‖u_i − u_j‖²,  x = u_i with the smallest s(i).
//
// Ties go to the first row. A round needs n ≥ 2f+3 clients. The weights are not used. Since x is one client's model,
// Krum suits clients whose data are alike; otherwise see MultiKrum.
type Krum struct {
	F int `range:"[1,inf)" default:"as many as the clients of a round allow"` // f, attackers to withstand; default ⌊(n−3)/2⌋
}

// Aggregate implements fedkit.Aggregator.
func (a Krum) Aggregate(u *fedkit.Matrix, _ []float64) *fedkit.Matrix {
	if err := cmp.Or(u.Err(), fedkit.Check(a, nil, u.Rows())); err != nil {
		return fedkit.Failed(err)
	}
	return MultiKrum{F: a.F, M: 1}.Aggregate(u, nil)
}

// Check implements fedkit.Checker.
func (a Krum) Check(fed *fedkit.Federation, n int) error {
	return MultiKrum{F: a.F, M: 1}.Check(fed, n)
}

// MultiKrum is the mean, with equal weights, of the m rows with the smallest Krum scores, [1, d] (same paper, §5).
// Identities: m = 1 is Krum, m = n the mean.
type MultiKrum struct {
	F int `range:"[1,inf)" default:"as many as the clients of a round allow"` // f, attackers to expect, as in Krum
	M int `range:"[1,inf)" default:"the default of n−f"`                      // m, rows to keep, in [1, n]
}

// Check implements fedkit.Checker.
func (a MultiKrum) Check(_ *fedkit.Federation, n int) error {
	if float64(n) < 2*float64(a.F)+3 { // an int would overflow
		return fedkit.Invalid("F", a.F, fmt.Sprintf("such that n ≥ 2f+3; a round has n = %d clients", n))
	}
	if a.M > n {
		return fedkit.Invalid("M", a.M, fmt.Sprintf("at most n = %d, the number of clients per round", n))
	}
	return nil
}

// Aggregate implements fedkit.Aggregator.
func (a MultiKrum) Aggregate(u *fedkit.Matrix, _ []float64) *fedkit.Matrix {
	n := u.Rows()
	if err := cmp.Or(u.Err(), fedkit.Check(a, nil, n)); err != nil {
		return fedkit.Failed(err)
	}
	f := cmp.Or(a.F, (n-3)/2)
	scores, err := krumScores(u, f)
	if err != nil {
		return fedkit.Failed(err)
	}
	order := make([]int, n)
	floats.ArgsortStable(scores, order)
	m := cmp.Or(a.M, n-f)
	keep := make([]float64, n)
	for _, i := range order[:m] {
		keep[i] = 1
	}
	return u.Mean(keep)
}

// krumScores returns s(i) for each row of u.
func krumScores(u *fedkit.Matrix, f int) ([]float64, error) {
	far, err := distances(u)
	if err != nil {
		return nil, err
	}
	n := u.Rows()
	scores := make([]float64, n)
	for i, d := range far {
		d = slices.Delete(d, i, i+1)
		slices.Sort(d)
		scores[i] = floats.Sum(d[:n-f-2])
	}
	return scores, nil
}

// centered returns the inner products of the rows of u [n, d] relative to their coordinate-wise median, [n, n]. They
// determine all distances between the rows, and from the rows to mixtures of them. Only these n² numbers reach the host.
//
// In float32 small differences between rows would drown in what the rows share. Relative to the mean, they would drown
// as soon as one client sends a huge row. Rows are scaled to a largest value of 1 before they are multiplied, and scaled
// back in float64, so that no product overflows.
func centered(u *fedkit.Matrix) (*mat.SymDense, error) {
	n := u.Rows()
	v, err := u.Apply(products, Median{}.Aggregate(u, nil)).Host()
	if err != nil {
		return nil, err
	}
	g := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			g.SetSym(i, j, float64(v[i*(n+1)+j])*float64(v[i*(n+1)+n])*float64(v[j*(n+1)+n]))
		}
	}
	return g, nil
}

// distances returns the squared distances between the rows of u, [n][n].
func distances(u *fedkit.Matrix) ([][]float64, error) {
	g, err := centered(u)
	if err != nil {
		return nil, err
	}
	far := make([][]float64, u.Rows())
	for i := range far {
		far[i] = make([]float64, len(far))
		for j := range far {
			if j != i {
				far[i][j] = max(0, g.At(i, i)+g.At(j, j)-2*g.At(i, j))
			}
		}
	}
	return far, nil
}

// products is [n, n+1]: the inner products of the rows of u [n, d] minus center [1, d], scaled, and the scales.
var products = fedkit.NewProgram("centered products", func(a []*Node) *Node {
	u := Sub(a[0], a[1])
	scale := ReduceAndKeep(Abs(u), ReduceMax, 1)
	scale = Where(Equal(scale, ZerosLike(scale)), OnesLike(scale), scale) // a row at the center
	u = Div(u, scale)
	return Concatenate([]*Node{DotGeneral(u, []int{1}, nil, u, []int{1}, nil), scale}, 1)
})

// NearestMix replaces every row by the mean of the n−f rows nearest to it, itself included, and passes these
// means to another aggregator, without weights (nearest-neighbor mixing; Allouah et al., Fixing by Mixing,
// arXiv 2302.01772, Algorithm 2),
//
//	y_i = 1/(n−f) Σ_{j near i} u_j,  x = By(y_1, …, y_n).
//
// Robust rules mistake honest clients for outliers if their data differ a lot. After mixing, honest rows are alike, and
// an attacker's row consists mostly of honest ones. Identity: with one client, By alone.
type NearestMix struct {
	F  int               `range:"[1,inf)" default:"as many as the clients of a round allow"` // f, attackers to withstand, n ≥ 2f+1; default ⌊(n−1)/2⌋
	By fedkit.Aggregator // aggregates the means; default Median
}

// Check implements fedkit.Checker.
func (a NearestMix) Check(_ *fedkit.Federation, n int) error {
	if float64(n) < 2*float64(a.F)+1 { // an int would overflow
		return fedkit.Invalid("F", a.F, fmt.Sprintf("such that n ≥ 2f+1; a round has n = %d clients", n))
	}
	return nil
}

// Aggregate implements fedkit.Aggregator.
func (a NearestMix) Aggregate(u *fedkit.Matrix, _ []float64) *fedkit.Matrix {
	n := u.Rows()
	if err := cmp.Or(u.Err(), fedkit.Check(a, nil, n)); err != nil {
		return fedkit.Failed(err)
	}
	far, err := distances(u)
	if err != nil {
		return fedkit.Failed(err)
	}
	near := n - cmp.Or(a.F, (n-1)/2)
	mix := make([][]float64, n)
	for i := range mix {
		order := make([]int, n)
		floats.ArgsortStable(far[i], order)
		mix[i] = make([]float64, n)
		for _, j := range order[:near] {
			mix[i][j] = 1 / float64(near)
		}
	}
	return cmp.Or[fedkit.Aggregator](a.By, Median{}).Aggregate(u.Mix(mix), nil)
}
