package aggregate_test

import (
	"fmt"
	"math"
	"slices"
	"syscall"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/internal/xla"
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
		expect.That(t, err == nil && got[0] == c.want[0] && got[1] == c.want[1], "%s: %v, %v; want %v", c.name, got, err, c.want)
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
			expect.Must(t, math.Abs(float64(got[j])-want) <= 1e-6*(1+math.Abs(want)),
				"[%d, %d]: column %d has median %v, want %v", c.n, c.d, j, got[j], want)
		}
	}
}

// nine are rows [9, 4]; the last is far from the others.
var nine = [][]float64{{-8, -5, -2, 1}, {-1, 7, -2, 6}, {3, -1, -5, 8}, {4, 5, 6, 7}, {2, 8, -3, 3}, {-3, 8, 2, -4}, {6, 5, 4, 3}, {-5, -1, 3, 7}, {-20, 70, -10, 80}}

func matrix(rows [][]float64) *fedkit.Matrix {
	var v []float32
	for _, row := range rows {
		for _, x := range row {
			v = append(v, float32(x))
		}
	}
	return fedkit.NewMatrix(v, len(rows), len(rows[0]))
}

// random returns normal rows, plus an offset that all share, rounded to float32.
func random(n, d int, offset float64) [][]float64 {
	rng := fedkit.Random(3, "robust", n, d)
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, d)
		for j := range rows[i] {
			rows[i][j] = float64(float32(rng.NormFloat64() + offset))
		}
	}
	return rows
}

func is(t *testing.T, name string, got *fedkit.Matrix, want []float64, tolerance float64) {
	t.Helper()
	v, err := got.Host()
	if err != nil || len(v) != len(want) {
		t.Errorf("%s: %v, %v; want %v", name, v, err, want)
		return
	}
	for j := range want {
		if !(math.Abs(float64(v[j])-want[j]) <= tolerance*(1+math.Abs(want[j]))) {
			t.Errorf("%s: value %d is %v, want %v", name, j, v[j], want[j])
			return
		}
	}
}

// Values from SciPy 1.17.0 (scipy.stats.trim_mean; scipy.optimize.minimize of the sum of distances, Nelder-Mead, then
// BFGS) and NumPy 2.4.6 (Krum's scores by their definition).
func TestRobustAgainstNumPyAndSciPy(t *testing.T) {
	u, weights := matrix(nine), []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	for _, c := range []struct {
		name    string
		by      fedkit.Aggregator
		weights []float64
		want    []float64
	}{
		{"trim 0", aggregate.TrimmedMean{Share: fedkit.Zero}, weights, []float64{-2.4444444444444446, 10.666666666666666, -0.7777777777777778, 12.333333333333334}},
		{"trim 0.2", aggregate.TrimmedMean{}, weights, []float64{-1.1428571428571428, 4.428571428571429, -0.42857142857142855, 5}},
		{"trim 0.34", aggregate.TrimmedMean{Share: 0.34}, nil, []float64{-2. / 3, 17. / 3, -2. / 3, 16. / 3}},
		{"geometric median", aggregate.GeometricMedian{}, nil, []float64{0.07423976116183366, 5.092677982208325, -0.19060323164893925, 5.049959762623624}},
		{"weighted geometric median", aggregate.GeometricMedian{}, weights, []float64{0.49839250545197594, 5.693874491285427, 1.0667029620121362, 5.337132121274608}},
		{"Krum, f = 2", aggregate.Krum{F: 2}, weights, nine[1]},
		{"Krum, f by default 3", aggregate.Krum{}, weights, nine[4]},
		{"Multi-Krum, f = 1", aggregate.MultiKrum{F: 1}, weights, []float64{-0.25, 3.25, 0.375, 3.875}},
		{"Multi-Krum, f = 2", aggregate.MultiKrum{F: 2}, weights, []float64{0.8571428571428571, 4.428571428571429, 0.7142857142857143, 4.285714285714286}},
		{"Multi-Krum, f by default 3", aggregate.MultiKrum{}, weights, []float64{1.5, 3.8333333333333335, 0.5, 17. / 3}},
	} {
		is(t, c.name, c.by.Aggregate(u, c.weights), c.want, 1e-6)
	}
}

