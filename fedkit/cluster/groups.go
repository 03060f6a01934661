package cluster

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// None is the label of an ungrouped point.
const None = -1

// Groups are labels: the group of each point, 0, 1, … or None, [n]. A group exists while it has points. A Clusterer returns
// Groups without None.
type Groups []int

// Ungrouped returns n points in no group.
func Ungrouped(n int) Groups { return slices.Repeat(Groups{None}, sized(n, 1)) }

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

// Take returns the groups of some points, in their order.
func (g Groups) Take(points ...int) Groups {
	of := make(Groups, len(points))
	for at, i := range points {
		of[at] = g[i]
	}
	return of
}

// Set assigns points[i] to group of[i].
func (g Groups) Set(points, of []int) {
	for at, i := range points {
		g[i] = of[at]
	}
}

// Split divides a group: of the points, all of one group, those with part 1 move to another group and those with part 0 stay.
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

// Pack renumbers the existing groups 0, 1, … in ascending order, and returns their old names.
func (g Groups) Pack() (names []int) {
	names = g.Names()
	for i, c := range g {
		g[i] = slices.Index(names, c) // None stays None
	}
	return names
}

// Weights returns the weight of each point in each of k groups, [k, n]: its own in its group, 0 in the others. Nil weights are 1.
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

// Means returns the weights with which points average to the mean of each of k groups, [k, n]: those of Weights divided by their
// sum, or 0 if that is 0.
func (g Groups) Means(k int, weights []float64) [][]float64 {
	means := g.Weights(k, weights)
	for _, row := range means {
		if sum := floats.Sum(row); sum > 0 {
			floats.Scale(1/sum, row)
		}
	}
	return means
}

// Reassign is an E-step by cosine similarity: every grouped point x [n, p] moves to the group whose center [k, p] has the greatest
// cosine with it. In a tie it stays. The cosine with a zero vector is 0.
func (g Groups) Reassign(x, centers *mat.Dense) {
	for i := range g {
		for c := 0; x != nil && centers != nil && c < centers.RawMatrix().Rows; c++ {
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

// Nearest returns the other group whose center is nearest to that of group c, the first in a tie; None if there is no other.
// Groups beyond the given centers are ignored.
func (g Groups) Nearest(c int, centers *Condensed) int {
	best := None
	for _, j := range g.Names() {
		if j != c && j < centers.Len() && (best == None || centers.At(c, j) < centers.At(c, best)) {
			best = j
		}
	}
	return best
}

// Gap returns the least distance between two points of different groups, +Inf with fewer than two groups. Ungrouped points are
// ignored.
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

// Ratios returns the ratio of intra- to inter-cluster distance of each of k groups, [k]:
//
//	G_c = mean ‖x_i − m_c‖² over the members of c / mean ‖m_c − m_j‖² over j ≠ c.
//
// own [n] is the squared distance of every point from its group's center m; centers are the distances of the k centers. A group
// without any spread has G = 0, even if all centers coincide.
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
