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

// Shards is the pathological partition: the training rows are sorted by label and cut into Clients·PerClient shards of equal
// size (plus or minus one row), and every client gets PerClient of them, at random. So sizes differ by at most PerClient rows.
//
// A shard may contain the border of two classes. There are C − 1 borders, so that at most C − 1 clients know more than
// PerClient classes, and a client knows at most PerClient + (C − 1)/M of them on average. If no shard is longer than the smallest
// class, none knows more than 2·PerClient. With few clients a shard may hold whole classes: two clients of Digits with two
// shards each know up to seven.
//
// Of the test rows of class c, client i gets the same share n_ic/n_c as of the training rows, so that it is tested on the
// labels it trains on. A client that would get none gets one, of its own labels if another client can spare one.
// Every row is assigned.
//
// Source: B. McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data, 2017 (arXiv
// 1602.05629), section 3: 200 shards of 300 MNIST images, 100 clients. The paper does not split the test rows.
type Shards struct {
	Clients   int    // M; 1 to the number of rows, of training and of test rows
	PerClient int    `default:"2"` // shards per client
	Seed      uint64 // chooses shards and rows
}

// Partition returns M clients, each with its rows in ascending order. It fails if a field is out of range, or the
// data set has no labels or does not pass its Check.
func (r Shards) Partition(d *datasets.Dataset) (*Partitioned, error) {
	r = config.Defaults(r)
	if err := checkLabeled(r, r.Clients, d); err != nil {
		return nil, err
	}
	if err := checkPerClient("Shards", r.PerClient, r.Clients, d); err != nil {
		return nil, err
	}
	rows := shuffled(d.Train.Len(), stream(r.Seed, "train"))
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(d.Train.Labels[a], d.Train.Labels[b]) })
	shards := cutEven(rows, r.Clients*r.PerClient)
	train := make([][]int, r.Clients)
	for k, s := range shuffled(len(shards), stream(r.Seed, "shards")) {
		train[k/r.PerClient] = append(train[k/r.PerClient], shards[s]...)
	}
	return dealt(d, train, follow(d, train, stream(r.Seed, "test"))), nil
}

// String returns "100 clients, 2 shards each", and the seed unless it is 0.
func (r Shards) String() string {
	return fmt.Sprintf("%s, %s each%s", count(r.Clients), several(config.Defaults(r).PerClient, "shard"), seeded(r.Seed))
}

// follow assigns the test rows to clients that hold these training rows, [M]. Of class c, client i gets the share
// n_ic/n_c, rounded to whole rows, and at least one row in all; see topUp. A class without training rows is shared
// equally. All rows are assigned.
func follow(d *datasets.Dataset, train [][]int, src rand.Source) [][]int {
	n, held := make([]float64, d.Classes), make([][]float64, d.Classes) // of each class, [C], and of each client, [C, M]
	for c := range held {
		held[c] = make([]float64, len(train))
	}
	for i, rows := range train {
		for _, row := range rows {
			c := d.Train.Labels[row]
			n[c]++
			held[c][i]++
		}
	}
	share := func(c, i int) float64 {
		if n[c] > 0 {
			return held[c][i] / n[c]
		}
		return 1 / float64(len(train))
	}
	return handOut(d.Test.Labels, d.Classes, len(train), src, share, 1, func(c, i int) float64 { return math.Log(held[c][i]) }).all()
}
