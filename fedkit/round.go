package fedkit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/memory"
	"fedkit.example/fedkit/internal/participation"
	"fedkit.example/fedkit/internal/task"
	"fedkit.example/fedkit/sim"
)

// Round is a strategy's interface to one round. Its methods remember the first error and then do nothing: a strategy may call
// them one after the other and return r.Err() at the end.
type Round struct {
	T   int         // the round's number, from 1; 0 in Start
	Fed *Federation // the clients, their data and the task; setting it is an error

	ctx          context.Context
	of           *Federation // what Fed must be; nil outside a run
	opts         Options
	on           engine.Device
	record       *Record
	rows         map[int]int // by client, its row in the record
	stage        string
	past         *participation.Log
	clock        *sim.Clock
	memories     *memories   // of the clients' optimizers, if they are kept
	bases        *bases      // who has the frozen parameters, if there are any
	chosen       []int       // by Select
	overSelected int         // number of over-selected clients among them
	busy         []bool      // by client, in flight in an asynchronous round
	begins       int         // dispatches in an asynchronous round
	began        map[int]int // by client, jobs begun in an asynchronous round
	flight       []*InFlight // of an asynchronous round
	calls        int         // of Train
	most         int         // the greatest MaxClients of its jobs
	alike        bool        // the selector uses ClientResult.Similarity
	quiet        bool        // an evaluation: communication is not counted
	serves       *Serving    // what was evaluated
	unseen       *Round      // in which the unseen clients were
	err          error
}

// Err returns the first error of the round.
func (r *Round) Err() error { return r.err }

// Fail makes err the round's error, unless it has one or err is nil.
func (r *Round) Fail(err error) {
	if r.err == nil && err != nil {
		r.err = err
		if r.stage != "" {
			r.err = fmt.Errorf("%s: %w", r.stage, err)
		}
	}
}

// in runs a step of the round, which errors then name, unless the round has failed, and reports whether the round goes on.
func (r *Round) in(stage string, do func() error) bool {
	before := r.stage
	defer func() { r.stage = before }()
	if r.enter(stage) {
		r.Fail(do())
	}
	return r.err == nil
}

func (r *Round) enter(stage string) bool {
	r.stage = stage
	r.checkFed()
	return r.err == nil
}

// checkFed refuses another federation than the run's: its identity, its record and its clock are of that one.
func (r *Round) checkFed() {
	if r.of != nil && r.Fed != r.of {
		r.Fail(Invalid("Round.Fed", "another federation", "the run's, which strategies do not set: other data need a run of their own"))
		r.Fed = r.of
	}
}

// Clients returns M, the number of clients in the federation.
func (r *Round) Clients() int { return r.Fed.Size() }

// AllClients returns all clients, 0, 1, …, M−1.
func (r *Round) AllClients() []int { return r.Fed.AllClients() }

// Rand returns the generator for a purpose in this round.
func (r *Round) Rand(purpose string) *rand.Rand { return Random(r.opts.Seed, purpose, r.T) }

// Note records one of the strategy's own figures in Record.Notes.
func (r *Round) Note(name string, value float64) {
	if r.record.Notes == nil {
		r.record.Notes = map[string]Float{}
	}
	r.record.Notes[name] = Float(value)
}

// Models returns k freshly drawn models, [k, d], the same for the same seed: every strategy with one model starts from the first.
func (r *Round) Models(k int) (m *Matrix) {
	if !r.in("models", func() error {
		d := r.Fed.Task.Dim()
		if k < 1 {
			return Invalid("k", k, "at least 1")
		}
		if err := memory.Fits("k", k, float64(k), 2*4*float64(k)*float64(d), fmt.Sprintf("%d models of %d parameters, on the host and on the device,", k, d)); err != nil {
			return err
		}
		w := make([]float32, 0, k*d)
		for j := range k {
			one, err := task.Start(r.Fed.Task, Random(r.opts.Seed, "model", j))
			if err != nil {
				return err
			}
			for i, v := range task.Thaw(r.Fed.Task) {
				if v == 0 && j > 0 {
					one[i] = w[i] // frozen
				}
			}
			w = append(w, one...)
		}
		m = NewMatrix(w, k, d)
		return m.Err()
	}) {
		return Failed(r.err)
	}
	return m
}

// Mask returns 1 for the parameters of the named layers and 0 for the others, [1, d]: see Task.Mask.
func (r *Round) Mask(layers ...string) *Matrix {
	mask, err := r.Fed.Task.Mask(layers...)
	if err != nil {
		r.Fail(err)
		return Failed(r.err)
	}
	return NewMatrix(mask, 1, len(mask))
}

// Select returns the round's cohort in ascending order: a fraction in (0, 1] of all clients (0 stands for all), chosen by the selector
// (nil: uniformly at random without replacement). On a federation with devices, Pace.OverSelection adds clients, up to the number of
// Candidates.
func (r *Round) Select(s Selector, fraction float64) (chosen []int) {
	r.in("select", func() (err error) {
		if !(fraction >= 0 && fraction <= 1) {
			return Invalid("fraction", fraction, "in (0, 1], a share of all clients, or 0 for all")
		}
		from := r.Candidates()
		n := min(cohortSize(fraction, r.Clients()), len(from))
		wanted := n
		if r.time() != nil {
			n = min(len(from), int(math.Ceil(float64(n)*(1+r.opts.Pace.OverSelection))))
		}
		chosen, err = r.choose(s, n, from, r.Rand("select"))
		r.chosen, r.overSelected = chosen, max(0, len(chosen)-wanted)
		return err
	})
	return chosen
}

