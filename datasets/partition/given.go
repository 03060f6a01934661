package partition

import (
	"slices"

	"fedkit.example/datasets"
)

// Given is a deal written down by hand, client by client; rows may be left over.
//
//	partition.Given{
//		{Train: []int{0, 1, 2}, Test: []int{0}},
//		{Train: []int{5, 8}, Test: []int{3, 4}},
//	}
type Given []Client

// Deal returns a copy of the clients. What Check finds wrong with them is its error.
func (r Given) Deal(d *datasets.Dataset) (*Deal, error) {
	deal := &Deal{Data: d, Clients: slices.Clone(r)}
	if err := deal.Check(); err != nil {
		return nil, err
	}
	for i, c := range deal.Clients {
		deal.Clients[i].Train, deal.Clients[i].Test = slices.Clone(c.Train), slices.Clone(c.Test)
	}
	return deal, nil
}

// String returns "3 clients, given".
func (r Given) String() string { return count(len(r)) + ", given" }

// count returns "1 client" or "20 clients".
func count(clients int) string { return several(clients, "client") }
