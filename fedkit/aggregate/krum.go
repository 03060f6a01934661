package aggregate

import (
	"cmp"
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/floats"
)

// Krum is the row closest to its neighbours, [1, d] (Blanchard et al., Machine Learning with Adversaries: Byzantine
// Tolerant Gradient Descent, NeurIPS 2017, §4). With f attackers to withstand, a row's score is the sum of its squared
// distances to the n−f−2 rows nearest to it,
//
//	s(i) = Σ_{j→i} ‖u_i − u_j‖²,  x = u_i of the smallest s(i),
//
// of equal scores the first. It needs n ≥ 2f+3 clients in the round. The weights are not used. Since x is one client's
// model, it serves clients whose data are alike; otherwise see MultiKrum.
type Krum struct {
	F int // f, attackers among the clients of a round, at least 1; default as many as they allow, ⌊(n−3)/2⌋
}

// Check implements fedkit.Checker.
func (a Krum) Check() error { return MultiKrum{F: a.F, M: 1}.check("Krum") }

// CheckCohort implements fedkit.CohortChecker.
func (a Krum) CheckCohort(n int) error { return MultiKrum{F: a.F, M: 1}.checkCohort("Krum", n) }

// Aggregate implements fedkit.Aggregator.
func (a Krum) Aggregate(u *fedkit.Matrix, _ []float64) *fedkit.Matrix {
	return MultiKrum{F: a.F, M: 1}.aggregate("Krum", u)
}

// MultiKrum is the mean, with equal weights, of the m rows with the smallest Krum scores, [1, d] (as Krum, §5).
// Identities: m = 1 is Krum, m = n the mean.
type MultiKrum struct {
	F int // f, as in Krum
	M int // m, rows that are kept, in [1, n]; default n−f
}

// Check implements fedkit.Checker.
func (a MultiKrum) Check() error { return a.check("MultiKrum") }

func (a MultiKrum) check(name string) error {
	if a.F < 0 {
		return fedkit.Invalid(name+".F", a.F, "at least 1, or 0 for as many as the clients of a round allow")
	}
	if a.M < 0 {
		return fedkit.Invalid(name+".M", a.M, "at least 1, or 0 for the default of n−f")
	}
	return nil
}

// CheckCohort implements fedkit.CohortChecker.
func (a MultiKrum) CheckCohort(n int) error { return a.checkCohort("MultiKrum", n) }

func (a MultiKrum) checkCohort(name string, n int) error {
	if n < 2*a.F+3 {
		return fedkit.Invalid(name+".F", a.F, fmt.Sprintf("such that n ≥ 2f+3, and a round has n = %d clients", n))
	}
	if a.M > n {
		return fedkit.Invalid(name+".M", a.M, fmt.Sprintf("at most n = %d, the clients of a round", n))
	}
	return nil
}

// Aggregate implements fedkit.Aggregator.
func (a MultiKrum) Aggregate(u *fedkit.Matrix, _ []float64) *fedkit.Matrix {
	return a.aggregate("MultiKrum", u)
}

func (a MultiKrum) aggregate(name string, u *fedkit.Matrix) *fedkit.Matrix {
	n := u.Rows()
	if err := cmp.Or(u.Err(), a.check(name), a.checkCohort(name, n)); err != nil {
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

// krumScores returns s(i) for every row of u.
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
