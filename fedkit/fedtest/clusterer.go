package fedtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/mat"
)

// TestClusterer tests a clusterer, and returns an error for everything that does not hold:
//
//   - it finds three groups of equal size that are far apart, whether points are known by coordinates, by inner products or
//     by distances;
//   - the same randomness gives the same groups, and nil randomness always the same;
//   - a point alone, fewer points than groups, and points that are all the same get a group each, 0 ≤ group < k;
//   - no points, and k < 1 unless it finds the number itself, are errors.
func TestClusterer(c cluster.Clusterer) error {
	return hold(c, []trial[cluster.Clusterer]{{"groups", groups}, {"randomness", randomness}, {"few points", few}, {"errors", refuses}})
}

// apart are nine points around three corners, and the groups that they are in.
func apart() (x *mat.Dense, truth []int) {
	rng := rand.New(rand.NewPCG(1, 2))
	x = mat.NewDense(9, 3, nil)
	for i := range 9 {
		for j := range 3 {
			x.Set(i, j, 0.1*rng.NormFloat64())
		}
		x.Set(i, i%3, 10+x.At(i, i%3))
		truth = append(truth, i%3)
	}
	return x, truth
}

// divide divides points and checks the labels.
func divide(c cluster.Clusterer, p *cluster.Points, k int, rng *rand.Rand) (labels []int, err error) {
	err = caught(func() error {
		labels, err = c.Cluster(p, k, rng)
		return err
	})
	if err == nil && (len(labels) != p.Len() || slices.Min(labels) < 0 || slices.Max(labels) >= k) {
		err = fmt.Errorf("labels %v, want %d in [0, %d)", labels, p.Len(), k)
	}
	return labels, err
}

func groups(c cluster.Clusterer) error {
	x, truth := apart()
	p := cluster.FromVectors(x)
	for _, known := range []struct {
		by string
		p  *cluster.Points
	}{{"coordinates", p}, {"inner products", cluster.FromGram(p.Gram())}, {"distances", cluster.FromDistances(p.Distances())}} {
		labels, err := divide(c, known.p, 3, rand.New(rand.NewPCG(3, 4)))
		if err == nil && cluster.Agree(labels, truth).ARI != 1 {
			err = fmt.Errorf("groups %v, want %v", labels, truth)
		}
		if err != nil {
			return fmt.Errorf("points known by %s: %w", known.by, err)
		}
	}
	return nil
}

func randomness(c cluster.Clusterer) error {
	rng, x := rand.New(rand.NewPCG(5, 6)), mat.NewDense(30, 2, nil)
	for i := range 30 {
		x.SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64()})
	}
	for _, source := range []func() *rand.Rand{
		func() *rand.Rand { return rand.New(rand.NewPCG(7, 8)) },
		func() *rand.Rand { return nil },
	} {
		a, err := divide(c, cluster.FromVectors(x), 4, source())
		b, also := divide(c, cluster.FromVectors(x), 4, source())
		if err = errors.Join(err, also); err != nil {
			return err
		}
		if !slices.Equal(a, b) {
			return fmt.Errorf("groups %v, and the second time %v", a, b)
		}
	}
	return nil
}

func few(c cluster.Clusterer) error {
	for _, t := range []struct {
		what string
		n, k int
	}{{"one point", 1, 1}, {"two points, five groups", 2, 5}, {"six points in one place, two groups", 6, 2}} {
		x := mat.NewDense(t.n, 2, nil)
		if t.k > t.n {
			x.Set(1, 0, 1)
		}
		if _, err := divide(c, cluster.FromVectors(x), t.k, rand.New(rand.NewPCG(9, 10))); err != nil {
			return fmt.Errorf("%s: %w", t.what, err)
		}
	}
	return nil
}

func refuses(c cluster.Clusterer) error {
	x, _ := apart()
	f, ok := c.(cluster.KSelector)
	for _, t := range []struct {
		what string
		p    *cluster.Points
		k    int
		fine bool
	}{
		{"k = -1", cluster.FromVectors(x), -1, false},
		{"k = 0", cluster.FromVectors(x), 0, ok && f.SelectsK()},
		{"no points", cluster.FromDistances(cluster.NewCondensed(0)), 2, false},
	} {
		if _, err := c.Cluster(t.p, t.k, nil); (err == nil) != t.fine {
			return fmt.Errorf("%s: error %v, want one: %v", t.what, err, !t.fine)
		}
	}
	return nil
}
