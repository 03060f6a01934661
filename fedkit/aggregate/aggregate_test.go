package aggregate_test

import (
	"math"
	"slices"
	"syscall"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/fedtest/expect"
)

// Under the race detector the plugin's destructors abort when the process exits normally.
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

// Column blocks, a padded network and even counts, against a sort on the host.
func TestMedianAgainstSort(t *testing.T) {
	for _, c := range []struct{ n, d int }{{1, 7}, {2, 3}, {3, 5}, {4, 100}, {7, 1000}, {16, 33000}, {100, 9001}, {33, 20000}} {
		rng := fedkit.Random(7, "median", c.n, c.d)
		v := make([]float32, c.n*c.d)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
			if rng.IntN(4) == 0 {
				v[i] = float32(rng.IntN(3)) // ties
			}
		}
		got := expect.Value(aggregate.Median{}.Aggregate(fedkit.NewMatrix(v, c.n, c.d), nil).Host())(t)
		column := make([]float64, c.n)
		for j := range c.d {
			for i := range column {
				column[i] = float64(v[i*c.d+j])
			}
			slices.Sort(column)
			want := (column[(c.n-1)/2] + column[c.n/2]) / 2
			if math.Abs(float64(got[j])-want) > 1e-6*(1+math.Abs(want)) {
				t.Fatalf("[%d, %d]: column %d has median %v, want %v", c.n, c.d, j, got[j], want)
			}
		}
	}
}
