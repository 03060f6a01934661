package fedkit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/rows"
)

// Train runs the job's local training and returns the updates. A client whose update holds NaN or Inf is an error that
// names it, or is left out of the result, depending on Options.NotFinite.
func (r *Round) Train(job Job) (u *Updates) {
	if !r.in("train", func() (err error) {
		r.calls++
		r.most = max(r.most, job.MaxClients)
		if err = r.recall(&job); err != nil {
			return err
		}
		if u, err = r.timed(&job); err != nil {
			return err
		}
		if u, err = r.receive(job, u); err == nil {
			r.memorize(u)
		}
		return err
	}) {
		return r.noUpdates(job)
	}
	return u
}

// receive passes updates through the interceptors to the server, and records them.
func (r *Round) receive(job Job, u *Updates) (*Updates, error) {
	if !job.StayLocal && !r.quiet {
		if err := r.intercept(u, r.Fed.only(job.Communicated)); err != nil {
			return nil, err
		}
	}
	skipped := r.account(job, u)
	all := skipped == len(u.Results)
	if all && r.opts.NotFinite == Skip && r.flight != nil { // the buffer may hold a single result
		return nil, fmt.Errorf("%w: no update is finite", errNoClients)
	}
	if skipped > 0 && (all || r.opts.NotFinite != Skip) {
		first := u.Results[slices.IndexFunc(u.Results, func(s ClientResult) bool { return s.Skipped })]
		return nil, fmt.Errorf("client %d returned an update that is %w; lower Local.LR, or set Options.NotFinite to fedkit.Skip", first.Client, ErrNotFinite)
	}
	return u.without(skipped), nil
}

// noUpdates returns updates with the round's error.
func (r *Round) noUpdates(job Job) *Updates {
	bad := Failed(r.err)
	u := &Updates{Positions: sequence(len(job.Clients)), Models: bad, Local: bad, Start: bad}
	for _, c := range job.Clients {
		u.Results = append(u.Results, ClientResult{Round: r.T, Client: c})
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
		sent.Local = sent.Models
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
		u.Results[i].Drift = Float(drifts[i])
	}
	return err
}

// account adds the solves to the record, one row per client however often it trains, marks the updates that are not finite,
// and returns their number.
func (r *Round) account(job Job, u *Updates) (skipped int) {
	for i := range u.Results {
		if s := &u.Results[i]; math.IsNaN(float64(s.Drift)) || math.IsInf(float64(s.Drift), 0) {
			s.Skipped = true
			skipped++
		}
	}
	if !job.StayLocal && skipped < len(u.Results) {
		r.Fail(r.describe(job, u, skipped))
	}
	for i := range u.Results {
		if r.quiet { // training in Serve is part of an evaluation
			break
		}
		s := &u.Results[i]
		if row, again := r.rows[s.Client]; again {
			r.record.Results[row].Add(*s)
		} else {
			r.rows[s.Client] = len(r.record.Results)
			r.record.Results = append(r.record.Results, *s)
		}
	}
	down, up, err := job.traffic(r.Fed.Task)
	r.Fail(err)
	r.Traffic(float64(len(u.Results))*down, float64(len(u.Results))*up)
	r.sendBases(u.Clients(), down)
	return skipped
}

// describe sets the drifts and similarities, which depend on what is communicated.
func (r *Round) describe(job Job, u *Updates, skipped int) error {
	if job.Communicated != nil {
		if err := setDrifts(u, job.Communicated); err != nil {
			return err
		}
	}
	if !r.alike {
		return nil
	}
	kept := u.without(skipped)
	delta := kept.Delta()
	if job.Communicated != nil {
		delta = delta.Mul(job.Communicated)
	}
	similar, err := rows.Cosines(delta, delta.Mean(nil))
	at := 0
	for i := range u.Results {
		if err == nil && !u.Results[i].Skipped {
			u.Results[i].Similarity = Float(similar[at])
			at++
		}
	}
	return err
}

