package cluster

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit/config"
)

// KMeans minimizes the sum of squared distances to the groups' means (Lloyd's iterations from k-means++ starts, Arthur and
// Vassilvitskii 2007; the best of several starts is kept). No group is empty unless there are fewer points than groups. It uses
// coordinates if there are any, else the Gram matrix, for which libraries have no k-means.
//
// Errors: those of Clusterer, negative options.
type KMeans struct {
	Starts     int `range:"[1,inf)" default:"10"`  // random restarts; the best is kept
	Iterations int `range:"[1,inf)" default:"300"` // at most, per start
}

// Cluster implements Clusterer.
func (m KMeans) Cluster(p *Points, k int, rng *rand.Rand) ([]int, error) {
	if m.Starts < 0 {
		return nil, invalid("Starts", m.Starts, "at least 1, or 0 for the default of 10")
	}
	if m.Starts > 1e6 {
		return nil, invalid("Starts", m.Starts, "at most 1000000")
	}
	if m.Iterations < 0 {
		return nil, invalid("Iterations", m.Iterations, "at least 1, or 0 for the default of 300")
	}
	if err := p.check(k); err != nil {
		return nil, err
	}
	if rng == nil {
		rng = rand.New(rand.NewPCG(0, 0))
	}
	m = config.Defaults(m)
	s, starts := spaceOf(p), make([]lloyd, m.Starts)
	for i := range starts { // each has its own generator, so that they can run in parallel
		starts[i] = lloyd{space: s, k: min(k, p.Len()), rng: rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))}
	}
	parallel(len(starts), func(i int) { starts[i].run(m.Iterations) })
	best := slices.MinFunc(starts, func(a, b lloyd) int { return cmp.Compare(a.inertia, b.inertia) })
	return Renumber(best.labels), nil
}
