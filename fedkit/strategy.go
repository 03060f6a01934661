package fedkit

import (
	"math"
	"reflect"
	"strings"
)

// Strategy is a federated algorithm. It owns nothing but the algorithm: the loop over rounds, batches, randomness,
// evaluation, histories and progress are Run's.
//
// What must outlive a round is kept in one exported field named State, so that it can be saved and loaded.
type Strategy interface {
	// Start sets State up before the first round.
	Start(r *Round) error
	// Round runs one round: choose clients, let them train, mix what comes back.
	Round(r *Round) error
	// Serve says which model each client would use now.
	Serve(r *Round) Serving
}

// Checker is a strategy or part whose options can be wrong; Check is called before anything runs.
type Checker interface {
	Check() error
}

// FederationChecker is a strategy, or a part in one of its fields, whose options can be wrong for a federation: a head that
// names no layer of its model, more attackers than its cohort allows. CheckFor is called after Check, before anything runs.
type FederationChecker interface {
	CheckFor(fed *Federation) error
}

// CohortChecker is an aggregator that needs a certain number of clients in a round.
type CohortChecker interface {
	CheckCohort(n int) error
}

// Selector chooses the clients of a round.
type Selector interface {
	// Select returns n different clients.
	Select(r *Round, n int) []int
}

// SelectorFunc lets a function be a Selector.
type SelectorFunc func(r *Round, n int) []int

// Select calls f.
func (f SelectorFunc) Select(r *Round, n int) []int { return f(r, n) }

// Aggregator turns the rows that came back into one: the mean, the median, …
type Aggregator interface {
	// Aggregate returns [1, d] from the clients' rows u [n, d] and weights [n] (usually their numbers of examples).
	Aggregate(u *Matrix, weights []float64) *Matrix
}

// AggregatorFunc lets a function be an Aggregator.
type AggregatorFunc func(u *Matrix, weights []float64) *Matrix

// Aggregate calls f.
func (f AggregatorFunc) Aggregate(u *Matrix, weights []float64) *Matrix { return f(u, weights) }

// ServerOptimizer treats the averaged update Δ as a negative gradient and turns it into a step of the global model,
// x ← x + step: plain, with momentum, or adaptive.
type ServerOptimizer interface {
	// Step returns the step [1, d] of round t (from 1) for Δ [1, d], and what the optimiser remembers after it; memory is
	// what it remembered before, nil in the first round.
	Step(delta *Matrix, memory []*Matrix, t int) (step *Matrix, after []*Matrix)
}

// CheckFraction is the check of the usual Fraction option, the share of clients in a round: in [0, 1], where 0 stands
// for all of them.
func CheckFraction(fraction float64) error {
	if !(fraction >= 0 && fraction <= 1) {
		return Invalid("Fraction", fraction, "in (0, 1], or 0 for every client")
	}
	return nil
}

// Cohort returns how many of m clients a fraction stands for: the nearest number, at least one; 0 stands for all.
func Cohort(fraction float64, m int) int {
	if fraction == 0 {
		return m
	}
	return max(1, int(math.Round(fraction*float64(m))))
}

// nameOf is a strategy's type name without its package: "FedAvg".
func nameOf(s Strategy) string {
	if n, ok := s.(interface{ Name() string }); ok {
		return n.Name()
	}
	t := reflect.TypeOf(s)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name, _, _ := strings.Cut(t.Name(), "[")
	return name
}
