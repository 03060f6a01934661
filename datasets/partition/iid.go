package partition

import "fedkit.example/datasets"

// IID assigns rows at random, so that all clients' data have the same distribution. The training rows are shuffled and
// split into Clients parts whose sizes differ by at most one, and so are the test rows. Every row is assigned.
//
// Source: B. McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data, 2017 (arXiv
// 1602.05629), section 3.
type IID struct {
	Clients int    // M; 1 to the number of rows, of training and of test rows
	Seed    uint64 // of the shuffle
}

// Partition returns M clients, each with its rows in ascending order. It fails if Clients is out of range or the data
// set does not pass its Check.
func (r IID) Partition(d *datasets.Dataset) (*Partitioned, error) {
	if err := checkClients(r, r.Clients, d); err != nil {
		return nil, err
	}
	train := cutEven(shuffled(d.Train.Len(), stream(r.Seed, "train")), r.Clients)
	test := cutEven(shuffled(d.Test.Len(), stream(r.Seed, "test")), r.Clients)
	return dealt(d, train, test), nil
}

// String returns "20 clients, IID", and the seed unless it is 0.
func (r IID) String() string { return count(r.Clients) + ", IID" + seeded(r.Seed) }
