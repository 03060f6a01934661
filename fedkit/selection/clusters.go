package selection

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit"
)

// OnePerCluster chooses one client of each cluster, at random, however many clients the strategy asks
// for. As long as no clusters are known, as many as asked for are chosen at random.
type OnePerCluster struct {
	First  bool  // the first of each cluster instead
	Labels []int // by client, its cluster; negative: none. Default: those the strategy last served (Round.Clusters)
}

// Check implements fedkit.Checker.
func (s OnePerCluster) Check(fed *fedkit.Federation, _ int) error { return checkLabels(s.Labels, fed) }

// Select implements fedkit.Selector.
func (s OnePerCluster) Select(r *fedkit.Round, n int) []int {
	labels := known(s.Labels, r)
	different := map[int]bool{}
	for _, c := range labels {
		if c >= 0 {
			different[c] = true
		}
	}
	switch {
	case len(different) == 0:
		return Random{}.Select(r, n)
	case s.First:
		return PerCluster(labels, len(different), nil)
	}
	return PerCluster(labels, len(different), r.Rand("clusters"))
}

// ByCluster spreads the round over the clusters as evenly as can be: one client of every cluster, then a
// second of every cluster, … until there are n, at random within the clusters. Clients without a cluster come last. As
// long as no clusters are known, all are chosen at random.
type ByCluster struct {
	Labels []int // by client, its cluster; negative: none. Default: those the strategy last served (Round.Clusters)
}

// Check implements fedkit.Checker.
func (s ByCluster) Check(fed *fedkit.Federation, _ int) error { return checkLabels(s.Labels, fed) }

// Select implements fedkit.Selector.
func (s ByCluster) Select(r *fedkit.Round, n int) []int {
	return fill(r, PerCluster(known(s.Labels, r), n, r.Rand("clusters")), n)
}

// PerCluster returns n of the indices i with a cluster (labels[i] ≥ 0; all of them, if they are fewer), the clusters as
// equally represented as can be: one of each cluster, then a second of each, … Who of a cluster, and which clusters where
// n leaves a remainder, is random; with a nil rng it is the first. A strategy that clusters within a round chooses by it.
func PerCluster(labels []int, n int, rng *rand.Rand) []int {
	var all []int
	for i, c := range labels {
		if c >= 0 {
			all = append(all, i)
		}
	}
	shuffle := func() {
		if rng != nil {
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		}
	}
	shuffle()
	turn, members := make([]int, len(labels)), map[int]int{}
	for _, i := range all {
		turn[i] = members[labels[i]]
		members[labels[i]]++
	}
	shuffle() // otherwise large clusters would come first in each turn
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(turn[i], turn[j]) })
	return all[:min(n, len(all))]
}

func known(labels []int, r *fedkit.Round) []int {
	if labels == nil {
		return r.Clusters()
	}
	return labels
}

func checkLabels(labels []int, fed *fedkit.Federation) error {
	if labels != nil && len(labels) != fed.Size() {
		return fedkit.Invalid("Labels", fmt.Sprintf("%d labels", len(labels)), fmt.Sprintf("%d, one per client, or nil", fed.Size()))
	}
	return nil
}
