package cluster

import "math"

// merging is the state of an agglomeration: groups in slots 0, 1, …, and their distances. A merge leaves an empty slot.
type merging struct {
	left  int // groups
	d     *Condensed
	size  []float64 // by slot; 0 if it is empty
	point []int     // by slot, one of its points
	x, y  []float64 // two rows of d: that of the last nearest, and a buffer
}

func startMerging(d *Condensed) *merging {
	g := &merging{left: d.n, d: d, size: make([]float64, d.n), point: make([]int, d.n), x: make([]float64, d.n), y: make([]float64, d.n)}
	for i := range g.size {
		g.size[i], g.point[i] = 1, i
	}
	return g
}

// first returns the lowest nonempty slot.
func (g *merging) first() int {
	i := 0
	for g.size[i] == 0 {
		i++
	}
	return i
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
