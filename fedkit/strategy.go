package fedkit

import "fedkit.example/fedkit/internal/task"

// Strategy is a federated algorithm. It owns nothing but the algorithm: the loop over rounds, batches, randomness,
// evaluation, histories and progress are Run's.
//
// Two field names are special to Run. What must outlive a round belongs in one exported field named State, which is saved and
// loaded. A float64 field Fraction is the participation rate; 0 stands for all clients. All other fields are options: they are
// checked before anything runs (see Checker), and kept in the History. What runs is a copy, in which those that are 0 have the defaults
// in their tags, so that a method just reads s.Mu; a strategy that another one makes for itself gets its own from Defaults. After the
// start and every round, the strategy that was passed to Run has the copy's State, and no other change.
//
// A run with Options.Checkpoint saves State with encoding/gob, and refuses what would be lost: a State with unexported
// fields, functions, channels or interfaces at any depth, or cycles. A Matrix is saved, and so is any type with a
// MarshalBinary or GobEncode method. A run with a deadline, or on devices that drop out, restores State after a round without
// clients, and refuses unexported fields and cycles, too. A stateless strategy declares State struct{}.
//
// Unexported fields are options too, except tagged ones, which hold values computed from the others and are not saved:
//
//	mask []float32 `config:"-"` // made by the first round
//
// A strategy may wrap another one: it holds it in an exported field (or embeds it) and returns it from a method
// Unwrap() Strategy. The State of both is saved, Fraction is the inner strategy's unless the wrapper has its own, and the
// history is named after the innermost strategy. The options of both are checked and kept.
type Strategy interface {
	// Start initializes State before the first round.
	Start(r *Round) error
	// Round runs one round: choose clients, train them, mix their models.
	Round(r *Round) error
	// Serve returns which model each client would use now.
	Serve(r *Round) Serving
}

// Selector chooses the clients of a round.
type Selector interface {
	// Select returns n different clients.
	Select(r *Round, n int) []int
}

// SelectorFunc adapts a function to Selector.
type SelectorFunc func(r *Round, n int) []int

// Select calls f.
func (f SelectorFunc) Select(r *Round, n int) []int { return f(r, n) }

// Aggregator reduces the clients' rows to one: the mean, the median, …
type Aggregator interface {
	// Aggregate returns [1, d] from the clients' rows u [n, d] and weights [n] (usually their numbers of examples).
	Aggregate(u *Matrix, weights []float64) *Matrix
}

// AggregatorFunc adapts a function to Aggregator.
type AggregatorFunc func(u *Matrix, weights []float64) *Matrix

// Aggregate calls f.
func (f AggregatorFunc) Aggregate(u *Matrix, weights []float64) *Matrix { return f(u, weights) }

// ServerOptimizer treats the averaged update Δ as a negative gradient and turns it into a step of the global model,
// x ← x + step: plain, with momentum, or adaptive. Strategies call it by Round.ServerStep.
type ServerOptimizer interface {
	// Step returns the step [1, d] of round t (from 1) for Δ [1, d], and the optimizer's next memory; memory is that of the
	// previous round, nil in the first.
	Step(delta *Matrix, memory []*Matrix, t int) (step *Matrix, after []*Matrix)
}

// ServerStep returns a server optimizer's step [1, d] of this round for Δ [1, d], and its next memory. Running values (see Param), such as
// those of model.BatchNorm, are averaged and not optimized: their step is Δ, which leads to the mean of the clients'.
func (r *Round) ServerStep(o ServerOptimizer, delta *Matrix, memory []*Matrix) (step *Matrix, after []*Matrix) {
	step, after = o.Step(delta, memory, r.T)
	if running := task.RunningMask(r.Fed.Task); running != nil {
		step = delta.Blend(step, NewMatrix(running, 1, len(running)))
	}
	return step, after
}
