package strategy

import (
	"cmp"
	"fmt"
	"math"

	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/floats"
)

// Weighting is the weight p_i of a client in the server's means, in place of what a formula has there (n_i/N, or 1/|S|),
//
//	x ← Σ_{i∈S} p_i w_i / Σ_{i∈S} p_i,
//
// so that Σ_i p_i f_i is minimized. In clustered algorithms both sums are over the clients of a cluster; one whose clients all
// have p_i = 0 keeps its model, or is an error in FedAC, whose Ω_k is nothing but the mean. An Aggregator gets the p_i, but some,
// like the median, use no weights. Distances and scores of clients are not weighted.
//
// SCAFFOLD, FedAC and FedDyn need p_i of absent clients, too: s is then their last ClientResult, which always has Client and
// Examples.
type Weighting interface {
	Weight(s fedkit.ClientResult) float64 // p_i ≥ 0 of client s.Client, finite; only ratios matter, and not all may be 0
}

// WeightingFunc adapts a function to Weighting.
type WeightingFunc func(s fedkit.ClientResult) float64

// Weight calls f.
func (f WeightingFunc) Weight(s fedkit.ClientResult) float64 { return f(s) }

// ByExamples is p_i = n_i: every example counts the same.
type ByExamples struct{}

// Weight implements Weighting.
func (ByExamples) Weight(s fedkit.ClientResult) float64 { return float64(s.Examples) }

// Equal is p_i = 1: every client counts the same, whatever its size.
type Equal struct{}

// Weight implements Weighting.
func (Equal) Weight(fedkit.ClientResult) float64 { return 1 }

// Weights returns p_i of each update, [n]. by is a strategy's option; if it is nil, the usual weighting decides. A weight that is
// negative or not finite, or a sum that is 0 or not finite, fails the round.
func Weights(r *fedkit.Round, u *fedkit.Updates, by, usual Weighting) []float64 {
	return weigh(r, u.Results, by, usual)
}

// Share returns the weight of the clients of u relative to that of all M, Σ_{i∈S} p_i / Σ_i p_i: |S|/M if all are equal.
func Share(r *fedkit.Round, u *fedkit.Updates, by, usual Weighting) float64 {
	return floats.Sum(Weights(r, u, by, usual)) / floats.Sum(weighAll(r, u, by, usual))
}

// weighAll returns p_i of all clients, [M], of those without an update by their last ClientResult.
func weighAll(r *fedkit.Round, u *fedkit.Updates, by, usual Weighting) []float64 {
	all := make([]fedkit.ClientResult, r.Clients())
	for i, c := range r.Fed.Clients {
		all[i], _ = r.Last(i)
		all[i].Client, all[i].Examples = i, len(c.Train)
	}
	for _, s := range u.Results {
		all[s.Client] = s
	}
	return weigh(r, all, by, usual)
}

// relativeWeights returns p_i/p̄ of each update, where p̄ is their mean: 1 if all are equal.
func relativeWeights(r *fedkit.Round, u *fedkit.Updates, by, usual Weighting) []float64 {
	p := Weights(r, u, by, usual)
	n, sum := float64(len(p)), floats.Sum(p)
	for i := range p {
		p[i] = p[i] * n / sum
	}
	return p
}

func weigh(r *fedkit.Round, solves []fedkit.ClientResult, by, usual Weighting) []float64 {
	p := make([]float64, len(solves))
	for i, s := range solves {
		if p[i] = cmp.Or(by, usual).Weight(s); !(p[i] >= 0) || math.IsInf(p[i], 1) {
			r.Fail(fedkit.Invalid(fmt.Sprintf("Weighting of client %d", s.Client), p[i], "a finite number ≥ 0"))
		}
	}
	if sum := floats.Sum(p); !(sum > 0) || math.IsInf(sum, 1) {
		r.Fail(fedkit.Invalid("sum of Weighting", sum, "a finite number > 0"))
	}
	return p
}
