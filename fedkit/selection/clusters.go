package selection

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit"
)

// OnePerCluster chooses one random client from each cluster, however many clients the strategy asks for. While no
// clusters are known, it chooses the requested number at random.
type OnePerCluster struct {
	First  bool  // the first client of each cluster instead
	Labels []int // cluster of each client; negative: none. Default: those the strategy last served (Round.Clusters), clients without one being a cluster of their own
}

// Check implements fedkit.Checker.
func (s OnePerCluster) Check(fed *fedkit.Federation, _ int) error { return checkLabels(s.Labels, fed) }

// Select implements fedkit.Selector.
func (s OnePerCluster) Select(r *fedkit.Round, n int) []int {
	labels := among(r.Candidates(), known(s.Labels, r))
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

// ByCluster spreads the round over the clusters as evenly as possible: one random client from each cluster, then a second
// from each, … until there are n. Clients without a cluster come last. While no clusters are known, all n are chosen at
// random.
type ByCluster struct {
	Labels []int // cluster of each client; negative: none. Default: those the strategy last served (Round.Clusters), clients without one being a cluster of their own
}

// Check implements fedkit.Checker.
func (s ByCluster) Check(fed *fedkit.Federation, _ int) error { return checkLabels(s.Labels, fed) }

// Select implements fedkit.Selector.
func (s ByCluster) Select(r *fedkit.Round, n int) []int {
	return fill(r, PerCluster(among(r.Candidates(), known(s.Labels, r)), n, r.Rand("clusters")), n)
}

// PerCluster returns n of the indices i with a cluster, labels[i] ≥ 0, or all of them if there are fewer. It takes one of
// each cluster, then a second of each, … Which ones of a cluster, and which clusters get the remainder of n, is random;
// with a nil rng the first ones are taken. Strategies that cluster within a round use it to choose clients.
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

// known returns the given labels or, if there are none, the clusters that the strategy last served. There, clients that have
// none yet are a cluster of their own, so that they are chosen some time; nil if nobody has one.
func known(labels []int, r *fedkit.Round) []int {
	if labels != nil {
		return labels
	}
	served := slices.Clone(r.Clusters())
	if len(served) == 0 || slices.Max(served) < 0 {
		return nil
	}
	for i, own := 0, slices.Max(served)+1; i < len(served); i++ {
		if served[i] < 0 {
			served[i] = own
		}
	}
	return served
}

// among returns the labels of some clients, and −1 for all others.
func among(clients, labels []int) []int {
	some := slices.Repeat([]int{-1}, len(labels))
	for _, c := range clients {
		if labels != nil {
			some[c] = labels[c]
		}
	}
	return some
}

func checkLabels(labels []int, fed *fedkit.Federation) error {
	if labels != nil && fed != nil && len(labels) != fed.Size() {
		return fedkit.Invalid("Labels", fmt.Sprintf("%d labels", len(labels)), fmt.Sprintf("%d, one per client, or nil", fed.Size()))
	}
	return nil
}
