package partition

import (
	"slices"

	"fedkit.example/datasets"
)

// Given is a partition written by hand, client by client. Rows may be left over.
//
//	partition.Given{
//		{Train: []int{0, 1, 2}, Test: []int{0}},
//		{Train: []int{5, 8}, Test: []int{3, 4}},
//	}
type Given []Client

// Partition returns a copy of the clients, or the error of Check.
func (r Given) Partition(d *datasets.Dataset) (*Partitioned, error) {
	deal := &Partitioned{Data: d, Clients: slices.Clone(r)}
	if err := deal.Check(); err != nil {
		return nil, err
	}
	for i, c := range deal.Clients {
		deal.Clients[i].Train, deal.Clients[i].Test, deal.Clients[i].Validation = slices.Clone(c.Train), slices.Clone(c.Test), slices.Clone(c.Validation)
	}
	return deal, nil
}

// String returns "3 clients, given".
func (r Given) String() string { return count(len(r)) + ", given" }