// Also if all rows share a large offset, whose inner products would swallow their distances.
func TestRobustAgainstOracle(t *testing.T) {
	for _, c := range []struct {
		n, d   int
		offset float64
	}{{3, 2, 0}, {10, 40, 0}, {10, 40, 1000}, {25, 300, 1}, {64, 33, -50}} {
		rows := random(c.n, c.d, c.offset)
		u := matrix(rows)
		weights := make([]float64, c.n)
		for i := range weights {
			weights[i] = 1 + float64(i%4)
		}
		f := (c.n - 3) / 2
		keep := make([][]float64, 0, c.n)
		for _, i := range oracle.Krum(rows, f, c.n-f) {
			keep = append(keep, rows[i])
		}
		is(t, "trimmed mean", aggregate.TrimmedMean{Share: 0.3}.Aggregate(u, nil), oracle.TrimmedMean(rows, int(0.3*float64(c.n)+1e-9)), 1e-6)
		is(t, "Krum", aggregate.Krum{}.Aggregate(u, nil), keep[0], 0)
		is(t, "Multi-Krum", aggregate.MultiKrum{}.Aggregate(u, nil), oracle.TrimmedMean(keep, 0), 1e-6)
		some := max(1, f)
		mixed := oracle.NearestMix(rows, some)
		is(t, "nearest mix, trimmed", aggregate.NearestMix{F: some, By: aggregate.TrimmedMean{Share: fedkit.Zero}}.Aggregate(u, weights), oracle.TrimmedMean(mixed, 0), 2e-6)
		is(t, "nearest mix, median", aggregate.NearestMix{F: some}.Aggregate(u, weights), oracle.TrimmedMean(mixed, (c.n-1)/2), 2e-6)
		is(t, "geometric median", aggregate.GeometricMedian{}.Aggregate(u, weights), oracle.GeometricMedian(rows, weights), 1e-5)
	}
}

// robust has every rule that a few clients must not be able to move at will.
var robust = map[string]fedkit.Aggregator{
	"median":           aggregate.Median{},
	"trimmed mean":     aggregate.TrimmedMean{Share: 0.3},
	"Krum":             aggregate.Krum{},
	"Multi-Krum":       aggregate.MultiKrum{},
	"geometric median": aggregate.GeometricMedian{},
	"nearest mix":      aggregate.NearestMix{},
	"nearest mix, by":  aggregate.NearestMix{F: 3, By: aggregate.GeometricMedian{}},
}

// Three rows of ten, however far away, leave the result near the others. The mean follows them.
func TestBreakdown(t *testing.T) {
	for _, far := range []float64{1e3, 1e10, 1e18, 1e30, -3e37} {
		rows := random(10, 50, 0)
		for _, i := range []int{0, 4, 9} {
			for j := range rows[i] {
				rows[i][j] = far * (1 + rows[i][j]/20)
			}
		}
		for name, by := range robust {
			v := expect.Value(by.Aggregate(matrix(rows), nil).Host())(t)
			for j := range v {
				if !(math.Abs(float64(v[j])) < 4) { // the others are standard normal
					t.Errorf("%s: three rows at %v give %v", name, far, v[j])
					break
				}
			}
		}
		v, err := (aggregate.Mean{}).Aggregate(matrix(rows), nil).Host()
		expect.That(t, err == nil && math.Abs(float64(v[0])) >= math.Abs(far)/10,
			"the mean of three rows at %v and seven near 0 is %v, %v", far, v[0], err)
	}
}

func TestOrderOfClientsDoesNotMatter(t *testing.T) {
	rows := random(12, 30, 2)
	turned := append(append([][]float64{}, rows[5:]...), rows[:5]...)
	for name, by := range robust {
		v := expect.Value(by.Aggregate(matrix(rows), nil).Host())(t)
		is(t, name, by.Aggregate(matrix(turned), nil), precision.Double(v), 2e-6)
	}
}

