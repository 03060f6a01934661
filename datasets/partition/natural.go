package partition

import (
	"fmt"
	"maps"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/config"
)

// Natural makes one client per owner of the data, as in Split.Owner: the writer, the speaker, the client of a synthetic
// data set. Clients are in the order of their owners, and Group is the owner's entry in Dataset.Groups, if there is
// one. Every row is assigned, except those of owners left out.
//
// Source: S. Caldas et al., LEAF: A Benchmark for Federated Settings, 2018 (arXiv 1812.01097), which also leaves out
// users with few examples.
type Natural struct {
	Clients  int    `range:"[1,inf)" default:"all"` // choose this many owners at random
	MinTrain int    `range:"[1,inf)" default:"1"`   // training rows an owner needs
	MinTest  int    `range:"[1,inf)" default:"1"`   // test rows an owner needs
	Drop     bool   // leave out owners that have fewer; default: the first of them is an error
	Seed     uint64 // of the choice
}

// Partition returns one client per owner, each with its rows in ascending order. It fails if an owner has too few rows and Drop
// is not set, a field is out of range, or the data set does not know its owners or does not pass its Check.
func (r Natural) Partition(d *datasets.Dataset) (*Partitioned, error) {
	r = config.Defaults(r)
	if err := r.check(d); err != nil {
		return nil, err
	}
	train, test := byOwner(d.Train.Owner), byOwner(d.Test.Owner)
	owners := slices.Concat(slices.Collect(maps.Keys(train)), slices.Collect(maps.Keys(test)))
	slices.Sort(owners)
	deal := &Partitioned{Data: d}
	for _, owner := range slices.Compact(owners) {
		c := Client{Train: train[owner], Test: test[owner]}
		if short := r.short(c); short != "" {
			if r.Drop {
				continue
			}
			return nil, fmt.Errorf("partition.Natural: owner %d of %s has %s; Drop leaves such owners out", owner, d.Name, short)
		}
		if d.Groups != nil {
			c.Group = d.Groups[owner]
		}
		deal.Clients = append(deal.Clients, c)
	}
	switch n := len(deal.Clients); {
	case n == 0:
		return nil, fmt.Errorf("partition.Natural: no owner of %s has %d train and %d test rows", d.Name, r.MinTrain, r.MinTest)
	case r.Clients > n:
		return nil, fmt.Errorf("partition.Natural: Clients = %d: must be at most %d, the number of owners of %s with %d train and %d test rows",
			r.Clients, n, d.Name, r.MinTrain, r.MinTest)
	}
	if r.Clients > 0 {
		chosen := shuffled(len(deal.Clients), stream(r.Seed, "owners"))[:r.Clients]
		slices.Sort(chosen)
		for k, i := range chosen {
			deal.Clients[k] = deal.Clients[i]
		}
		deal.Clients = deal.Clients[:r.Clients]
	}
	return deal, nil
}

// String returns "one client per owner", or "20 clients, by owner", with the minimum and the seed if they are set.
func (r Natural) String() string {
	text := "one client per owner"
	if r.Clients > 0 {
		text = count(r.Clients) + ", by owner"
	}
	if r.MinTrain > 1 {
		text += fmt.Sprintf(", ≥ %d train rows", r.MinTrain)
	}
	if r.MinTest > 1 {
		text += fmt.Sprintf(", ≥ %d test rows", r.MinTest)
	}
	return text + seeded(r.Seed)
}

func (r Natural) check(d *datasets.Dataset) error {
	if err := d.Check(); err != nil {
		return fmt.Errorf("partition.Natural: %w", err)
	}
	if d.Train.Owner == nil {
		return fmt.Errorf("partition.Natural: %s does not say whose its examples are (Split.Owner)", d.Name)
	}
	return inRange(r)
}

// short describes which rows a client lacks, "" if it has enough.
func (r Natural) short(c Client) string {
	switch {
	case len(c.Train) < r.MinTrain:
		return fmt.Sprintf("%s: must have at least %d", several(len(c.Train), "train row"), r.MinTrain)
	case len(c.Test) < r.MinTest:
		return fmt.Sprintf("%s: must have at least %d", several(len(c.Test), "test row"), r.MinTest)
	}
	return ""
}

// byOwner returns the rows of each owner.
func byOwner(owners []int32) map[int32][]int {
	rows := map[int32][]int{}
	for row, o := range owners {
		rows[o] = append(rows[o], row)
	}
	return rows
}
