package cluster_test

import (
	"math"
	"testing"

	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/expect"
	"gonum.org/v1/gonum/mat"
)

// The cosine affinities of points at 0°, 60°, 180° and of none, by hand.
func TestCosineAffinities(t *testing.T) {
	p := cluster.FromVectors(mat.NewDense(4, 2, []float64{2, 0, 0.5, math.Sqrt(3) / 2, -1, 0, 0, 0}))
	for _, c := range []struct {
		by   cluster.Affinity
		want [6]float64 // of points 0 and 1, 0 and 2, 0 and 3, 1 and 2, 1 and 3, 2 and 3
	}{
		{cluster.PositiveCosine{}, [6]float64{0.5, 0, 0, 0, 0, 0}},
		{cluster.ShiftedCosine{}, [6]float64{0.75, 0, 0.5, 0.25, 0.5, 0.5}},
	} {
		a := expect.Value(c.by.Affinity(p))(t)
		at := 0
		for i := range 4 {
			for j := i + 1; j < 4; j++ {
				expect.That(t, math.Abs(a.At(i, j)-c.want[at]) < 1e-12, "%T of points %d and %d: %v, want %v", c.by, i, j, a.At(i, j), c.want[at])
				at++
			}
		}
	}
}
