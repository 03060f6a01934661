package aggregate

import (
	"cmp"
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/floats"
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
