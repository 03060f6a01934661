package aggregate

import (
	"cmp"
	"fmt"

	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/floats"
)

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