// choose chooses n clients by a selector, uniformly at random if it is nil.
func (r *Round) choose(s Selector, n int, from []int, rng *rand.Rand) (chosen []int, err error) {
	switch {
	case s != nil:
		r.alike = r.alike || uses([]Selector{s}, SimilarityUser.UsesSimilarity)
		chosen = slices.Clone(s.Select(r, n))
	case n == len(from):
		chosen = from
	default:
		chosen = pick(from, rng.Perm(len(from))[:n])
	}
	slices.Sort(chosen)
	if len(chosen) == 0 {
		return nil, errors.New("the selector chose no client")
	}
	if m := r.Clients(); chosen[0] < 0 || chosen[len(chosen)-1] >= m || len(slices.Compact(slices.Clone(chosen))) < len(chosen) {
		return nil, Invalid("Selector", chosen, fmt.Sprintf("different clients in [0, %d)", m))
	}
	return chosen, nil
}

// uses reports whether a part of some values is one that does something.
func uses[T, V any](values []V, does func(part T) bool) (found bool) {
	for _, v := range values {
		_ = config.Walk(v, func(_ string, part any) error {
			p, ok := part.(T)
			found = found || ok && does(p)
			return nil
		})
	}
	return found
}

// Candidates returns the clients that can be chosen now, in ascending order: all, or those whose devices are on; in an
// asynchronous round, only idle ones. If no device is on and no client is training, the clock advances until one is.
func (r *Round) Candidates() (some []int) {
	if c := r.time(); c != nil && r.busy == nil {
		c.Await(nil)
	}
	return r.idle(r.busy)
}

// idle returns the clients that are not busy and whose devices are on now.
func (r *Round) idle(busy []bool) (some []int) {
	for i := range r.Clients() {
		if (busy == nil || !busy[i]) && (r.time() == nil || r.clock.On(i)) {
			some = append(some, i)
		}
	}
	return some
}

// SimilarityUser is a selector, or a part of one, that may use ClientResult.Similarity, which is computed only on demand.
type SimilarityUser interface {
	UsesSimilarity() bool // whether it does with its current options
}

// PastUser is a strategy, or a part of one, that may call Round.Past.
type PastUser interface {
	UsesPast() bool // whether it does with its current options
}

// newPast keeps all Results if the history does, or a PastUser needs them.
func newPast(fed *Federation, all []Strategy, k Keep) *participation.Log {
	return participation.New(fed.Size(), k.Results == 0 || uses(all, PastUser.UsesPast))
}

// Last returns a client's result in the latest earlier round in which it took part, zero if there is none, and the number of those
// rounds.
func (r *Round) Last(client int) (s ClientResult, rounds int) {
	return r.past.Last(client)
}

// Past returns a client's results in all earlier rounds, oldest first, as for a μ that adapts to clients. They must not be changed.
// To save memory, it is an error if Keep leaves out Results and no part of the strategy is a PastUser that UsesPast. Last always
// works.
func (r *Round) Past(client int) []ClientResult {
	if !r.past.Whole {
		r.Fail(Invalid("Options.Keep.Results", r.opts.Keep.Results, "left out for a strategy that calls Round.Past, or one of its parts must have UsesPast; Round.Last is always known"))
		return nil
	}
	return r.past.Results[client]
}

// Clusters returns the cluster of each client, [M], as last served (Serving.Clusters); nil if there are none, or none yet. It must
// not be changed.
func (r *Round) Clusters() []int { return r.past.Clusters }

// Points is Matrix.Points in a round. After an error it has no points.
func (r *Round) Points(m *Matrix) (p *cluster.Points) {
	if !r.in("points", func() error {
		return fault.Until(r.ctx, func() (err error) {
			p, err = m.Points()
			return err
		})
	}) {
		return new(cluster.Points)
	}
	return p
}

// Cluster clusters points with the round's randomness and returns the label of each, [n]. With k = 0, the clusterer chooses the
// number of clusters, or the greatest mean silhouette if the clusterer cannot.
func (r *Round) Cluster(by cluster.Clusterer, p *cluster.Points, k int) (labels []int) {
	if f, ok := by.(cluster.KSelector); k == 0 && !(ok && f.SelectsK()) {
		by = cluster.BestSilhouette{Of: by}
	}
	if !r.in("cluster", func() error {
		rng := r.Rand("cluster")
		return fault.Until(r.ctx, func() (err error) {
			labels, err = by.Cluster(p, k, rng)
			if err == nil && (len(labels) != p.Len() || slices.Min(labels) < 0 || k > 0 && slices.Max(labels) >= k) {
				err = Invalid("what the clusterer returned", labels, fmt.Sprintf("%d labels in [0, k)", p.Len()))
			}
			return err
		})
	}) {
		return make([]int, p.Len())
	}
	return labels
}
