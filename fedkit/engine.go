package fedkit

import (
	"context"
	"fmt"
)

// Engine runs local solves and evaluations. Jobs and results are plain values, so that an engine may run them in this
// process (the only one so far) or send them elsewhere.
type Engine interface {
	// Train solves the local problem of every client of the job. The result depends on the job, the seed and the round
	// alone, never on how many workers there are.
	Train(ctx context.Context, job Job, seed uint64, round int) (*Updates, error)
	// Mark judges models on examples.
	Mark(ctx context.Context, exam Exam) (*Marks, error)
}

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

// mu returns μ_i of the i-th client of the job.
func (j *Job) mu(i int) float64 {
	if j.Prox != nil {
		return j.Prox[i]
	}
	return j.Local.Prox
}

// Part names the training or the test part of a data set.
type Part int

// The parts of a data set.
const (
	TrainPart Part = iota
	TestPart
)

// Exam asks for the marks of models on examples.
type Exam struct {
	Models *Matrix // [k, d]
	Part   Part
	Rows   []int // examples
	Which  []int // by example, the model that is asked; nil: every model, every example
}

// Marks has an entry for each model asked ([k], or [1] if Exam.Which was given) and example.
type Marks struct {
	Loss, Score [][]float32
}

// score is the mean over the examples from, from+1, …, from+n−1.
func (m *Marks) score(model, from, n int) Score {
	loss, right := 0.0, 0.0
	for j := from; j < from+n; j++ {
		loss += float64(m.Loss[model][j])
		right += float64(m.Score[model][j])
	}
	return Score{Loss: Float(loss / float64(n)), Accuracy: Float(right / float64(n)), Examples: n}
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
	if err := j.Local.Check(); err != nil {
		return err
	}
	if j.Epochs != nil && len(j.Epochs) != n {
		return Invalid("len(Job.Epochs)", len(j.Epochs), fmt.Sprintf("%d, one a client", n))
	}
	for i, e := range j.Epochs {
		if e < 1 {
			return Invalid("Job.Epochs", e, fmt.Sprintf("at least 1 (client %d)", j.Clients[i]))
		}
	}
	if j.Prox != nil && len(j.Prox) != n {
		return Invalid("len(Job.Prox)", len(j.Prox), fmt.Sprintf("%d, one a client", n))
	}
	for i, mu := range j.Prox {
		if !(mu >= 0) {
			return Invalid("Job.Prox", mu, fmt.Sprintf("≥ 0 (client %d)", j.Clients[i]))
		}
	}
	for _, m := range []struct {
		name string
		*Matrix
	}{{"Start", j.Start}, {"ProxWeights", j.ProxWeights}, {"Anchor", j.Anchor}, {"Shift", j.Shift}, {"Mask", j.Mask}} {
		if m.Matrix == nil && m.name != "Start" {
			continue
		}
		if err := m.Err(); err != nil {
			return fmt.Errorf("job: %s: %w", m.name, err)
		}
		if m.Cols() != d || (m.Rows() != 1 && m.Rows() != n) {
			return Invalid("Job."+m.name, fmt.Sprintf("[%d, %d]", m.Rows(), m.Cols()), fmt.Sprintf("[1, %d] or [%d, %d]", d, n, d))
		}
	}
	return nil
}
