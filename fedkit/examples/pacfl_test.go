package examples_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/examples"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/floats"
)

// Two clients have their examples in planes that meet in a line, 30° apart. The third has one example, at right angles to the first
// plane, so its second vector is missing.
func TestPrincipalAngles(t *testing.T) {
	d := &datasets.Dataset{Name: "planes", Shape: []int{3}, Classes: 2}
	d.Train.Floats = []float32{2, 0, 0, 0, 1, 0, 2, 0, 0, 0, float32(math.Cos(math.Pi / 6)), 0.5, 0, 0, 1}
	d.Train.Labels, d.Train.Owner = []int32{0, 1, 0, 1, 0}, []int32{0, 0, 1, 1, 2}
	d.Test = d.Train
	fed := must.M1(fedkit.New(d, partition.Natural{}, tiny))
	for n, want := range map[int][]float64{1: {0, 90, 60}, 2: {30, 180, 150}, 9: {30, 180, 150}} {
		var got []float64
		seen := cluster.Func(func(p *cluster.Points, _ int, _ *rand.Rand) ([]int, error) {
			got = p.Distances().Values()
			return make([]int, p.Len()), nil
		})
		run(t, fed, &examples.PACFL{P: 2, Angles: n, K: 1, Clusterer: seen, Local: standard}, fedkit.Options{Rounds: 1})
		if floats.Scale(180/math.Pi, got); !floats.EqualApprox(got, want, 1e-4) {
			t.Errorf("the sums of %d angles are %v°, want %v°", n, got, want)
		}
	}
}
