package fedkit

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/fedtest/expect"
)

// A job with Rows is that of clients that have no others, to the byte: their updates, weights, steps and what they take per example.
func TestJobRows(t *testing.T) {
	sizes := []int{9, 20, 4, 33}
	all := expect.Value(countable(counting(nil), sizes...))(t)
	job := Job{Clients: []int{3, 1, 0}, Start: NewMatrix([]float32{1, 10, 20, 1}, 1, 4), Local: Local{Epochs: 2, Batch: 4, LR: 0.1}}
	var fewer partition.Given
	for _, c := range all.Clients {
		c.Train = c.Train[1 : len(c.Train)-1]
		fewer = append(fewer, c)
	}
	alone := expect.Value(New(all.Data, fewer, counting(nil)))(t)
	for _, c := range job.Clients {
		job.Rows = append(job.Rows, alone.Clients[c].Train)
	}
	same := func(of, by Job) {
		t.Helper()
		got, want := expect.Value(all.Train(context.Background(), of, 1))(t), expect.Value(alone.Train(context.Background(), by, 1))(t)
		expect.That(t, reflect.DeepEqual(got.Results, want.Results), "results %+v, want %+v", got.Results, want.Results)
		expect.That(t, slices.Equal(expect.Value(got.Models.Host())(t), expect.Value(want.Models.Host())(t)), "other models")
	}
	plain := job
	plain.Rows = nil
	same(job, plain)
	for _, c := range job.Clients {
		w := make([]float32, sizes[c]-2)
		for k := range w {
			w[k] = float32(1+k) / 10
		}
		job.Weights, plain.Weights = append(job.Weights, w), append(plain.Weights, w)
	}
	same(job, plain)
	job.Local.Batch, plain.Local.Batch = FullBatch, FullBatch
	u, v := expect.Value(all.Train(context.Background(), job, 1))(t), expect.Value(alone.Train(context.Background(), plain, 1))(t)
	got, want := expect.Value(u.Models.Host())(t), expect.Value(v.Models.Host())(t)
	for i := range got { // whose batches have more padding, so that rounding differs
		expect.That(t, math.Abs(float64(got[i]-want[i])) < 1e-4, "full batches: parameter %d is %v, want %v", i, got[i], want[i])
	}
}

// Rows that a client does not have, or twice, or none, are refused.
func TestJobRowsRefused(t *testing.T) {
	fed := expect.Value(countable(counting(nil), 3, 3))(t)
	for want, of := range map[string][][]int{
		"len(Job.Rows) = 1: must be 2, one list per client":                                     {{0}},
		"Job.Rows[1] = 2: must be one of the 3 training rows of client 1, at most once":         {{0}, {2}},
		"Job.Rows[0] = 0: must be one of the 3 training rows of client 0, at most once":         {{0, 0}, {3}},
		"Job.Rows[0] = -1: must be one of the 3 training rows of client 0, at most once":        {{-1}, {3}},
		"Job.Rows[1] = []: must be at least one row: leave a client without any out of Job.Cli": {{0}, nil},
	} {
		_, err := fed.Train(context.Background(), Job{Clients: []int{0, 1}, Start: Zeros(1, 4), Local: Local{LR: 1}, Rows: of}, 0)
		expect.Invalid(t, want)(err)
	}
}
