package cluster

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// None is the label of a point that is in no group.
const None = -1

// Groups are labels: the group of each point, 0, 1, … or None, [n]. A group exists while a point is in it. Labels that a Clusterer
// returns are Groups without None.
type Groups []int

// Ungrouped returns n points in no group.
func Ungrouped(n int) Groups { return slices.Repeat(Groups{None}, n) }

// Names returns the groups that exist, in ascending order.
func (g Groups) Names() []int {
	names := slices.Compact(slices.Sorted(slices.Values(g)))
	return slices.DeleteFunc(names, func(c int) bool { return c < 0 })
}

// Members returns the points in a group, in ascending order.
func (g Groups) Members(c int) (points []int) {
	for i, own := range g {
		if own == c {
			points = append(points, i)
		}
	}
	return points
}

// Set puts each of some points into the group that stands at its place in of.
func (g Groups) Set(points, of []int) {
	for at, i := range points {
		g[i] = of[at]
	}
}

// Split moves those of some points, all of one group, whose part is 1 to another group; those whose part is 0 stay.
func (g Groups) Split(points, part []int, to int) {
	for at, i := range points {
		if part[at] == 1 {
			g[i] = to
		}
	}
}

// Merge moves all members of a group to another.
func (g Groups) Merge(c, into int) {
	for i, own := range g {
		if own == c {
			g[i] = into
		}
	}
}

// Pack renames the groups that exist to 0, 1, …, in their order, and returns the names that they had.
func (g Groups) Pack() (names []int) {
	names = g.Names()
	for i, c := range g {
		g[i] = slices.Index(names, c) // None stays None
	}
	return names
}

// Weights returns the weight of each point in each of k groups, [k, n]: its own in the group that it is in, and 0 in the others.
// Nil weights are 1.
func (g Groups) Weights(k int, weights []float64) [][]float64 {
	in := zeros(k, len(g))
	for i, c := range g {
		switch {
		case c < 0 || c >= k:
		case weights == nil:
			in[c][i] = 1
		default:
			in[c][i] = weights[i]
		}
	}
	return in
}

// Means returns the weights of the points in the weighted mean of each of k groups, [k, n]: those of Weights divided by their sum,
// and 0 if that is 0.
func (g Groups) Means(k int, weights []float64) [][]float64 {
	means := g.Weights(k, weights)
	for _, row := range means {
		if sum := floats.Sum(row); sum > 0 {
			floats.Scale(1/sum, row)
		}
	}
	return means
}

// Join is the E-step by angles: it moves every point x [n, p] that is in a group to the one whose center [k, p] has the greatest
// cosine with it. In a tie a point stays where it is. The cosine with a vector of zeros is 0.
func (g Groups) Join(x, centers *mat.Dense) {
	for i := range g {
		for c := range centers.RawMatrix().Rows {
			if g[i] != None && cosine(x.RawRowView(i), centers.RawRowView(c)) > cosine(x.RawRowView(i), centers.RawRowView(g[i])) {
				g[i] = c
			}
		}
	}
}

func cosine(a, b []float64) float64 {
	if lengths := floats.Norm(a, 2) * floats.Norm(b, 2); lengths > 0 {
		return floats.Dot(a, b) / lengths
	}
	return 0
}

// Nearest returns the other group whose center is nearest to that of group c, the first of equals; None if there is no other. The
// distances are those of the centers; groups that have none do not count.
func (g Groups) Nearest(c int, centers *Condensed) int {
	best := None
	for _, j := range g.Names() {
		if j != c && j < centers.Len() && (best == None || centers.At(c, j) < centers.At(c, best)) {
			best = j
		}
	}
	return best
}

// Gap returns the least distance between two points of different groups, +Inf if there is one group or none. Points in no group do
// not count.
func (g Groups) Gap(points *Condensed) float64 {
	gap := math.Inf(1)
	for i, a := range g {
		for j, b := range g[:i] {
			if a >= 0 && b >= 0 && a != b {
				gap = min(gap, points.At(i, j))
			}
		}
	}
	return gap
}

// Ratios returns how wide each of k groups is next to how far it is from the others, [k]:
//
//	G_c = mean ‖x_i − m_c‖² over the members of c / mean ‖m_c − m_j‖² over j ≠ c.
//
// It takes the squared distance of every point from its group's center m, [n], and the distances of the k centers. A group without
// any spread has G = 0, even if all centers are in one place.
func (g Groups) Ratios(own []float64, centers *Condensed) []float64 {
	ratios := make([]float64, centers.Len())
	for c := range ratios {
		members, inter := g.Members(c), 0.0
		for _, i := range members {
			ratios[c] += own[i]
		}
		for j := range ratios {
			if j != c {
				inter += math.Pow(centers.At(c, j), 2) / float64(len(ratios)-1)
			}
		}
		if ratios[c] > 0 {
			ratios[c] /= float64(len(members)) * inter
		}
	}
	return ratios
}
