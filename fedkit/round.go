package fedkit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/memory"
	"fedkit.example/fedkit/internal/rows"
)

// Round is a strategy's interface to one round. Its methods remember the first error and then do nothing: a strategy may call
// them one after the other and return r.Err() at the end.
type Round struct {
	T   int         // the round's number, from 1; 0 in Start
	Fed *Federation // the clients, their data and the task

	ctx          context.Context
	opts         Options
	on           engine.Device
	record       *Record
	rows         map[int]int // by client, its row in the record
	stage        string
	past         *past
	clock        *clock
	chosen       []int       // by Select
	overSelected int         // number of over-selected clients among them
	busy         []bool      // by client, in flight in an asynchronous round
	begins       int         // dispatches in an asynchronous round
	began        map[int]int // by client, jobs begun in an asynchronous round
	flight       []*Flight   // of an asynchronous round
	calls        int         // of Train
	alike        bool        // the selector uses Solve.Similarity
	quiet        bool        // an evaluation: communication is not counted
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

func (r *Round) enter(stage string) bool {
	r.stage = stage
	return r.err == nil
}

// restoreStage restores the previous stage: defer r.restoreStage(r.stage).
func (r *Round) restoreStage(stage string) { r.stage = stage }

// Clients returns M, the number of clients in the federation.
func (r *Round) Clients() int { return r.Fed.Size() }

// Everyone returns all clients, 0, 1, …, M−1.
func (r *Round) Everyone() []int { return sequence(r.Clients()) }

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
func (r *Round) Models(k int) *Matrix {
	defer r.restoreStage(r.stage)
	if !r.enter("models") {
		return Failed(r.err)
	}
	d := r.Fed.Task.Dim()
	if k < 1 {
		r.Fail(Invalid("k", k, "at least 1"))
		return Failed(r.err)
	}
	if err := memory.Fits("k", k, float64(k), 2*4*float64(k)*float64(d), fmt.Sprintf("%d models of %d parameters, on the host and on the device,", k, d)); err != nil {
		r.Fail(err)
		return Failed(r.err)
	}
	w := make([]float32, 0, k*d)
	for j := range k {
		one, err := r.Fed.Task.start(Random(r.opts.Seed, "model", j))
		if err != nil {
			r.Fail(err)
			return Failed(r.err)
		}
		w = append(w, one...)
	}
	m := NewMatrix(w, k, d)
	r.Fail(m.Err())
	return m
}

// Mask returns 1 for the parameters of the named layers and 0 for the others, [1, d]: see Task.Mask.
func (r *Round) Mask(layers ...string) *Matrix {
	mask, err := r.Fed.Task.Mask(layers...)
	if err != nil {
		r.Fail(err)
		return Failed(err)
	}
	return NewMatrix(mask, 1, len(mask))
}

// Select returns the round's cohort in ascending order: a fraction of all clients (0 stands for all), chosen by the selector (nil:
// uniformly at random without replacement). On a federation with devices, Pace.Over adds clients, up to the number of Candidates.
func (r *Round) Select(s Selector, fraction float64) []int {
	defer r.restoreStage(r.stage)
	if !r.enter("select") {
		return nil
	}
	from := r.Candidates()
	n := min(cohortSize(fraction, r.Clients()), len(from))
	wanted := n
	if r.devices() != nil {
		n = min(len(from), int(math.Ceil(float64(n)*(1+r.opts.Pace.Over))))
	}
	chosen := r.choose(s, n, from, r.Rand("select"))
	r.chosen, r.overSelected = chosen, max(0, len(chosen)-wanted)
	return chosen
}

// choose chooses n clients by a selector, uniformly at random if it is nil.
func (r *Round) choose(s Selector, n int, from []int, rng *rand.Rand) (chosen []int) {
	switch {
	case s != nil:
		_ = config.Walk(s, func(_ string, part any) error {
			if u, ok := part.(SimilarityUser); ok {
				r.alike = r.alike || u.UsesSimilarity()
			}
			return nil
		})
		chosen = slices.Clone(s.Select(r, n))
	case n == len(from):
		chosen = from
	default:
		chosen = pick(from, rng.Perm(len(from))[:n])
	}
	slices.Sort(chosen)
	if len(chosen) == 0 {
		r.Fail(errors.New("the selector chose no client"))
	}
	for i, c := range chosen {
		if m := r.Clients(); c < 0 || c >= m || (i > 0 && c == chosen[i-1]) {
			r.Fail(Invalid("Selector", chosen, fmt.Sprintf("different clients in [0, %d)", m)))
			return nil
		}
	}
	return chosen
}

// Train runs the job's local training and returns the updates. A client whose update holds NaN or Inf is an error that
// names it, or is left out of the result, depending on Options.NotFinite.
func (r *Round) Train(job Job) *Updates {
	defer r.restoreStage(r.stage)
	if !r.enter("train") {
		return r.noUpdates(job)
	}
	r.calls++
	u, err := r.timed(&job)
	if err != nil {
		r.Fail(err)
		return r.noUpdates(job)
	}
	return r.receive(job, u)
}

// receive passes updates through the interceptors to the server, and records them.
func (r *Round) receive(job Job, u *Updates) *Updates {
	if !job.Private && !r.quiet {
		if err := r.intercept(u, job.Shared); err != nil {
			r.Fail(err)
			return r.noUpdates(job)
		}
	}
	skipped := r.account(job, u)
	all := skipped == len(u.Solves)
	if all && r.opts.NotFinite == Skip && r.flight != nil { // the buffer may hold a single result
		r.Fail(fmt.Errorf("%w: no update is finite", errNoClients))
		return r.noUpdates(job)
	}
	if skipped > 0 && (all || r.opts.NotFinite != Skip) {
		first := u.Solves[slices.IndexFunc(u.Solves, func(s Solve) bool { return s.Skipped })]
		r.Fail(fmt.Errorf("client %d returned an update that is %w; lower Local.LR, or set Options.NotFinite to fedkit.Skip", first.Client, ErrNotFinite))
		return r.noUpdates(job)
	}
	return u.without(skipped)
}

func (r *Round) noUpdates(job Job) *Updates {
	bad := Failed(r.err)
	u := &Updates{At: sequence(len(job.Clients)), Models: bad, Trained: bad, Start: bad}
	for _, c := range job.Clients {
		u.Solves = append(u.Solves, Solve{Round: r.T, Client: c})
	}
	return u
}

// intercept passes the shared part of each model through the interceptors.
func (r *Round) intercept(u *Updates, shared *Matrix) error {
	if len(r.Fed.interceptors) == 0 {
		return nil
	}
	sent := *u
	if shared != nil { // the rest is not communicated
		sent.Models, sent.Start = u.Models.Mul(shared), u.Start.Mul(shared)
	}
	for i, by := range r.Fed.interceptors {
		sent.Trained = sent.Models
		sent.Models = by.Intercept(&sent, Random(r.opts.Seed, "intercept", r.T, r.calls, i))
		if m := sent.Models; m.Err() == nil && (m.Rows() != u.Models.Rows() || m.Cols() != u.Models.Cols()) {
			return Invalid("what "+by.String()+" returned", fmt.Sprintf("[%d, %d]", m.Rows(), m.Cols()), fmt.Sprintf("[%d, %d]", u.Models.Rows(), u.Models.Cols()))
		}
	}
	if shared != nil {
		sent.Models = sent.Models.Blend(u.Models, shared)
	}
	u.Models = sent.Models
	return setDrifts(u, nil)
}

// setDrifts sets the drifts over the shared parameters, all if shared is nil.
func setDrifts(u *Updates, shared *Matrix) error {
	delta := u.Delta()
	if shared != nil {
		delta = delta.Mul(shared)
	}
	drifts, err := delta.Norms()
	for i := range drifts {
		u.Solves[i].Drift = Float(drifts[i])
	}
	return err
}

// account adds the solves to the record, one row per client however often it trains, marks the updates that are not finite,
// and returns their number.
func (r *Round) account(job Job, u *Updates) (skipped int) {
	for i := range u.Solves {
		if s := &u.Solves[i]; math.IsNaN(float64(s.Drift)) || math.IsInf(float64(s.Drift), 0) {
			s.Skipped = true
			skipped++
		}
	}
	if !job.Private && skipped < len(u.Solves) {
		r.Fail(r.describe(job, u, skipped))
	}
	for i := range u.Solves {
		if r.quiet { // training in Serve is part of an evaluation
			break
		}
		s := &u.Solves[i]
		if row, again := r.rows[s.Client]; again {
			r.record.Solves[row].Add(*s)
		} else {
			r.rows[s.Client] = len(r.record.Solves)
			r.record.Solves = append(r.record.Solves, *s)
		}
	}
	down, up, err := job.traffic(r.Fed.Task.Dim())
	r.Fail(err)
	r.Traffic(float64(len(u.Solves))*down, float64(len(u.Solves))*up)
	return skipped
}

// describe sets the drifts and similarities, which depend on what is communicated.
func (r *Round) describe(job Job, u *Updates, skipped int) error {
	if job.Shared != nil {
		if err := setDrifts(u, job.Shared); err != nil {
			return err
		}
	}
	if !r.alike {
		return nil
	}
	kept := u.without(skipped)
	delta := kept.Delta()
	if job.Shared != nil {
		delta = delta.Mul(job.Shared)
	}
	similar, err := rows.Cosines(delta, delta.Mean(nil))
	at := 0
	for i := range u.Solves {
		if err == nil && !u.Solves[i].Skipped {
			u.Solves[i].Similarity = Float(similar[at])
			at++
		}
	}
	return err
}

// Traffic adds to the round's bytes: models sent to clients, and models sent back; a part of a model is a fraction.
// Train and Losses count their own: see Job for what is counted, and how to override it.
func (r *Round) Traffic(down, up float64) {
	if r.quiet {
		return
	}
	model := float64(4 * r.Fed.Task.Dim())
	r.record.BytesDown += int64(math.Round(down * model))
	r.record.BytesUp += int64(math.Round(up * model))
}
