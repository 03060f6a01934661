package fedtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fedkit.example/fedkit"
)

// TestObjective tests the Objective of a job, on clients of a federation that suits it, and returns an error for everything
// that does not hold:
//
//   - the clients train, and the models that they return are finite;
//   - the smallest and the largest of them return the same models, up to rounding, when they train alone: nothing mixes
//     values of different clients;
//   - the smallest returns the same model from a batch that is filled up and from one that it fills itself: rows that only
//     fill a batch do not count.
//
// The job has two clients at least, best of very different size. What it carries in Start and in Extra may have one row, or
// one for each client. Its other fields but Local must be empty.
func TestObjective(fed *fedkit.Federation, job fedkit.Job) error {
	return hold(job.Objective, []trial[fedkit.Objective]{
		{"clients", func(fedkit.Objective) error { return alone(fed, job) }},
		{"filled batches", func(fedkit.Objective) error { return filled(fed, job) }},
	})
}

// alone compares what clients of a job return together and alone.
func alone(fed *fedkit.Federation, job fedkit.Job) error {
	if len(job.Clients) < 2 {
		return errors.New("the job needs two clients at least")
	}
	u, err := fed.Train(context.Background(), job, 1)
	if err != nil {
		return err
	}
	sizes := u.Examples()
	for _, i := range []int{slices.Index(sizes, slices.Min(sizes)), slices.Index(sizes, slices.Max(sizes))} {
		one, err := fed.Train(context.Background(), only(job, u.Positions[i]), 1)
		if err == nil {
			err = like("trains alone", one, u.Models.Take(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// filled compares what the smallest client of a job returns from batches of its size and of that of the largest client.
func filled(fed *fedkit.Federation, job fedkit.Job) error {
	size := func(at int) int { return len(fed.Clients[job.Clients[at]].Train) }
	least := 0
	for i := range job.Clients {
		if size(i) < size(least) {
			least = i
		}
	}
	job.Local = job.Local.WithDefaults()
	n := size(least)
	job.Local.Batch = fedkit.FullBatch
	u, err := fed.Train(context.Background(), only(job, least), 1)
	if err != nil {
		return err
	}
	job.Local.Batch = n
	one, err := fed.Train(context.Background(), only(job, least), 1)
	if err != nil {
		return err
	}
	return like(fmt.Sprintf("trains in batches of its %d examples, which nothing fills", n), one, u.Models)
}

// like compares the model of the one client of u with another one.
func like(when string, u *fedkit.Updates, model *fedkit.Matrix) error {
	length, err := u.Delta().Norms()
	if err != nil {
		return err
	}
	apart, err := u.Models.Sub(model).Norms()
	if err == nil && !(apart[0] <= 1e-3*length[0]) {
		err = fmt.Errorf("client %d returns another model when it %s: %.3g from the other one, after an update of length %.3g", u.Results[0].Client, when, apart[0], length[0])
	}
	return err
}

// only returns the job for one of its clients.
func only(job fedkit.Job, at int) fedkit.Job {
	n := len(job.Clients)
	row := func(m *fedkit.Matrix) *fedkit.Matrix {
		if m == nil || m.Rows() != n {
			return m
		}
		return m.Take(at)
	}
	extra := map[string]*fedkit.Matrix{}
	for name, m := range job.Extra {
		extra[name] = row(m)
	}
	return fedkit.Job{Clients: job.Clients[at : at+1], Local: job.Local, Objective: job.Objective, Start: row(job.Start), Extra: extra}
}
