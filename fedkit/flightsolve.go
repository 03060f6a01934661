package fedkit

import (
	"slices"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/rows"
	"golang.org/x/sync/errgroup"
)

// compute solves pending work in order of arrival.
func (r *Round) compute(f *Flight, a Async) error {
	e, err := r.Fed.engine()
	if err != nil {
		return err
	}
	var at []int // in f.Work
	for i, w := range f.Work {
		if w.Model == nil && !w.Lost {
			at = append(at, i)
		}
	}
	slices.SortFunc(at, func(i, j int) int { return f.Work[i].event().Compare(f.Work[j].event()) })
	lanes, err := a.lanes(r.Fed, e)
	if err != nil {
		return err
	}
	parts := slices.Collect(slices.Chunk(at[:solvedNow(len(at), lanes, a.AtWork)], lanes))
	group := new(errgroup.Group)
	group.SetLimit(r.on.AtOnce())
	for _, part := range parts {
		group.Go(func() error { return r.solveWork(f, a.Job, e, part, lanes) })
	}
	return group.Wait()
}

// solvedNow returns how many of n pending jobs to solve now: enough to fill a power of two of programs, so that workers get equal
// shares, but not all, since the rest fills later programs.
func solvedNow(n, lanes, atWork int) int {
	if n < lanes {
		return n
	}
	programs := 1
	for 2*programs*lanes <= min(n, atWork/2) {
		programs *= 2
	}
	return programs * lanes
}

// lanes returns how many jobs one program solves side by side: at most half of AtWork, since jobs that begin meanwhile are often
// the next to arrive.
func (a *Async) lanes(fed *Federation, e *engine.Engine) (int, error) {
	job := a.Job
	if a.Steps != nil { // the program takes a step count per client
		job.Steps = []int{1}
	}
	work, err := job.forEngine(fed, nil, nil)
	if err != nil {
		return 0, err
	}
	return min(e.Lanes(work), max(1, a.AtWork/2)), nil
}

// solveWork solves jobs, each from the model of the round in which it began and with that round's randomness.
func (r *Round) solveWork(f *Flight, job Job, e *engine.Engine, at []int, lanes int) error {
	starts, rates, draw := make([]*Matrix, 0, lanes), []float64(nil), map[int]draws{}
	job.Clients, job.Steps = nil, nil
	for _, i := range at {
		w := &f.Work[i]
		job.Clients, starts = append(job.Clients, w.Client), append(starts, f.version(w.Round))
		rate, err := (&Job{Clients: []int{w.Client}, Local: job.Local}).rates(w.Round)
		if err != nil {
			return err
		}
		rates = append(rates, rate...)
		if w.Steps > 0 {
			job.Steps = append(job.Steps, w.Steps)
		}
	}
	for i, number := range r.Fed.numbers(job.Clients) {
		draw[number] = draws{r.opts.Seed, f.Work[at[i]].Round, f.Work[at[i]].Call}
	}
	for len(starts) < lanes { // padding, so that the program is the same
		job.Clients, starts, rates = append(job.Clients, job.Clients[0]), append(starts, starts[0]), append(rates, rates[0])
		if job.Steps != nil {
			job.Steps = append(job.Steps, job.Steps[0])
		}
	}
	job.Start = nil
	work, err := job.forEngine(r.Fed, rates, func(client int) draws { return draw[client] })
	if err != nil {
		return err
	}
	for _, m := range starts {
		t, err := rows.Tensor(m)
		if err != nil {
			return err
		}
		work.Starts = append(work.Starts, t)
	}
	work.Only = sequence(len(at))
	out, err := e.Solve(r.ctx, work, r.on)
	if err != nil {
		return err
	}
	for i, s := range job.solves(r.Fed, 0, rates, out)[:len(at)] {
		w := &f.Work[at[i]]
		w.Model, w.Steps, w.Loss, w.Drift, w.LR, w.Mu = rows.FromValue(out.Models[out.Place[i]]), s.Steps, float64(s.Loss), float64(s.Drift), float64(s.LR), float64(s.Mu)
		if err := w.Model.Err(); err != nil {
			return err
		}
	}
	return nil
}
