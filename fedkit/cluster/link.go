package cluster

import (
	"math"
	"slices"

	"fedkit.example/fedkit/internal/fault"
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
		return nil, fault.Invalid("Linkage", by, "Ward, Average, Single or Complete")
	}
	if err := p.finite(); err != nil {
		return nil, err
	}
	d := p.Distances()
	if by == Single {
		return grow(spanning(d)), nil
	}
	if d == p.distances {
		d = &Condensed{d.n, slices.Clone(d.v)}
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
	g := &merging{left: d.n, d: d, size: slices.Repeat([]float64{1}, d.n), point: make([]int, d.n), x: make([]float64, d.n), y: make([]float64, d.n)}
	for i := range g.point {
		g.point[i] = i
	}
	merges := make([]Merge, 0, d.n)
	var chain []int
	for g.left > 1 {
		if len(chain) == 0 {
			chain = append(chain, slices.IndexFunc(g.size, func(size float64) bool { return size > 0 }))
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

// merging is the state of an agglomeration: groups in slots 0, 1, …, and their distances. A merge leaves an empty slot.
type merging struct {
	left  int // groups
	d     *Condensed
	size  []float64 // by slot; 0 if it is empty
	point []int     // by slot, one of its points
	x, y  []float64 // two rows of d: that of the last nearest, and a buffer
}

// nearest returns the nearest neighbor of i and its distance: in a tie the given one, else the lowest.
func (g *merging) nearest(i, given int) (int, float64) {
	g.d.row(i, g.x)
	at, least := given, math.Inf(1)
	if given >= 0 {
		least = g.x[given]
	}
	for j, v := range g.x {
		if v < least && j != i && g.size[j] > 0 {
			at, least = j, v
		}
	}
	return at, least
}

// merge merges two groups into the higher slot, right after nearest(i).
func (g *merging) merge(i, nearest int, height float64, by Linkage) {
	g.d.row(nearest, g.y)
	g.combine(g.size[i], g.size[nearest], height, by)
	empty, to := min(i, nearest), max(i, nearest)
	g.d.setRow(to, g.y)
	g.size[to] += g.size[empty]
	g.size[empty] = 0
	g.left--
}

// combine sets y to the distances from the union of two groups of m and n points, whose distances are x and y (Lance and Williams
// 1967).
func (g *merging) combine(m, n, height float64, by Linkage) {
	y := g.y[:len(g.x)]
	switch by {
	case Complete:
		for i, v := range g.x {
			if v > y[i] {
				y[i] = v
			}
		}
	case Average:
		for i, v := range g.x {
			y[i] = (m*v + n*y[i]) / (m + n)
		}
	case Ward:
		for i, l := range g.size[:len(y)] {
			t := 1 / (m + n + l)
			square := (l+m)*t*g.x[i]*g.x[i] + (l+n)*t*y[i]*y[i] - l*t*height*height
			y[i] = math.Sqrt(max(0, square))
		}
	}
}

// pack compacts the slots once a fifth of them are empty, for locality, and renumbers a chain.
func (g *merging) pack(chain []int) {
	if 5*g.left > 4*g.d.n {
		return
	}
	var full []int
	slot := make([]int, g.d.n)
	for i, size := range g.size {
		if size > 0 {
			slot[i] = len(full)
			full = append(full, i)
		}
	}
	for i, at := range chain {
		chain[i] = slot[at]
	}
	packed := &Condensed{len(full), g.d.v[:0]} // in place: every distance moves toward the front
	for to, i := range full {
		row := g.d.after(i)
		for _, j := range full[to+1:] {
			packed.v = append(packed.v, row[j-i-1])
		}
		g.size[to], g.point[to] = g.size[i], g.point[i]
	}
	g.d, g.size, g.point = packed, g.size[:len(full)], g.point[:len(full)]
	g.x, g.y = g.x[:len(full)], g.y[:len(full)]
}
