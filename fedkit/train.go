package fedkit

import (
	"context"
	"fmt"

	"fedkit.example/fedkit/internal/fault"
)

// Train runs local training outside of any run, and returns the updates: to study clients before choosing an algorithm, such as by
// the distances of their updates. Batches are those of round 1 of a run with this seed. Interceptors are not applied.
//
//	u, err := fed.Train(ctx, fedkit.Job{Clients: []int{0, 1, 2}, Start: x, Local: local}, 0)
//	points, err := u.Delta().Points()
//
// Errors: a job that Round.Train refuses, NaN or Inf from a client.
func (f *Federation) Train(ctx context.Context, job Job, seed uint64) (u *Updates, err error) {
	defer fault.Recovered("train", &err)
	if ctx == nil {
		return nil, fmt.Errorf("fedkit: %w", Invalid("ctx", "nil", "a context, such as context.Background()"))
	}
	if err := f.made(); err != nil {
		return nil, fmt.Errorf("fedkit: %w", err)
	}
	r := &Round{T: 1, Fed: f, ctx: ctx, opts: Options{Rounds: 1, Seed: seed}, on: defaultDevice(), record: &Record{}, rows: map[int]int{}, past: newPast(f, nil, Keep{}), quiet: true}
	if u = r.Train(job); r.err != nil {
		return nil, fmt.Errorf("fedkit: %w", r.err)
	}
	return u, nil
}

// Models returns k freshly drawn models, [k, d], as Round.Models does in a run with this seed.
func (f *Federation) Models(k int, seed uint64) (m *Matrix, err error) {
	defer fault.Recovered("models", &err)
	if err := f.made(); err != nil {
		return nil, fmt.Errorf("fedkit: %w", err)
	}
	r := &Round{Fed: f, opts: Options{Seed: seed}}
	if m = r.Models(k); r.err != nil {
		return nil, fmt.Errorf("fedkit: %w", r.err)
	}
	return m, nil
}