func TestEdges(t *testing.T) {
	one, weights := matrix(nine[:1]), []float64{7}
	for _, by := range []fedkit.Aggregator{aggregate.Median{}, aggregate.TrimmedMean{Share: 0.49}, aggregate.GeometricMedian{}, aggregate.NearestMix{}} {
		is(t, "one client", by.Aggregate(one, weights), nine[0], 0)
	}
	is(t, "equal rows", aggregate.GeometricMedian{}.Aggregate(matrix([][]float64{nine[1], nine[1], nine[1]}), nil), nine[1], 1e-6)
	is(t, "most rows equal", aggregate.GeometricMedian{}.Aggregate(matrix([][]float64{nine[1], nine[1], nine[1], nine[2]}), nil), nine[1], 1e-5)
	is(t, "Multi-Krum with m = n", aggregate.MultiKrum{F: 3, M: 9}.Aggregate(matrix(nine), nil), oracle.TrimmedMean(nine, 0), 1e-6)

	// Corners of a square: all scores are equal, so the first row wins.
	square := [][]float64{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}}
	is(t, "Krum, ties", aggregate.Krum{}.Aggregate(matrix(square), nil), square[0], 0)

	// 0.29 · 100 is less than 29 in floating point.
	long := random(100, 3, 0)
	is(t, "trim 0.29 of 100", aggregate.TrimmedMean{Share: 0.29}.Aggregate(matrix(long), nil), oracle.TrimmedMean(long, 29), 1e-6)
	is(t, "trim just below half", aggregate.TrimmedMean{Share: math.Nextafter(0.5, 0)}.Aggregate(matrix(long), nil), oracle.TrimmedMean(long, 49), 1e-6)
}

func TestRobustRefuses(t *testing.T) {
	u := matrix(nine)
	for want, by := range map[string]fedkit.Aggregator{
		"TrimmedMean.Share = 0.5: must be in (0, 0.5), 0 for the default of 0.2, or fedkit.Zero": aggregate.TrimmedMean{Share: 0.5},
		"TrimmedMean.Share = NaN": aggregate.TrimmedMean{Share: math.NaN()},
		"Krum.F = -1: must be at least 1, or 0 for as many as the clients of a round allow":       aggregate.Krum{F: -1},
		"Krum.F = 4: must be such that n ≥ 2f+3; a round has n = 9 clients":                       aggregate.Krum{F: 4},
		"MultiKrum.F = 4: must be such that n ≥ 2f+3; a round has n = 9 clients":                  aggregate.MultiKrum{F: 4},
		"MultiKrum.M = 10: must be at most n = 9, the number of clients per round":                aggregate.MultiKrum{M: 10},
		"MultiKrum.M = -1: must be at least 1, or 0 for the default of n−f":                       aggregate.MultiKrum{M: -1},
		"NearestMix.F = -1: must be at least 1, or 0 for as many as the clients of a round allow": aggregate.NearestMix{F: -1},
		"NearestMix.F = 5: must be such that n ≥ 2f+1; a round has n = 9 clients":                 aggregate.NearestMix{F: 5},
		"NearestMix.By.F = 8: must be such that":                                                  aggregate.NearestMix{By: aggregate.Krum{F: 8}},
		"NearestMix.By.Share = 0.6":                                                               aggregate.NearestMix{By: aggregate.TrimmedMean{Share: 0.6}},
		"GeometricMedian.Smoothing = -1: must be a number > 0, or 0 for the default of 1e-6":      aggregate.GeometricMedian{Smoothing: -1},
		"GeometricMedian.Iterations = -1: must be at least 1, or 0 for the default of 500":        aggregate.GeometricMedian{Iterations: -1},
	} {
		expect.Invalid(t, want)(by.Aggregate(u, nil).Err())
	}
	for _, by := range robust {
		expect.Invalid(t)(by.Aggregate(u.Take(99), nil).Err())
	}
	expect.Invalid(t)((aggregate.GeometricMedian{}).Aggregate(u, []float64{1}).Err())
}

