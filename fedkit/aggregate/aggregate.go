// Package aggregate combines the rows that clients return into one: by their mean, or by a robust rule that a few
// malicious clients cannot move far.
package aggregate

import "fedkit.example/fedkit"

// Mean is the weighted mean Σ p_i u_i / Σ p_i, [1, d].
type Mean struct{}

// Aggregate implements fedkit.Aggregator.
func (Mean) Aggregate(u *fedkit.Matrix, weights []float64) *fedkit.Matrix { return u.Mean(weights) }
