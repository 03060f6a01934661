package selection

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
)

// OnePerCluster chooses one random client from each cluster, however many clients the strategy asks for. Without known
// clusters, it chooses the requested number at random.
type OnePerCluster struct {
	First  bool  // the first client of each cluster instead
	Labels []int // cluster of each client; negative: none. Default: those the strategy last served (Round.Clusters), with all unclustered clients as one more cluster
}

// Check implements fedkit.Checker.
func (s OnePerCluster) Check(fed *fedkit.Federation, _ int) error { return checkLabels(s.Labels, fed) }

// Select implements fedkit.Selector.
func (s OnePerCluster) Select(r *fedkit.Round, n int) []int {
	labels := among(r.Candidates(), known(s.Labels, r))
	different := len(cluster.Groups(labels).Names())
	switch {
	case different == 0:
		return Random{}.Select(r, n)
	case s.First:
		return PerCluster(labels, different, nil)
	}
	return PerCluster(labels, different, r.Rand("clusters"))
}

// ByCluster stratifies the cohort by cluster: one random client from each, then a second from each, … until there are n.
// Unclustered clients come last. Without known clusters, all n are random.
type ByCluster struct {
	Labels []int // cluster of each client; negative: none. Default: those the strategy last served (Round.Clusters), with all unclustered clients as one more cluster
}

// Check implements fedkit.Checker.
func (s ByCluster) Check(fed *fedkit.Federation, _ int) error { return checkLabels(s.Labels, fed) }

// Select implements fedkit.Selector.
func (s ByCluster) Select(r *fedkit.Round, n int) []int {
	return fill(r, PerCluster(among(r.Candidates(), known(s.Labels, r)), n, r.Rand("clusters")), n)
}

// PerCluster returns n of the indices i with a cluster, labels[i] ≥ 0, or all of them if there are fewer: one of each
// cluster, then a second of each, … The choice within a cluster, and of the clusters that get the remainder of n, is
// random; with a nil rng it takes the first ones. Strategies that cluster within a round use it to choose clients.
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
	shuffle() // otherwise large clusters would come first in each pass
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(turn[i], turn[j]) })
	return all[:max(0, min(n, len(all)))]
}

// known returns the given labels or, if there are none, the clusters that the strategy last served, with all unclustered
// clients as one more cluster, so that they are chosen, too; nil without any cluster.
func known(labels []int, r *fedkit.Round) []int {
	if labels != nil {
		return labels
	}
	served := cluster.Groups(slices.Clone(r.Clusters()))
	if len(served.Names()) == 0 {
		return nil
	}
	served.Merge(cluster.None, slices.Max(served)+1)
	return served
}

// among keeps the labels of the given clients; all others get −1.
func among(clients, labels []int) []int {
	some := cluster.Ungrouped(len(labels))
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
