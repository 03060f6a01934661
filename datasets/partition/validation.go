package partition

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/config"
)

// Validation holds back a share of each client's training rows, at least one, on which nothing is trained: for what is chosen or
// tuned, such as rates, the round to stop at, or whose models a client mixes. Without it only test rows are left for that, and
// what is then reported on them is optimistic. A row keeps its label, noise and rotation, whichever rule is the outer one.
type Validation struct {
	Of    Rule    // makes the clients
	Share float64 `range:"(0,1)" default:"0.2"` // of a client's training rows, stratified by label if each row has one, ± 1 row
	Seed  uint64  // chooses the rows
}

// Partition returns the clients of Of, with Train and Validation in ascending order. It fails if Share is out of range, a client
// has fewer than two training rows, Of fails, or its clients share rows or have validation rows already.
func (r Validation) Partition(d *datasets.Dataset) (*Partitioned, error) {
	if err := inRange(r); err != nil {
		return nil, err
	}
	r = config.Defaults(r)
	deal, err := inner("Validation", r.Of, d)
	if err != nil {
		return nil, err
	}
	for i := range deal.Clients {
		c := &deal.Clients[i]
		switch {
		case len(c.Train) < 2:
			return nil, fmt.Errorf("partition.Validation: client %d has %s: must have at least 2, to train and to validate on", i, several(len(c.Train), "train row"))
		case c.Validation != nil:
			return nil, fmt.Errorf("partition.Validation: Of = %v: must be a rule whose clients have no validation rows yet", r.Of)
		}
		var labels []int32
		if deal.Data.Labeled() {
			labels = deal.Data.Train.Labels
		}
		c.Train, c.Validation = r.split(c.Train, labels, i)
	}
	return deal, nil
}

// split splits the training rows of a client.
func (r Validation) split(rows []int, labels []int32, client int) (train, validation []int) {
	held := min(max(1, math.Round(r.Share*float64(len(rows)))), float64(len(rows)-1))
	order := make([]int, len(rows))
	for k, at := range shuffled(len(rows), stream(r.Seed, fmt.Sprint("validation", client))) {
		order[k] = rows[at]
	}
	if labels != nil {
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(labels[a], labels[b]) })
	}
	share := held / float64(len(rows))
	for k, row := range order { // evenly along the labels
		if math.Round(share*float64(k+1)) > math.Round(share*float64(k)) {
			validation = append(validation, row)
		} else {
			train = append(train, row)
		}
	}
	slices.Sort(train)
	slices.Sort(validation)
	return train, validation
}

// String returns "20 clients, IID, 20 % of the training rows for validation", and the seed unless it is 0.
func (r Validation) String() string {
	return fmt.Sprintf("%v, %.4g %% of the training rows for validation%s", r.Of, 100*config.Defaults(r).Share, seeded(r.Seed))
}
