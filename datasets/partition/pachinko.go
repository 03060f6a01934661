package partition

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/config"
)

// Pachinko is label skew along the tree of superclasses and classes, the Pachinko allocation method. Every client i draws
// its own shares of the S superclasses and, for each superclass s, of its C_s classes:
//
//	θ_i ~ Dir(α·1)     [S]
//	θ_is ~ Dir(β·1)    [C_s]
//
// and then its N training rows one by one: a superclass from θ_i, a class from θ_is, and a random row of that class that
// nobody holds. A class without rows left, and a superclass without classes left, is dropped and the other shares are
// divided by their sum. Clients draw one after the other, so that the last ones take what the others have left. Rows
// beyond M·N stay with nobody.
//
// Of the test rows of class c, client i gets the same share n_ic/n_c as of the training rows, at least one in all, as in
// Shards. The paper gives the 10,000 test images of CIFAR-100 to 100 clients of their own that never train. fedkit's
// clients have both: all test rows are assigned here too, so that the mean over them is the same number for one
// global model.
//
// Source: S. Reddi et al., Adaptive Federated Optimization, 2021 (arXiv 2003.00295), appendix C.1 and figure 6, with
// M = 500 and N = 100 for CIFAR-100, and the two defaults; W. Li, A. McCallum, Pachinko Allocation: DAG-Structured
// Mixture Models of Topic Correlations, 2006.
type Pachinko struct {
	Clients   int     // M; 1 to the number of rows, of training and of test rows
	PerClient int     // N, training rows per client; default: an equal share
	Alpha     float64 `range:"(0,inf)" default:"0.1"` // α, of the superclasses
	Beta      float64 `range:"(0,inf)" default:"10"`  // β, of the classes of one superclass
	Seed      uint64  // chooses shares and rows
}

// Partition returns M clients, each with its rows in ascending order. It fails if a field is out of range, there are
// fewer than M·N training rows, or the data set has no superclasses (Dataset.Coarse) or does not pass its Check.
func (r Pachinko) Partition(d *datasets.Dataset) (*Partitioned, error) {
	r = config.Defaults(r)
	if err := checkLabeled(r, r.Clients, d); err != nil {
		return nil, err
	}
	r.PerClient = cmp.Or(r.PerClient, d.Train.Len()/r.Clients)
	if err := checkPerClient("Pachinko", r.PerClient, r.Clients, d); err != nil {
		return nil, err
	}
	if d.Coarse == nil {
		return nil, fmt.Errorf("partition.Pachinko: %s has no superclasses (Dataset.Coarse): use Dirichlet", d.Name)
	}
	train := r.draw(d)
	return dealt(d, train, follow(d, train, stream(r.Seed, "test"))), nil
}

// String returns "500 clients, Pachinko α = 0.1, β = 10", with the number of rows and the seed if they are set.
func (r Pachinko) String() string {
	full := config.Defaults(r)
	text := fmt.Sprintf("%s, Pachinko α = %v, β = %v", count(r.Clients), full.Alpha, full.Beta)
	if r.PerClient != 0 {
		text += fmt.Sprintf(", %s each", several(r.PerClient, "row"))
	}
	return text + seeded(r.Seed)
}

// draw returns the training rows of the clients, [M, N].
func (r Pachinko) draw(d *datasets.Dataset) [][]int {
	left := newHand(d.Train.Labels, d.Classes, 0, stream(r.Seed, "train")).undealt
	tree := make([][]int, d.Classes) // the classes that have rows left, by superclass
	for c, s := range d.Coarse {
		if len(left[c]) > 0 {
			tree[s] = append(tree[s], c)
		}
	}
	tree = slices.DeleteFunc(tree, func(classes []int) bool { return len(classes) == 0 })
	src := stream(r.Seed, "labels")
	rng := rand.New(src)
	train := make([][]int, r.Clients)
	for i := range train {
		top, below := logShares(len(tree), r.Alpha, src), make([][]float64, len(tree))
		for s, classes := range tree {
			below[s] = logShares(len(classes), r.Beta, src)
		}
		for range r.PerClient {
			s := sample(top, rng)
			k := sample(below[s], rng)
			c := tree[s][k]
			last := len(left[c]) - 1
			train[i] = append(train[i], left[c][last])
			if left[c] = left[c][:last]; last > 0 {
				continue
			}
			tree[s], below[s] = slices.Delete(tree[s], k, k+1), slices.Delete(below[s], k, k+1)
			if len(tree[s]) == 0 {
				tree, top, below = slices.Delete(tree, s, s+1), slices.Delete(top, s, s+1), slices.Delete(below, s, s+1)
			}
		}
		if len(tree) == 0 {
			break // the last client has taken the last row
		}
	}
	return train
}

// sample draws an index in proportion to exp(logp).
func sample(logp []float64, rng *rand.Rand) int {
	most, sum := slices.Max(logp), 0.0
	for _, lp := range logp {
		sum += math.Exp(lp - most)
	}
	u := sum * rng.Float64()
	for i, lp := range logp {
		if u -= math.Exp(lp - most); u < 0 {
			return i
		}
	}
	return len(logp) - 1
}
