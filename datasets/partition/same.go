package partition

import (
	"fmt"
	"slices"

	"fedkit.example/datasets"
)

// Same gives all clients the same training and test rows: they differ by the order of their batches alone. The rows are shared,
// not copied. So rules that change rows, such as Rotations, cannot be put over it.
//
// With Seen, the test part also gets the training rows, and the last client is tested on these, so that a run has the accuracy on
// examples that were trained on too. The global model is then scored on both.
type Same struct {
	Clients int    // M ≥ 1; ≥ 2 with Seen
	Train   int    // training rows, chosen at random; default all
	Seen    bool   // test the last client on the training rows
	Seed    uint64 // chooses the rows
}

// Partition returns M clients, with rows in ascending order. It fails if a field is out of range, or the data set does not pass its
// Check; with Seen, also if its parts are of different kinds.
func (r Same) Partition(d *datasets.Dataset) (*Partitioned, error) {
	if err := d.Check(); err != nil {
		return nil, fmt.Errorf("partition.Same: %w", err)
	}
	least, n := 1, d.Train.Len()
	if r.Seen {
		least = 2
	}
	if r.Clients < least || r.Clients > maxSame {
		return nil, fmt.Errorf("partition.Same: Clients = %d: must be in [%d, %d]", r.Clients, least, maxSame)
	}
	if r.Train < 0 || r.Train > n {
		return nil, fmt.Errorf("partition.Same: Train = %d: must be at most %d, the number of train rows of %s, or 0 for all", r.Train, n, d.Name)
	}
	if a, b := d.Train, d.Test; r.Seen && ((a.Bytes == nil) != (b.Bytes == nil) || a.Scale != b.Scale || a.Shift != b.Shift) {
		return nil, fmt.Errorf("partition.Same: Seen = true: the parts of %s must be of one kind, with equal Scale and Shift", d.Name)
	}
	train, test := upTo(n), upTo(d.Test.Len())
	if r.Train > 0 {
		train = some(train, r.Train, r.Seed, "train")
	}
	deal := &Partitioned{Data: d, Clients: slices.Repeat([]Client{{Train: train, Test: test}}, r.Clients), Shared: true}
	if r.Seen {
		deal.Clients[r.Clients-1].Test = shifted(train, d.Test.Len())
		both := *d
		both.Test = stacked(d.Test, d.Train)
		deal.Data = &both
	}
	return deal, nil
}

// maxSame limits the number of clients, each of which costs a few words.
const maxSame = 1 << 20

// stacked returns the rows of splits of one kind, one split after another.
func stacked(splits ...datasets.Split) datasets.Split {
	all := splits[0]
	for _, s := range splits[1:] {
		all.Bytes, all.Floats = slices.Concat(all.Bytes, s.Bytes), slices.Concat(all.Floats, s.Floats)
		all.Labels, all.Targets, all.Owner = slices.Concat(all.Labels, s.Labels), slices.Concat(all.Targets, s.Targets), slices.Concat(all.Owner, s.Owner)
	}
	return all
}

// String returns "8 clients, all of the same 5000 training rows".
func (r Same) String() string {
	text := count(r.Clients) + ", each with all rows"
	if r.Train > 0 {
		text = fmt.Sprintf("%s, all with the same %s for training", count(r.Clients), several(r.Train, "row"))
	}
	if r.Seen {
		text += ", the last tested on them"
	}
	return text + seeded(r.Seed)
}

// upTo returns 0..n−1.
func upTo(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}