// The trimmed share, f and the weights are not part of a program.
func TestOptionsDoNotRecompile(t *testing.T) {
	u := matrix(random(11, 7, 0))
	var before int64
	for i, share := range []float64{0.1, 0.2, 0.4} {
		for _, by := range []fedkit.Aggregator{aggregate.TrimmedMean{Share: share}, aggregate.MultiKrum{F: 1 + i}, aggregate.GeometricMedian{Iterations: 3 + i}, aggregate.NearestMix{F: 1 + i}} {
			expect.OK(t, by.Aggregate(u, nil).Err())
		}
		if i == 0 {
			before = xla.Compilations()
		}
	}
	expect.That(t, (xla.Compilations()-before) == 0, "%d programs were compiled for other options, want 0", (xla.Compilations() - before))
}

// Four clients roughly agree; the fifth sends a wild row. The mean follows it; the robust rules do not.
func Example() {
	u := fedkit.NewMatrix([]float32{
		1, 2,
		1, 3,
		2, 2,
		2, 3,
		999, -990,
	}, 5, 2)
	for _, rule := range []fedkit.Aggregator{
		aggregate.Mean{}, aggregate.Median{}, aggregate.TrimmedMean{Share: 0.2}, aggregate.MultiKrum{F: 1},
	} {
		x, err := rule.Aggregate(u, nil).Host()
		fmt.Printf("%T %.1f %v\n", rule, x, err)
	}
	// Output:
	// aggregate.Mean [201.0 -196.0] <nil>
	// aggregate.Median [2.0 2.0] <nil>
	// aggregate.TrimmedMean [1.7 2.3] <nil>
	// aggregate.MultiKrum [1.5 2.5] <nil>
}

// Clients are usually weighted by their number of examples. Robust rules that count heads ignore the weights.
func ExampleMean() {
	u := fedkit.NewMatrix([]float32{0, 1}, 2, 1)
	examples := []float64{300, 100}
	mean, err := aggregate.Mean{}.Aggregate(u, examples).Host()
	fmt.Println(mean, err)
	median, err := aggregate.Median{}.Aggregate(u, examples).Host()
	fmt.Println(median, err)
	// Output:
	// [0.25] <nil>
	// [0.5] <nil>
}

// Krum needs n ≥ 2f+3 clients per round to withstand f attackers. More attackers are an error.
func ExampleKrum() {
	u := fedkit.NewMatrix([]float32{1, 1, 1, 1, 50, 50}, 6, 1)
	_, err := aggregate.Krum{F: 2}.Aggregate(u, nil).Host()
	fmt.Println("f = 2 of 6 is refused:", err != nil)
	x, err := aggregate.Krum{F: 1}.Aggregate(u, nil).Host()
	fmt.Println(x, err)
	// Output:
	// f = 2 of 6 is refused: true
	// [1] <nil>
}

// Four honest clients know one parameter each; the fifth attacks. The median drops what only one client knows. After
// mixing, every honest row holds a share of everything.
func ExampleNearestMix() {
	u := fedkit.NewMatrix([]float32{
		4, 0, 0, 0,
		0, 4, 0, 0,
		0, 0, 4, 0,
		0, 0, 0, 4,
		99, 99, 99, 99,
	}, 5, 4)
	median, err := aggregate.Median{}.Aggregate(u, nil).Host()
	fmt.Printf("median: %.1f %v\n", median, err)
	mixed, err := aggregate.NearestMix{F: 1, By: aggregate.Median{}}.Aggregate(u, nil).Host()
	fmt.Printf("mixed first: %.1f %v\n", mixed, err)
	// Output:
	// median: [0.0 0.0 0.0 0.0] <nil>
	// mixed first: [1.0 1.0 1.0 1.0] <nil>
}
