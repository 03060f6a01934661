package cluster_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/mat"
)

// Equal points are at no distance from each other, and at exactly the same one from any third: such ties are broken by index.
func TestDistancesOfEqualPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for _, p := range []int{1, 3, 7, 64, 129} {
		for n := 2; n <= 21; n++ {
			x := mat.NewDense(n, p, nil)
			kind := make([]int, n)
			for i := range n {
				if kind[i] = i; i > 0 && rng.IntN(2) == 0 {
					kind[i] = kind[rng.IntN(i)]
					x.SetRow(i, x.RawRowView(kind[i]))
					continue
				}
				for j := range p {
					x.Set(i, j, 10+rng.NormFloat64())
				}
			}
			d := cluster.FromVectors(x).Distances()
			for i := range n {
				for j := range n {
					for k := range n {
						if kind[i] == kind[j] && (d.At(i, j) != 0 || k != i && k != j && d.At(i, k) != d.At(j, k)) {
							t.Fatalf("%d features, points %d and %d are equal: %v apart, %v and %v from %d", p, i, j, d.At(i, j), d.At(i, k), d.At(j, k), k)
						}
					}
				}
			}
		}
	}
}

// However the points are given, their distances are the same, and so are their inner products about the mean.
func TestPointsKnownInEveryWay(t *testing.T) {
	const n, p = 12, 4
	x := normal(n, p, 5)
	d := cluster.NewCondensed(n)
	with := mat.NewDense(n+1, p, nil) // around their mean, and the mean
	for i := range n {
		for j := range p {
			m := mat.Sum(x.ColView(j)) / n
			with.Set(i, j, x.At(i, j)-m)
			with.Set(n, j, m)
		}
		for j := range i {
			var diff mat.VecDense
			diff.SubVec(x.RowView(i), x.RowView(j))
			d.Set(i, j, mat.Norm(&diff, 2))
		}
	}
	var gram, shifted mat.SymDense
	gram.SymOuterK(1, x)
	shifted.SymOuterK(1, with)
	for name, points := range map[string]*cluster.Points{
		"vectors": cluster.FromVectors(x), "inner products": cluster.FromGram(&gram), "shifted": cluster.FromShiftedGram(&shifted), "distances": cluster.FromDistances(d),
	} {
		g, c := points.Gram(), points.Centered()
		for i := range n {
			for j := range n {
				if !near(points.Distances().At(i, j), d.At(i, j), 1e-12) {
					t.Errorf("%s: the distance of %d and %d is %v, want %v", name, i, j, points.Distances().At(i, j), d.At(i, j))
				}
				if name != "distances" && !near(g.At(i, j), gram.At(i, j), 1e-12) {
					t.Errorf("%s: the inner product of %d and %d is %v, want %v", name, i, j, g.At(i, j), gram.At(i, j))
				}
				if name != "inner products" && !near(c.At(i, j), shifted.At(i, j), 1e-12) {
					t.Errorf("%s: about the mean, the inner product of %d and %d is %v, want %v", name, i, j, c.At(i, j), shifted.At(i, j))
				}
			}
		}
		if math.Abs(points.Distances().At(0, 0)) != 0 || points.Len() != n {
			t.Errorf("%s: %d points", name, points.Len())
		}
	}
}
