// Package partition partitions a data set among clients. Heterogeneity is the subject of federated learning, so each
// kind is one rule, written as a literal. The same rule and seed give the same clients everywhere.
//
//	labels     Dirichlet, Shards, Classes, Majority; Pachinko by superclass and class; by other targets with ByTarget
//	sizes      Quantity; Dirichlet too; Take makes them equal, and small
//	features   Rotations, Noise, Intensity
//	concept    Relabel: the same image, another label
//	as found   Natural; Given, by hand
//	choices    Validation holds training rows back, so that options are not chosen on test rows
//	none       IID; Same, in which all clients have the same rows
//
// Rules compose: Quantity, Take, Validation, Rotations, Noise, Intensity and Relabel change the clients of the rule in their
// field Of, in any order.
//
//	partition.Rotations{Of: partition.Quantity{Of: partition.Dirichlet{Clients: 40, Alpha: 0.5}, Power: 1}}
package partition

import (
	"errors"
	"fmt"
	"slices"

	"fedkit.example/datasets"
)

// A Rule partitions a data set among clients. Official training and test rows are never mixed: a client's test rows
// come from the test part, and are chosen to match its training rows.
type Rule interface {
	// Partition returns the clients. The same rule (with the same Seed) gives the same clients every time.
	Partition(d *datasets.Dataset) (*Partitioned, error)
	// String describes the rule in a few words: "20 clients, Dirichlet α = 0.5".
	String() string
}

// Partitioned is a partition: who holds which rows of which data set. Most rules return the data set they were given; one that
// rotates images returns a new one.
type Partitioned struct {
	Data    *datasets.Dataset // whose rows the clients hold
	Clients []Client          // [M]
	Shared  bool              // clients may hold the same rows, as with Same
}

// Client lists what one client holds: indices of rows of the training part, to train and perhaps to validate on, and of the
// test part. At most one client holds a row, unless Partitioned.Shared is set, and only in one list. Group is the true group if the rule has groups (rotations, say), otherwise 0. If nested rules each make groups,
// it is the product of them.
type Client struct {
	Train, Test []int // rows of the two parts, from 0
	Group       int   // the true group, from 0
	Validation  []int // rows of the training part that it does not train on, for choices; nil if no client has any
}

// Check reports the first thing that is wrong with the deal: a data set that does not pass its own Check, no clients,
// a row out of range or held twice (with Shared, by one client), or a client without a training row or without a test row, or
// without a validation row although another client has one. Not every row needs to be held. The rules of this package make deals that pass; Check is for custom rules.
func (d *Partitioned) Check() error {
	if d == nil {
		return errors.New("partition: the deal is nil")
	}
	if err := d.Data.Check(); err != nil {
		return fmt.Errorf("partition: %w", err)
	}
	if len(d.Clients) == 0 {
		return errors.New("partition: the deal has no clients: must be at least 1")
	}
	holder := make([]int, d.Data.Train.Len())
	err := d.checkPart("train", func(c Client) []int { return c.Train }, holder)
	if err == nil && slices.ContainsFunc(d.Clients, func(c Client) bool { return len(c.Validation) > 0 }) {
		err = d.checkPart("validation", func(c Client) []int { return c.Validation }, holder)
	}
	if err == nil {
		err = d.checkPart("test", func(c Client) []int { return c.Test }, make([]int, d.Data.Test.Len()))
	}
	return err
}

// checkPart checks one part. holder is, of each row, the index + 1 of a client that holds it, 0 for none so far.
func (d *Partitioned) checkPart(part string, rows func(Client) []int, holder []int) error {
	n := len(holder)
	for i, c := range d.Clients {
		if len(rows(c)) == 0 {
			return fmt.Errorf("partition: client %d has no %s row: must have at least 1", i, part)
		}
		for _, row := range rows(c) {
			switch {
			case row < 0 || row >= n:
				return fmt.Errorf("partition: client %d: %s row %d: must be in [0, %d)", i, part, row, n)
			case holder[row] == i+1:
				return fmt.Errorf("partition: client %d holds %s row %d twice", i, part, row)
			case holder[row] != 0 && !d.Shared:
				return fmt.Errorf("partition: %s row %d is held by clients %d and %d", part, row, holder[row]-1, i)
			}
			holder[row] = i + 1
		}
	}
	return nil
}

// dealt returns the deal in which client i holds train[i] and test[i], which it sorts.
func dealt(d *datasets.Dataset, train, test [][]int) *Partitioned {
	clients := make([]Client, len(train))
	for i := range clients {
		slices.Sort(train[i])
		slices.Sort(test[i])
		clients[i] = Client{Train: train[i], Test: test[i]}
	}
	return &Partitioned{Data: d, Clients: clients}
}

// cutEven cuts rows into m parts whose lengths differ by at most one.
func cutEven(rows []int, m int) [][]int {
	parts := make([][]int, m)
	for i := range parts {
		from, to := i*len(rows)/m, (i+1)*len(rows)/m
		parts[i] = rows[from:to:to]
	}
	return parts
}
