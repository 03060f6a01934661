package cluster

import (
	"cmp"
	"math/rand/v2"
)

// Stratified makes groups that are alike: each is a small copy of the whole. Another clusterer first finds ⌈n/k⌉ groups of similar
// points, and their members are then assigned to the k groups in turn, one after the other, so that sizes differ by at most one.
// That is for methods whose clusters train one model, such as FedCluster, whose analysis wants clusters with the same mix of data.
//
// Errors: those of Clusterer and of Of.
type Stratified struct {
	Of Clusterer // finds similar points; default Agglomerative with complete linkage
}

// Cluster implements Clusterer.
func (m Stratified) Cluster(p *Points, k int, rng *rand.Rand) ([]int, error) {
	if err := p.check(k); err != nil {
		return nil, err
	}
	n := p.Len()
	similar, err := cmp.Or[Clusterer](m.Of, Agglomerative{Linkage: Complete}).Cluster(p, (n+k-1)/k, rng)
	if err != nil {
		return nil, err
	}
	labels, next := make([]int, n), 0
	for _, members := range Members(similar, n) {
		for _, i := range members {
			labels[i] = next % k
			next++
		}
	}
	return Renumber(labels), nil
}
