package partition

import (
	"fmt"
	"math/rand/v2"

	"fedkit.example/datasets"
)

// IID deals the rows out at random, so that every client's data look alike: the training rows are shuffled and cut
// into Clients parts whose sizes differ by one at most, and so are the test rows. Every row is dealt.
//
// Source: B. McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data, 2017
// (arXiv 1602.05629), section 3.
type IID struct {
	Clients int    // M; 1 to the number of rows, of training and of test rows
	Seed    uint64 // another seed, another shuffle
}

// Deal returns M clients, each with its rows in ascending order. It fails where Clients is out of range or the data
// set does not pass its Check.
func (r IID) Deal(d *datasets.Dataset) (*Deal, error) {
	if err := checkClients("IID", r.Clients, d); err != nil {
		return nil, err
	}
	train := cutEven(shuffled(d.Train.Len(), stream(r.Seed, "train")), r.Clients)
	test := cutEven(shuffled(d.Test.Len(), stream(r.Seed, "test")), r.Clients)
	return dealt(d, train, test), nil
}

// String returns "20 clients, IID", and the seed where it is not 0.
func (r IID) String() string { return count(r.Clients) + ", IID" + seeded(r.Seed) }

// shuffled returns 0..n−1 in random order.
func shuffled(n int, src rand.Source) []int { return rand.New(src).Perm(n) }

// cutEven cuts rows into m parts whose lengths differ by one at most.
func cutEven(rows []int, m int) [][]int {
	parts := make([][]int, m)
	for i := range parts {
		from, to := i*len(rows)/m, (i+1)*len(rows)/m
		parts[i] = rows[from:to:to]
	}
	return parts
}

// checkClients reports what is wrong with a rule's Clients or with the data set.
func checkClients(rule string, clients int, d *datasets.Dataset) error {
	if clients < 1 {
		return fmt.Errorf("partition.%s: Clients = %d: must be at least 1", rule, clients)
	}
	if err := d.Check(); err != nil {
		return fmt.Errorf("partition.%s: %w", rule, err)
	}
	for _, part := range []struct {
		name string
		rows int
	}{{"train", d.Train.Len()}, {"test", d.Test.Len()}} {
		if clients > part.rows {
			return fmt.Errorf("partition.%s: Clients = %d: must be at most %d, the number of %s rows of %s",
				rule, clients, part.rows, part.name, d.Name)
		}
	}
	return nil
}
