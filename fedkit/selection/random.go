// Package selection has the rules that choose the clients of a round, one a file. A rule keeps no state: all it goes by is
// what the Round knows of the clients' past and its generators, so that a resumed run chooses the same clients. Rules
// that wrap another one (Explore, Fair, Annealed) compose:
//
//	selection.Fair{Wait: 10, Then: selection.Explore{Then: selection.Hybrid{By: selection.Loss}}}
package selection

import "fedkit.example/fedkit"

// Random chooses n clients uniformly without replacement, as a strategy without a Selector does (seeds 000, 001, 004).
type Random struct{}

// Select implements fedkit.Selector.
func (Random) Select(r *fedkit.Round, n int) []int { return r.Rand("select").Perm(r.Clients())[:n] }
