package examples

import (
	"cmp"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
)

// Alphas are weights α in [0, 1] of a personal model in its mixture with a shared one, from which each client chooses that with the
// lowest loss on its validation rows, the first of ties (model interpolation of Mansour et al., arXiv 2002.10619).
type Alphas []float64

// Check implements fedkit.Checker.
func (a Alphas) Check(fed *fedkit.Federation, _ int) error {
	for _, alpha := range a {
		if !(alpha >= 0 && alpha <= 1) {
			return fedkit.Invalid("", []float64(a), "in [0, 1]")
		}
	}
	if a != nil && (len(a) == 0 || fed.NeedsValidation() != nil) {
		return fedkit.Invalid("", []float64(a), "left out unless clients have validation rows to choose by, as partition.Validation holds back")
	}
	return nil
}

// mix returns the mixtures α v_i + (1−α) x of all clients with each α, [k·M, d], and which of them each client chooses. Without
// Alphas, all have the usual one. The models are halves of Twins.
func (a Alphas) mix(r *fedkit.Round, v, x *fedkit.Matrix, usual float64) (mixed *fedkit.Matrix, assign []int) {
	if a == nil {
		return v.Scale(usual).Add(x.Scale(1 - usual)), r.AllClients()
	}
	var all []*fedkit.Matrix
	for _, alpha := range a {
		all = append(all, v.Scale(alpha).Add(x.Scale(1-alpha)))
	}
	mixed = fedkit.StackRows(all...)
	for i := range r.Clients() {
		own := make([]int, len(a)) // rows of client i
		for k := range own {
			own[k] = k*r.Clients() + i
		}
		loss := r.Losses(fedkit.JoinColumns(mixed.Take(own...), x), datasets.ValidationPart, []int{i})
		assign = append(assign, slices.MinFunc(own, func(p, q int) int { return cmp.Compare(loss[p/r.Clients()][0], loss[q/r.Clients()][0]) }))
	}
	return mixed, assign
}
