package partition

import (
	"cmp"
	"fmt"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/config"
)

// Classes gives every client the same number k of classes. One after another, the clients take the k classes that the
// fewest hold so far (ties at random). So each class has Mk/C holders, plus or minus one. Its training rows and its
// test rows are shuffled and split evenly among them. If Mk < C, classes that no client holds are left over; otherwise
// every row is assigned.
//
// With Sets, groups of clients know the same classes: the clients are split evenly, in order, over the sets, and the set's number is
// the client's true group. A class that is in several sets is split evenly among the clients of all of them.
//
// Source: Q. Li et al., Federated Learning on Non-IID Data Silos: An Experimental Study, 2022 (arXiv 2102.02079), the
// "#C = k" of section 4. There classes are drawn without this balance, so that some may have many holders: see Drawn.
type Classes struct {
	Clients   int     // M; 1 to the number of rows, of training and of test rows
	PerClient int     `default:"2"` // k, classes per client; the default is at most the number in the data set
	Sets      [][]int // the classes of each group of clients, in place of PerClient, at most one for each client
	Sizes     []int   // clients of each of the Sets, Clients in all; default as even as possible
	Drawn     bool    // without the balance: client i takes class i mod C and k − 1 others, at random; not with Sets
	Seed      uint64  // chooses classes and rows
}

// Partition returns M clients, each with its rows in ascending order and at least one training and one test row of each of
// its classes. It fails if a class has too few rows for that, a field is out of range, or the data set has no labels or
// does not pass its Check.
func (r Classes) Partition(d *datasets.Dataset) (*Partitioned, error) {
	if err := checkLabeled(r, r.Clients, d); err != nil {
		return nil, err
	}
	if err := r.checkSets(d.Classes); err != nil {
		return nil, err
	}
	if r.PerClient == 0 {
		r.PerClient = min(config.Defaults(r).PerClient, d.Classes)
	}
	if r.PerClient < 1 || r.PerClient > d.Classes {
		return nil, fmt.Errorf("partition.Classes: PerClient = %d: must be in [1, %d], the number of classes of %s",
			r.PerClient, d.Classes, d.Name)
	}
	holders := r.holders(d.Classes)
	train, err := r.deal("train", d.Train.Labels, holders)
	if err != nil {
		return nil, err
	}
	test, err := r.deal("test", d.Test.Labels, holders)
	if err != nil {
		return nil, err
	}
	deal := dealt(d, train, test)
	for i := range deal.Clients {
		deal.Clients[i].Group = r.group(i)
	}
	return deal, nil
}

// group returns the number of a client's set, 0 without Sets.
func (r Classes) group(client int) (g int) {
	if r.Sizes == nil {
		return client * len(r.Sets) / r.Clients
	}
	for client -= r.Sizes[0]; client >= 0; client -= r.Sizes[g] {
		g++
	}
	return g
}

func (r Classes) checkSets(classes int) error {
	switch {
	case r.Sets != nil && r.Drawn:
		return fmt.Errorf("partition.Classes: Drawn = true: must be false, as there are Sets")
	case r.Sets != nil && r.PerClient != 0:
		return fmt.Errorf("partition.Classes: PerClient = %d: must be 0, as there are Sets", r.PerClient)
	case r.Sizes != nil && (len(r.Sizes) != len(r.Sets) || slices.Min(r.Sizes) < 1 || sum(r.Sizes) != r.Clients):
		return fmt.Errorf("partition.Classes: Sizes = %v: must be a number ≥ 1 for each of the Sets, %d, which make %s", r.Sizes, len(r.Sets), count(r.Clients))
	case len(r.Sets) > r.Clients:
		return fmt.Errorf("partition.Classes: %s: must be at most %d, one for each client", several(len(r.Sets), "set"), r.Clients)
	}
	for j, set := range r.Sets {
		sorted := slices.Sorted(slices.Values(set))
		if len(set) == 0 || sorted[0] < 0 || sorted[len(set)-1] >= classes || len(slices.Compact(sorted)) != len(set) {
			return fmt.Errorf("partition.Classes: Sets[%d] = %v: must be different classes in [0, %d)", j, set, classes)
		}
	}
	return nil
}

// String returns "20 clients, 2 classes each", with "drawn" if they are, or "20 clients, classes of 4 groups", and the seed unless it is 0.
func (r Classes) String() string {
	if r.Sets != nil {
		sizes := ""
		if r.Sizes != nil {
			sizes = fmt.Sprintf(" of %v", r.Sizes)
		}
		return fmt.Sprintf("%s, classes of %s%s%s", count(r.Clients), several(len(r.Sets), "group"), sizes, seeded(r.Seed))
	}
	drawn := ""
	if r.Drawn {
		drawn = ", drawn"
	}
	return fmt.Sprintf("%s, %s each%s%s", count(r.Clients), several(config.Defaults(r).PerClient, "class"), drawn, seeded(r.Seed))
}

// holders returns the clients of each class, [C].
func (r Classes) holders(classes int) [][]int {
	holders := make([][]int, classes)
	src := stream(r.Seed, "classes")
	for i := range r.Clients {
		if r.Sets != nil {
			for _, c := range r.Sets[r.group(i)] {
				holders[c] = append(holders[c], i)
			}
			continue
		}
		rank := func(class int) int { return len(holders[class]) }
		if r.Drawn {
			rank = func(class int) int { return min(1, class^(i%classes)) } // 0 for i mod C, else 1
		}
		order := shuffled(classes, src)
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
		for _, c := range order[:r.PerClient] {
			holders[c] = append(holders[c], i)
		}
	}
	return holders
}

// deal splits the rows of each class among its holders.
func (r Classes) deal(part string, labels []int32, holders [][]int) ([][]int, error) {
	h := newHand(labels, len(holders), 0, stream(r.Seed, part))
	rows := make([][]int, r.Clients)
	for c, clients := range holders {
		if n := len(h.undealt[c]); n < len(clients) {
			return nil, fmt.Errorf("partition.Classes: class %d has %s, and %d of %s hold it: must be at least one each",
				c, several(n, part+" row"), len(clients), count(r.Clients))
		}
		for k, part := range cutEven(h.undealt[c], len(clients)) {
			rows[clients[k]] = append(rows[clients[k]], part...)
		}
	}
	return rows, nil
}

// sum adds numbers.
func sum(numbers []int) (n int) {
	for _, v := range numbers {
		n += v
	}
	return n
}
