package aggregate_test

import (
	"syscall"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
)

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

func TestAggregators(t *testing.T) {
	odd := fedkit.NewMatrix([]float32{5, 1, -3, 2, 100, 0}, 3, 2)
	even := fedkit.NewMatrix([]float32{5, 1, -3, 2, 100, 0, 6, 7}, 4, 2)
	for _, c := range []struct {
		name string
		got  *fedkit.Matrix
		want [2]float32
	}{
		{"mean", aggregate.Mean{}.Aggregate(odd, []float64{1, 1, 2}), [2]float32{50.5, 0.75}},
		{"median, odd", aggregate.Median{}.Aggregate(odd, nil), [2]float32{5, 1}},
		{"median, even", aggregate.Median{}.Aggregate(even, []float64{9, 1, 1, 1}), [2]float32{5.5, 1.5}},
		{"median of one", aggregate.Median{}.Aggregate(odd.Take(2), nil), [2]float32{100, 0}},
	} {
		got, err := c.got.Host()
		if err != nil || got[0] != c.want[0] || got[1] != c.want[1] {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
		}
	}
}
