// Package cluster groups clients, finds how many groups there are, and says how good groups are and which is which from round to
// round. Every method works on the Gram matrix G [n, n], G_ij = ⟨x_i, x_j⟩, of the clients' features x_i, however long these are,
// so that only inner products of what clients sent reach the host. Coordinates or distances will do, too: see Points.
//
// The same points, options and randomness give the same groups, on any number of cores. Groups are numbered by their first
// points.
package cluster

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Clusterer divides points into k groups, or into as many groups as there are points if these are fewer. The result holds
// each point's group, 0 ≤ group < k. All randomness comes from rng; nil stands for one that is always the same.
//
// Errors: no points, k < 1, coordinates, inner products or distances that are not finite or beyond 1e100 in size (inner products:
// 1e200), distances below 0.
type Clusterer interface {
	Cluster(p *Points, k int, rng *rand.Rand) ([]int, error) // by point, its group
}

// Finder is a Clusterer that may find the number of groups itself. If Finds is true, k is the most groups there may be, and
// may be 0 for no limit.
type Finder interface {
	Clusterer
	Finds() bool // whether it finds the number of groups as it is set
}

// Func turns a function into a Clusterer.
type Func func(p *Points, k int, rng *rand.Rand) ([]int, error)

// Cluster calls f.
func (f Func) Cluster(p *Points, k int, rng *rand.Rand) ([]int, error) { return f(p, k, rng) }

// Members returns the members of each of k groups, in ascending order. A label outside of [0, k) is no group's.
func Members(labels []int, k int) [][]int {
	m := make([][]int, k)
	for i, c := range labels {
		if c >= 0 && c < k {
			m[c] = append(m[c], i)
		}
	}
	return m
}

// ToCentroids returns the squared distance of every point to the mean of every group, [n][k]:
//
//	‖x_i − c‖² = G_ii − 2 mean_j G_ij + mean_jl G_jl,  j, l over the group.
//
// An empty group is infinitely far away.
func ToCentroids(gram *mat.SymDense, labels []int, k int) [][]float64 {
	inner, norm := Centroids(gram, labels, k)
	for i := range inner {
		for c := range inner[i] {
			inner[i][c] = max(0, gram.At(i, i)-2*inner[i][c]+norm[c])
		}
	}
	return inner
}

// Centroids returns the inner product of every point with the mean of every group, [n][k], and the squared length of
// every mean, [k]; for an empty group, 0 and +Inf.
func Centroids(gram *mat.SymDense, labels []int, k int) (inner [][]float64, norm []float64) {
	groups := Members(labels, k)
	norm = make([]float64, k)
	inner = make([][]float64, len(labels))
	for i := range inner {
		inner[i] = make([]float64, k)
		for c, g := range groups {
			for _, j := range g {
				inner[i][c] += gram.At(i, j) / float64(len(g))
			}
		}
	}
	for c, g := range groups {
		if len(g) == 0 {
			norm[c] = math.Inf(1)
		}
		for _, j := range g {
			norm[c] += inner[j][c] / float64(len(g))
		}
	}
	return inner, norm
}
