package partition

import (
	"fmt"
	"slices"

	"fedkit.example/datasets"
)

// Take subsamples the clients of Of at random: each keeps Train of its training rows and Test of its test rows, or all
// it has if that is less, and all of its validation rows. The others are left over. So a small experiment has clients of one size, whatever the size of
// the data set, and groups and labels as Of made them.
type Take struct {
	Of    Rule   // makes the clients
	Train int    `range:"[1,inf)"`               // training rows per client
	Test  int    `range:"[1,inf)" default:"all"` // test rows per client
	Seed  uint64 // chooses the rows
}

// Partition returns the clients of Of, each with its rows in ascending order. It fails if a field is out of range, or Of fails.
func (r Take) Partition(d *datasets.Dataset) (*Partitioned, error) {
	if err := inRange(r); err != nil {
		return nil, err
	}
	deal, err := inner("Take", r.Of, d)
	if err != nil {
		return nil, err
	}
	for i := range deal.Clients {
		c := &deal.Clients[i]
		c.Train = some(c.Train, r.Train, r.Seed, fmt.Sprint("train", i))
		if r.Test > 0 {
			c.Test = some(c.Test, r.Test, r.Seed, fmt.Sprint("test", i))
		}
	}
	return deal, nil
}

// String returns "20 clients, IID, 50 rows each for training, 10 for testing", and the seed unless it is 0.
func (r Take) String() string {
	text := fmt.Sprintf("%v, %s each for training", r.Of, several(r.Train, "row"))
	if r.Test > 0 {
		text += fmt.Sprintf(", %d for testing", r.Test)
	}
	return text + seeded(r.Seed)
}

// some returns n of the rows, or all if they are fewer, in ascending order.
func some(rows []int, n int, seed uint64, purpose string) []int {
	kept := make([]int, min(n, len(rows)))
	for k, at := range shuffled(len(rows), stream(seed, purpose))[:len(kept)] {
		kept[k] = rows[at]
	}
	slices.Sort(kept)
	return kept
}
