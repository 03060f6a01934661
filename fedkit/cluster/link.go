package cluster

import (
	"math"
	"slices"
)

// Link returns the dendrogram of hierarchical clustering: the n−1 merges of the two nearest groups. It equals SciPy's, even in
// ties, where the lowest points come first. Ward's linkage treats the distances as Euclidean.
//
// Time is O(n²); memory is one Condensed, that of Distances unless the points were given by distances. Single linkage uses the
// minimum spanning tree (Prim 1957), the others nearest-neighbor chains (Müllner 2011, arXiv 1109.2378, section 3).
//
// Errors: no points, points that are not finite, distances below 0, an unknown linkage.
func Link(p *Points, by Linkage) (Tree, error) {
	if by < Ward || by > Complete {
		return nil, invalid("Linkage", by, "Ward, Average, Single or Complete")
	}
	if err := p.finite(); err != nil {
		return nil, err
	}
	d := p.Distances()
	if by == Single {
		return grow(spanning(d)), nil
	}
	if d == p.distances {
		d = d.clone()
	}
	return grow(chains(d, by)), nil
}

// spanning returns the minimum spanning tree in Prim's order: each merge has the point added last as A, and the next one as B.
func spanning(d *Condensed) []Merge {
	n := d.n
	edges, rest := make([]Merge, 0, n), make([]int, n)
	near := slices.Repeat([]float64{math.Inf(1)}, n) // distances of those in rest from the tree
	for i := range rest {
		rest[i] = i
	}
	for at, last := 0, 0; ; at = slices.Index(rest, last) { // rest is in ascending order: the lowest comes first
		rest = slices.Delete(rest, at, at+1)
		if len(rest) == 0 {
			return edges
		}
		next, least := rest[0], math.Inf(1)
		for _, i := range rest {
			v := d.v[d.at(i, last)]
			if v < near[i] {
				near[i] = v
			} else {
				v = near[i]
			}
			if v < least {
				next, least = i, v
			}
		}
		edges = append(edges, Merge{A: last, B: next, Height: least})
		last = next
	}
}

// chains returns the merges found by nearest-neighbor chains, and overwrites the distances. A chain goes from a group to its
// nearest neighbor and on, until two groups are mutual nearest neighbors: these merge, and the rest of the chain continues. This
// is exact because the linkages are reducible: no merge brings a third group nearer.
func chains(d *Condensed, by Linkage) []Merge {
	g := startMerging(d)
	merges := make([]Merge, 0, d.n)
	var chain []int
	for g.left > 1 {
		if len(chain) == 0 {
			chain = append(chain, g.first())
		}
		end := chain[len(chain)-1]
		before := -1
		if len(chain) > 1 {
			before = chain[len(chain)-2]
		}
		next, height := g.nearest(end, before)
		if next != before {
			chain = append(chain, next)
			continue
		}
		chain = chain[:len(chain)-2]
		merges = append(merges, Merge{A: g.point[end], B: g.point[next], Height: height})
		g.merge(end, next, height, by)
		g.pack(chain)
	}
	return merges
}