// Traffic adds to the round's bytes: models sent to clients, and models sent back; a part of a model is a fraction.
// They take no time on a simulated clock: see Send. Train and Losses count their own: see Job for what is counted, and how to override it.
func (r *Round) Traffic(down, up float64) {
	if r.quiet {
		return
	}
	model := float64(r.Fed.Task.Bytes())
	r.record.BytesDown += int64(math.Round(down * model))
	r.record.BytesUp += int64(math.Round(up * model))
}

// Train runs local training outside of any run, and returns the updates: to study clients before choosing an algorithm, such as by
// the distances of their updates. Batches are those of round 1 of a run with this seed. Interceptors are not applied.
//
//	u, err := fed.Train(ctx, fedkit.Job{Clients: []int{0, 1, 2}, Start: x, Local: local}, 0)
//	points, err := u.Delta().Points()
//
// Errors: a job that Round.Train refuses, NaN or Inf from a client.
func (f *Federation) Train(ctx context.Context, job Job, seed uint64) (u *Updates, err error) {
	err = f.alone(ctx, "train", seed, func(r *Round) { u = r.Train(job) })
	return u, err
}

// alone runs a step of a round outside of any run.
func (f *Federation) alone(ctx context.Context, what string, seed uint64, step func(r *Round)) (err error) {
	defer within("", &err)
	defer fault.Recovered(what, &err)
	if err := f.ready(ctx); err != nil {
		return err
	}
	r := &Round{T: 1, Fed: f, ctx: ctx, opts: Options{Rounds: 1, Seed: seed}, on: defaultDevice(), record: &Record{}, rows: map[int]int{}, past: newPast(f, nil, Keep{}), quiet: true}
	step(r)
	return r.err
}

// Models returns k freshly drawn models, [k, d], as Round.Models does in a run with this seed.
func (f *Federation) Models(k int, seed uint64) (m *Matrix, err error) {
	err = f.alone(context.Background(), "models", seed, func(r *Round) { m = r.Models(k) })
	return m, err
}

// Updates is the result of a job: a row for each of its clients, without skipped ones.
type Updates struct {
	Results   []ClientResult // [n]
	Positions []int          // position of each in the job's Clients, [n]
	Models    *Matrix        // w_i as received by the server, [n, d]
	Local     *Matrix        // w_i as trained by the clients, [n, d]: the same, unless there are interceptors
	Start     *Matrix        // initial models, [1, d] or [n, d]

	memory *Matrix // of the clients' optimizers, [n, slots·d], if it is kept
}

// Delta returns the updates Δ_i = w_i − the start of client i, [n, d].
func (u *Updates) Delta() *Matrix { return rows.Less(u.Models, u.Start) }

// Clients returns the client of each row, [n].
func (u *Updates) Clients() []int {
	clients := make([]int, len(u.Results))
	for i, s := range u.Results {
		clients[i] = s.Client
	}
	return clients
}

// Examples returns n_i, the usual weights of the rows, [n].
func (u *Updates) Examples() []float64 {
	n := make([]float64, len(u.Results))
	for i, s := range u.Results {
		n[i] = float64(s.Examples)
	}
	return n
}

// without returns the updates without skipped clients.
func (u *Updates) without(skipped int) *Updates {
	if skipped == 0 {
		return u
	}
	v := &Updates{Start: u.Start}
	var keep []int
	for i, s := range u.Results {
		if !s.Skipped {
			keep = append(keep, i)
			v.Results, v.Positions = append(v.Results, s), append(v.Positions, u.Positions[i])
		}
	}
	v.Models, v.Local = u.Models.Take(keep...), u.Local.Take(keep...)
	if u.memory != nil {
		v.memory = u.memory.Take(keep...)
	}
	if u.Start.Rows() > 1 {
		v.Start = u.Start.Take(keep...)
	}
	return v
}
