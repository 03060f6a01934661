package strategy

import (
	"math"
	"slices"

	"fedkit.example/fedkit"
)

// sampleClusters returns the round's cohort by cluster: the members that the selector chooses from all clients or, without a
// selector, a share of each cluster (0: all), uniformly at random and at least one client. A client with a negative label is in
// no cluster and does not participate.
func sampleClusters(r *fedkit.Round, by fedkit.Selector, share float64, labels []int) [][]int {
	clients := r.AllClients()
	if by != nil {
		clients = r.Select(by, share)
	}
	groups := make([][]int, 1+slices.Max(labels))
	for _, i := range clients {
		if c := labels[i]; c >= 0 {
			groups[c] = append(groups[c], i)
		}
	}
	rng := r.Rand("select")
	for c, members := range groups {
		if n := int(math.Round(share * float64(len(members)))); by == nil && share > 0 && n < len(members) {
			groups[c] = take(members, rng.Perm(len(members))[:max(1, n)])
			slices.Sort(groups[c])
		}
	}
	return groups
}

// inTurn trains groups of clients sequentially: the first from x, each other from the weighted mean of the group before. It
// returns the last mean.
func inTurn(r *fedkit.Round, x *fedkit.Matrix, groups [][]int, local fedkit.Local, by Weighting) *fedkit.Matrix {
	for _, S := range groups {
		if len(S) > 0 {
			u := r.Train(fedkit.Job{Clients: S, Start: x, Local: local})
			x = u.Models.Mean(Weights(r, u, by, ByExamples{}))
		}
	}
	return x
}
