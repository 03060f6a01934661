package partition

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/config"
)

// Quantity is quantity skew. The clients' shares q, [M], are drawn from a Dirichlet distribution or follow a power law:
//
//	q ~ Dir(α·1)            if Alpha is set
//	q_i = r_i^−a / Σ r^−a   if Power is set, with the ranks r = 1..M assigned to the clients at random
//
// If Clients is set, it assigns all rows at random in these shares, so that clients differ only in size. A client short
// of MinTrain or MinTest is topped up from the largest.
//
// If Of is set, it makes the clients of another rule unequal: client i keeps a random share q_i / max q of its rows,
// and the others are left over. So label skew stays as Of made it, and sizes are multiplied. The share of training and
// test rows is the same; validation rows all stay. A client keeps at least MinTrain and MinTest rows, or, if the minimum is
// the default, all it has if that is less.
//
// Source: Q. Li et al., Federated Learning on Non-IID Data Silos: An Experimental Study, 2022 (arXiv 2102.02079),
// section 4, for the Dirichlet sizes; T. Li et al., Federated Optimization in Heterogeneous Networks, 2020 (arXiv
// 1812.06127), section 5.1, for sizes by a power law.
type Quantity struct {
	Of       Rule    // makes the clients; default: Clients of equal label distribution
	Clients  int     // M; 1 to the number of rows, of training and of test rows; 0 if Of is set
	Alpha    float64 `range:"[0,inf)"`                                                                                                       // α > 0: sizes by a Dirichlet distribution; a small α gives nearly all to a few
	Power    float64 `range:"[0,inf)"`                                                                                                       // a > 0: sizes by a power law; 1 is Zipf's law. Exactly one of Alpha and Power is set
	MinTrain int     `range:"[1,inf)" default:"10 rows, or half an equal share (but at least 1) if that is less; with Of, 10 or all it has"` // least training rows per client
	MinTest  int     `range:"[1,inf)" default:"1"`                                                                                           // least test rows per client
	Seed     uint64  // chooses sizes and rows
}

// Partition returns the clients, each with its rows in ascending order. It fails if a field is out of range, there are
// too few rows for the minimum, Of fails, or the data set does not pass its Check.
func (r Quantity) Partition(d *datasets.Dataset) (*Partitioned, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Of != nil {
		return r.thin(d)
	}
	if err := checkClients(r, r.Clients, d); err != nil {
		return nil, err
	}
	q := r.shares(r.Clients)
	train, err := r.cut("MinTrain", cmp.Or(r.MinTrain, defaultMin(d.Train.Len(), r.Clients)), "train", d.Train.Len(), q)
	if err != nil {
		return nil, err
	}
	test, err := r.cut("MinTest", config.Defaults(r).MinTest, "test", d.Test.Len(), q)
	if err != nil {
		return nil, err
	}
	return dealt(d, train, test), nil
}

// String returns "20 clients, sizes by Dirichlet α = 0.5", and the seed unless it is 0.
func (r Quantity) String() string {
	of := count(r.Clients)
	if r.Of != nil {
		of = fmt.Sprint(r.Of)
	}
	if r.Power != 0 {
		return fmt.Sprintf("%s, sizes by power law a = %v%s", of, r.Power, seeded(r.Seed))
	}
	return fmt.Sprintf("%s, sizes by Dirichlet α = %v%s", of, r.Alpha, seeded(r.Seed))
}

// shares returns q, [m].
func (r Quantity) shares(m int) []float64 {
	src := stream(r.Seed, "sizes")
	var q []float64
	if r.Alpha != 0 {
		q = logShares(m, r.Alpha, src)
	} else {
		for _, rank := range shuffled(m, src) {
			q = append(q, -r.Power*math.Log(float64(rank+1)))
		}
		floats.AddConst(-floats.LogSumExp(q), q)
	}
	for i, v := range q {
		q[i] = math.Exp(v)
	}
	return q
}

// cut partitions n rows in the shares q, as if all were of one class.
func (r Quantity) cut(field string, least int, part string, n int, q []float64) ([][]int, error) {
	if err := checkMin("Quantity", field, least, len(q), part, n); err != nil {
		return nil, err
	}
	return handOut(make([]int32, n), 1, len(q), stream(r.Seed, part), func(_, i int) float64 { return q[i] }, least, func(int, int) float64 { return 0 }).all(), nil
}

// thin subsamples the rows of the clients of Of.
func (r Quantity) thin(d *datasets.Dataset) (*Partitioned, error) {
	deal, err := inner("Quantity", r.Of, d)
	if err != nil {
		return nil, err
	}
	q := r.shares(len(deal.Clients))
	most := slices.Max(q)
	for i := range deal.Clients {
		c := &deal.Clients[i]
		if c.Train, err = r.keep("MinTrain", r.MinTrain, "train", i, c.Train, q[i]/most); err != nil {
			return nil, err
		}
		if c.Test, err = r.keep("MinTest", r.MinTest, "test", i, c.Test, q[i]/most); err != nil {
			return nil, err
		}
	}
	return deal, nil
}

// keep returns a random share of a client's rows.
func (r Quantity) keep(field string, least int, part string, client int, rows []int, share float64) ([]int, error) {
	if least > len(rows) {
		return nil, fmt.Errorf("partition.Quantity: %s = %d: client %d has %s of %s: must be at most that",
			field, least, client, several(len(rows), part+" row"), r.Of)
	}
	if least == 0 {
		least = 1
		if part == "train" {
			least = min(10, len(rows))
		}
	}
	return some(rows, max(least, int(math.Round(share*float64(len(rows))))), r.Seed, fmt.Sprint(part, client)), nil
}

func (r Quantity) check() error {
	switch {
	case (r.Alpha == 0) == (r.Power == 0):
		return fmt.Errorf("partition.Quantity: Alpha = %v, Power = %v: exactly one must be set", r.Alpha, r.Power)
	case r.Of != nil && r.Clients != 0:
		return fmt.Errorf("partition.Quantity: Clients = %d: must be 0 if Of is set: Of says how many", r.Clients)
	}
	return inRange(r)
}
