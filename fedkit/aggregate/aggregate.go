// Package aggregate has the ways to turn the rows that came back from the clients into one: the mean, and robust
// alternatives that a few bad clients cannot move far.
package aggregate

import "fedkit.example/fedkit"

// Mean is the weighted mean Σ p_i u_i / Σ p_i, [1, d].
type Mean struct{}

// Aggregate implements fedkit.Aggregator.
func (Mean) Aggregate(u *fedkit.Matrix, weights []float64) *fedkit.Matrix { return u.Mean(weights) }
