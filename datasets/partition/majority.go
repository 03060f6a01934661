package partition

import (
	"fmt"
	"math"

	"fedkit.example/datasets"
)

// Majority gives every client one class that prevails. Of client i's rows, the share ρ is of class i mod C, and the rest is of the
// other classes in equal parts: ρ = 1/C makes clients alike, ρ = 1 gives each a single class. The rows of each class are
// shuffled and split by these shares, the test rows like the training rows; every row is assigned. So the shares are met exactly if
// classes are of one size and M is a multiple of C, and approximately otherwise. Group is the prevailing class.
//
// Source: ρ is the device-level heterogeneity of C. Chen et al., FedCluster: Boosting the Convergence of Federated Learning via
// Cluster-Cycling, 2020 (arXiv 2009.10748); the same as the non-IID level σ of H. Wang et al., Favor, INFOCOM 2020.
type Majority struct {
	Clients int     // M; C to the number of rows, of training and of test rows
	Share   float64 `range:"(0,1]"` // ρ
	Seed    uint64  // chooses rows
}

// Partition returns M clients, each with its rows in ascending order and at least one training and one test row. It fails if a field
// is out of range, or the data set has no labels or does not pass its Check.
func (r Majority) Partition(d *datasets.Dataset) (*Partitioned, error) {
	if err := checkLabeled(r, r.Clients, d); err != nil {
		return nil, err
	}
	if r.Clients < d.Classes {
		return nil, fmt.Errorf("partition.Majority: Clients = %d: must be at least %d, the number of classes of %s", r.Clients, d.Classes, d.Name)
	}
	deal := dealt(d, r.deal("train", d.Train.Labels, d.Classes), r.deal("test", d.Test.Labels, d.Classes))
	for i := range deal.Clients {
		deal.Clients[i].Group = i % d.Classes
	}
	return deal, nil
}

// String returns "100 clients, majority class ρ = 0.5", and the seed unless it is 0.
func (r Majority) String() string {
	return fmt.Sprintf("%s, majority class ρ = %v%s", count(r.Clients), r.Share, seeded(r.Seed))
}

// deal splits the rows of each class.
func (r Majority) deal(part string, labels []int32, classes int) [][]int {
	sum := make([]float64, classes) // of each class's shares
	for c := range sum {
		for i := range r.Clients {
			sum[c] += r.share(c, i, classes)
		}
	}
	return handOut(labels, classes, r.Clients, stream(r.Seed, part), func(c, i int) float64 { return r.share(c, i, classes) / sum[c] }, 1,
		func(c, i int) float64 { return math.Log(r.share(c, i, classes)) }).all()
}

// share is that of class c among the rows of client i.
func (r Majority) share(c, i, classes int) float64 {
	if i%classes == c {
		return r.Share
	}
	return (1 - r.Share) / float64(max(1, classes-1))
}
