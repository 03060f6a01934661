// Package cluster clusters clients, chooses the number of clusters, scores a clustering, and matches clusters across rounds.
// Every method works on the Gram matrix G [n, n], G_ij = ⟨x_i, x_j⟩, of the clients' features x_i, so that only inner products of
// what clients sent reach the host, however long the features are. Coordinates or distances work, too: see Points.
//
// The same points, options and generator give the same groups on any number of cores. Groups are numbered by their first points.
package cluster

import (
	"math/rand/v2"

	"fedkit.example/fedkit/internal/fault"
)

// Clusterer partitions n points into min(k, n) groups and returns their labels [n], 0 ≤ label < k. All randomness comes from rng;
// nil is a generator with a fixed seed.
//
// Errors: no points, k < 1, coordinates, inner products or distances that are not finite or beyond 1e100 in size (inner products:
// 1e200), distances below 0.
type Clusterer interface {
	Cluster(p *Points, k int, rng *rand.Rand) ([]int, error) // the labels
}

// KSelector is a Clusterer that may choose the number of groups itself. If SelectsK is true, k is an upper bound, or 0 for none.
type KSelector interface {
	Clusterer
	SelectsK() bool // whether its options make it choose the number of groups
}

// Func turns a function into a Clusterer.
type Func func(p *Points, k int, rng *rand.Rand) ([]int, error)

// Cluster calls f.
func (f Func) Cluster(p *Points, k int, rng *rand.Rand) ([]int, error) {
	if f == nil {
		return nil, fault.Invalid("cluster.Func", "nil", "a function")
	}
	return f(p, k, rng)
}

// Members returns the members of each of k groups, in ascending order. Labels outside [0, k) are ignored.
func Members(labels []int, k int) [][]int {
	m := make([][]int, sized(k, len(labels)))
	for i, c := range labels {
		if c >= 0 && c < k {
			m[c] = append(m[c], i)
		}
	}
	return m
}
