package fedkit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit/internal/engine"
	"github.com/gomlx/gomlx/core/tensors"
)

// Job is what the clients of a round are asked to do: start somewhere, and solve
//
//	w ← w − η · m ⊙ ( ∇f_i(w; batch) + μ_i p ⊙ (w − a) + s )
//
// Matrices have one row for everyone, [1, d], or one for each client of the job, [n, d].
type Job struct {
	Clients []int // S
	Local   Local
	Start   *Matrix // what each client starts from

	Epochs      []int     // E_i by client of the job, instead of Local.Epochs
	Prox        []float64 // μ_i by client of the job, instead of Local.Prox
	ProxWeights *Matrix   // p; nil: 1 for every parameter
	Anchor      *Matrix   // a; nil: Start
	Shift       *Matrix   // s; nil: 0
	Mask        *Matrix   // m; nil: 1 for every parameter
}

// mu returns μ_i of the clients of the job; nil if the objective has no proximal term.
func (j *Job) mu() []float64 {
	if j.Prox == nil && j.Local.Prox > 0 {
		return slices.Repeat([]float64{j.Local.Prox}, len(j.Clients))
	}
	return j.Prox
}

// solve lets the engine solve the job in a round.
func (j *Job) solve(ctx context.Context, fed *Federation, seed uint64, round, workers int) (*Updates, error) {
	if err := j.check(fed); err != nil {
		return nil, err
	}
	e, err := fed.engine()
	if err != nil {
		return nil, err
	}
	l, mu := j.Local.WithDefaults(), j.mu()
	onDevice := func(m *Matrix) (t *tensors.Tensor) {
		if m != nil && err == nil {
			t, err = m.tensor()
		}
		return t
	}
	work := &engine.Job{
		Clients: j.Clients, Batch: l.Batch, Epochs: l.Epochs, EpochsOf: j.Epochs, Steps: l.Steps, Rate: l.LR, Optimizer: l.Optimizer, Prox: mu,
		Start: onDevice(j.Start), ProxWeights: onDevice(j.ProxWeights), Anchor: onDevice(j.Anchor), Shift: onDevice(j.Shift), Mask: onDevice(j.Mask),
		Order: func(client, epoch int) *rand.Rand { return Random(seed, "batches", round, client, epoch) },
	}
	if err != nil {
		return nil, err
	}
	out, err := e.Solve(ctx, work, workers)
	if err != nil {
		return nil, err
	}
	u := &Updates{Solves: make([]Solve, len(j.Clients)), At: sequence(len(j.Clients)), Start: j.Start, Models: fromPieces(out.Models, out.Place)}
	for i, c := range j.Clients {
		u.Solves[i] = Solve{Round: round, Client: c, Examples: len(fed.Clients[c].Train), Steps: out.Steps[i], Loss: Float(out.Loss[i]), Drift: Float(out.Drift[i])}
		if mu != nil {
			u.Solves[i].Mu = Float(mu[i])
		}
	}
	return u, nil
}

// check refuses a job that the engine could not run.
func (j *Job) check(f *Federation) error {
	n, d := len(j.Clients), f.Task.Dim()
	if n == 0 {
		return Invalid("Job.Clients", "[]", "at least one client")
	}
	for _, c := range j.Clients {
		if c < 0 || c >= len(f.Clients) {
			return Invalid("Job.Clients", c, fmt.Sprintf("in [0, %d)", len(f.Clients)))
		}
	}
	if err := check("Local", j.Local, f, n); err != nil {
		return err
	}
	if j.Epochs != nil && len(j.Epochs) != n {
		return Invalid("len(Job.Epochs)", len(j.Epochs), fmt.Sprintf("%d, one per client", n))
	}
	for i, e := range j.Epochs {
		if e < 1 {
			return Invalid("Job.Epochs", e, fmt.Sprintf("at least 1 (client %d)", j.Clients[i]))
		}
	}
	if j.Prox != nil && len(j.Prox) != n {
		return Invalid("len(Job.Prox)", len(j.Prox), fmt.Sprintf("%d, one per client", n))
	}
	for i, mu := range j.Prox {
		if !(mu >= 0) {
			return Invalid("Job.Prox", mu, fmt.Sprintf("≥ 0 (client %d)", j.Clients[i]))
		}
	}
	if err := j.fits(f); err != nil {
		return err
	}
	for _, m := range []struct {
		field string
		*Matrix
	}{{"Start", j.Start}, {"ProxWeights", j.ProxWeights}, {"Anchor", j.Anchor}, {"Shift", j.Shift}, {"Mask", j.Mask}} {
		if m.Matrix == nil && m.field != "Start" {
			continue
		}
		if err := m.Err(); err != nil {
			return fmt.Errorf("job: %s: %w", m.field, err)
		}
		if m.Cols() != d || (m.Rows() != 1 && m.Rows() != n) {
			return Invalid("Job."+m.field, fmt.Sprintf("[%d, %d]", m.Rows(), m.Cols()), fmt.Sprintf("[1, %d] or [%d, %d]", d, n, d))
		}
	}
	return nil
}
