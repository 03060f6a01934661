package fedtest

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
)

// TestModel tests a model on a data set, datasets.Digits unless another is given, and returns an error for everything that does not
// hold:
//
//   - fedkit.New accepts it, and a run does: its outputs and losses for an example do not depend on other examples or on other clients in
//     evaluation, nor on other clients and on rows that only fill a batch in training;
//   - its outputs for an example are the same, up to rounding, among many and few, from two models at once and from each alone;
//   - the mean of the gradients of single examples is that of the batch, up to rounding, if the model has them (see
//     fedkit.Local.ClipExamples) and draws no random numbers;
//   - clients of very different size return the same models, up to rounding, when they train alone;
//   - the same seed gives the same bytes, for any number of workers and after a run was interrupted, without another program;
//   - it learns: gradient descent at a rate of 0.1, 0.01 or 0.001 lowers a client's loss, and leaves it finite.
func TestModel(m fedkit.Model, on ...*datasets.Dataset) error {
	if on == nil {
		on = []*datasets.Dataset{datasets.Digits()}
	}
	for _, d := range on {
		fed, err := modeled(m, d)
		if err != nil {
			return fmt.Errorf("fedtest: %s: %w", d.Name, err)
		}
		trials := []trial[fedkit.Model]{
			{"evaluation", func(fedkit.Model) error { return evaluates(fed) }},
			{"clients", func(fedkit.Model) error {
				job, err := trains(fed, 0, 1, 2, 3)
				if err != nil {
					return err
				}
				return alone(fed, job)
			}},
			{"gradients", func(fedkit.Model) error { return gradients(fed) }},
			{"bytes", func(fedkit.Model) error { return again(fed, &host{Local: fedkit.Local{Batch: 4, LR: 0.01}}) }},
			{"learns", func(fedkit.Model) error { return descends(fed) }},
		}
		if err := hold(m, trials); err != nil {
			return fmt.Errorf("%s: %w", fed.Task.Name, err)
		}
	}
	return nil
}

// modeled is a federation of four clients with 26, 17, 12 and 5 examples, or fewer in proportion.
func modeled(m fedkit.Model, d *datasets.Dataset) (*fedkit.Federation, error) {
	n := min(60, d.Train.Len())
	var clients partition.Given
	from := 0
	for _, end := range []int{26 * n / 60, 43 * n / 60, 55 * n / 60, n} {
		var c partition.Client
		for ; from < end; from++ {
			c.Train, c.Test = append(c.Train, from), append(c.Test, len(clients)*(d.Test.Len()-1)/3)
		}
		c.Test = c.Test[:min(1, len(c.Test))]
		clients = append(clients, c)
	}
	return fedkit.New(d, clients, m)
}

// trains is the job of some clients, whose last batches are filled up.
func trains(fed *fedkit.Federation, clients ...int) (fedkit.Job, error) {
	start, err := fed.Models(1, 1)
	return fedkit.Job{Clients: clients, Start: start, Local: fedkit.Local{Epochs: 2, Batch: 4, LR: 0.01}}, err
}

// gradients compares a step by the mean of the gradients of single examples with one by the gradient of the batch.
func gradients(fed *fedkit.Federation) error {
	job, err := trains(fed, 0)
	if err != nil {
		return err
	}
	job.Local = fedkit.Local{Steps: 1, Batch: fedkit.FullBatch, LR: 0.01}
	train := func(seed uint64) (*fedkit.Updates, error) { return fed.Train(context.Background(), job, seed) }
	batch, err := train(1)
	if err != nil {
		return err
	}
	job.Local.ClipExamples = 1e30
	if job.Local.Check(fed, 1) != nil { // no gradients of single examples
		return nil
	}
	one, err := train(1)
	if err != nil {
		return err
	}
	another, err := train(2)
	if err != nil {
		return err
	}
	if like("", another, one.Models) != nil { // it draws random numbers
		return nil
	}
	return like("is trained by the gradients of single examples", one, batch.Models)
}

// evaluates compares the outputs of two models for many examples with those of each for one.
func evaluates(fed *fedkit.Federation) error {
	models, err := fed.Models(2, 2)
	if err != nil {
		return err
	}
	rows := make([]int, min(300, fed.Data.Train.Len()))
	for i := range rows {
		rows[i] = i
	}
	both, err := fed.Predict(context.Background(), models, datasets.TrainPart, rows)
	for k := 0; k < 2 && err == nil; k++ {
		var one []fedkit.Predictions
		if one, err = fed.Predict(context.Background(), models.Take(k), datasets.TrainPart, rows[3:4]); err != nil {
			break
		}
		for c, want := range one[0].Outputs[0] {
			if got := both[k].Outputs[3][c]; !(math.Abs(float64(got-want)) <= 1e-4*(1+math.Abs(float64(want)))) {
				return fmt.Errorf("output %d of an example is %v from two models and %d examples at once, %v from one", c, got, len(rows), want)
			}
		}
	}
	return err
}

// descends takes steps down the loss of the largest client.
func descends(fed *fedkit.Federation) error {
	job, err := trains(fed, 0)
	if err != nil {
		return err
	}
	var losses []float64 // at the start, and mean over the steps from there at each rate
	for _, rate := range []float64{1e-30, 0.1, 0.01, 0.001} {
		job.Local = fedkit.Local{Steps: 30, Batch: fedkit.FullBatch, LR: rate}
		u, err := fed.Train(context.Background(), job, 1)
		if err != nil {
			continue // it diverges at this rate
		}
		losses = append(losses, float64(u.Results[0].Loss))
	}
	if len(losses) < 2 || !(slices.Min(losses[1:]) < losses[0]) {
		return fmt.Errorf("no rate lowers the loss: at first, and on average over 30 steps at each rate, it is %v", losses)
	}
	return nil
}
