package fedkit

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/flight"
	"fedkit.example/fedkit/internal/random"
	"fedkit.example/fedkit/internal/rows"
	"fedkit.example/fedkit/sim"
	"golang.org/x/sync/errgroup"
)

// Async is an asynchronous round with a buffer: clients train on models of different staleness, and the round ends as soon as the
// buffer is full.
//
//	u := r.TrainAsync(&s.State.InFlight, fedkit.Async{Concurrency: 100, BufferSize: 10, Job: fedkit.Job{Start: s.State.X, Local: s.Local}})
type Async struct {
	Concurrency int      // most clients training at a time
	BufferSize  int      `default:"1"` // results per round
	Selector    Selector // chooses among the idle clients whose devices are on; nil: uniformly at random
	// Steps returns the local steps of a client that begins now; nil: those of the Job.
	Steps func(client int, rng *rand.Rand) int
	// Job is the job of each client that begins now: Start, one row; Local and Objective, the same in all rounds; Communicated, Down
	// and Up.
	Job Job
}

// TrainAsync starts clients and collects results until BufferSize have arrived. It returns them in the order of arrival; ties go
// to the work that began in the earlier round, then to the lower client. ClientResult.Staleness is the number of rounds that
// began since.
//
// A client that begins receives the job's current Start. A client whose result arrives, or that drops out, is replaced at once;
// those still missing when the round ends begin with the next, from its model. Results are computed as late as possible, many
// side by side.
func (r *Round) TrainAsync(f *InFlight, a Async) (u *Updates) {
	if !r.in("arrive", func() (err error) {
		u, err = (&arrival{Round: r, f: f, a: Defaults(a)}).collect()
		return err
	}) {
		return r.noUpdates(a.Job)
	}
	return u
}

// arrival is a call of TrainAsync.
type arrival struct {
	*Round
	f *InFlight
	a Async
}

// collect starts clients and collects results until the buffer is full.
func (r *arrival) collect() (*Updates, error) {
	f := r.f
	if err := r.check(); err != nil {
		return nil, err
	}
	if err := r.addVersion(); err != nil {
		return nil, err
	}
	var in []flight.Job
	for len(in) < r.a.BufferSize {
		if err := r.dispatch(in); err != nil {
			return nil, err
		}
		at := f.Next()
		w := &f.Jobs[at]
		r.clock.Now = max(r.clock.Now, w.Arrived)
		if !w.Lost && w.Model == nil {
			if err := r.compute(); err != nil {
				return nil, err
			}
		}
		if w.Lost {
			r.absent(sim.Times{Client: w.Client, Begin: w.Begin, Arrived: w.Arrived, Lost: true})
		} else {
			in = append(in, *w)
		}
		f.Jobs = slices.Delete(f.Jobs, at, at+1)
	}
	return r.updates(in)
}

// check refuses what cannot be trained, and fields that cannot differ between rounds: of earlier rounds, only Start and Local are kept.
func (r *arrival) check() error {
	a := &r.a
	switch m := r.Clients(); {
	case r.quiet:
		return Invalid("Round.TrainAsync", "called in an evaluation", "called in Round: nobody works in Serve or ServeUnseen")
	case a.Concurrency < 1 || a.Concurrency > m:
		return Invalid("Async.Concurrency", a.Concurrency, fmt.Sprintf("in [1, %d], the number of clients", m))
	case a.BufferSize < 1 || a.BufferSize > a.Concurrency:
		return Invalid("Async.BufferSize", a.BufferSize, fmt.Sprintf("in [1, %d], the clients at work", a.Concurrency))
	case a.Job.Start.Rows() != 1:
		return Invalid("Async.Job.Start", fmt.Sprintf("%d rows", a.Job.Start.Rows()), "one model for everyone who begins")
	}
	for _, field := range a.Job.fields(r.Fed, 1) {
		if field.once {
			return Invalid("Async.Job."+field.name, "set", "empty: clients that began in earlier rounds differ in Start only")
		}
	}
	if err := a.Job.Local.refusedIn(asynchronous, "Async.Job.Local"); err != nil {
		return err
	}
	all := a.Job
	all.Clients = []int{0}
	return all.check(r.Fed, 1)
}

// addVersion makes the job's Start the model that work beginning in this round starts from.
func (r *arrival) addVersion() error {
	f, x := r.f, r.a.Job.Start
	if r.began == nil {
		r.began = map[int]int{}
	}
	if n := len(f.Versions); n > 0 && f.Versions[n-1].Round == r.T { // a second TrainAsync in the round
		if f.Versions[n-1].X != x {
			return Invalid("Async.Job.Start", "another model", "that of the first TrainAsync in this round")
		}
		return nil
	}
	r.flight = append(r.flight, f)
	f.Versions = append(f.Versions, flight.Version{Round: r.T, X: x})
	return nil
}

// dispatch starts idle clients until Concurrency are training. A client whose result has just arrived waits for the next model.
func (r *arrival) dispatch(in []flight.Job) error {
	f, job := r.f, r.a.Job
	busy := make([]bool, r.Clients())
	for _, w := range append(slices.Clone(f.Jobs), in...) {
		busy[w.Client] = true
	}
	if len(f.Jobs) == 0 { // nothing happens until a device is on
		r.clock.Await(busy)
	}
	idle := r.idle(busy)
	n := min(r.a.Concurrency-len(f.Jobs), len(idle))
	if n < 1 {
		return nil
	}
	rng := r.Rand("select")
	if r.begins++; r.begins > 1 {
		rng = Random(r.opts.Seed, "select", r.T, r.begins)
	}
	r.busy = busy
	var err error
	job.Clients, err = r.choose(r.a.Selector, n, idle, rng)
	r.busy = nil
	for _, c := range job.Clients {
		if busy[c] {
			return Invalid("Selector", job.Clients, "idle clients: see Round.Candidates")
		}
	}
	if err = cmp.Or(r.err, err); err != nil {
		return err
	}
	return r.begin(job)
}

// begin starts the clients of the job.
func (r *arrival) begin(job Job) error {
	down, up, err := job.traffic(r.Fed.Task)
	local := job.Local.WithDefaults()
	for _, c := range job.Clients {
		r.began[c]++
		call := r.began[c]
		one, steps := job, 0
		one.Clients = []int{c}
		if r.a.Steps != nil {
			if steps = r.a.Steps(c, Random(r.opts.Seed, "steps", r.T, c, call)); steps < 1 {
				return Invalid("Async.Steps", steps, fmt.Sprintf("at least 1 (client %d)", c))
			}
			if err := r.Fed.fitsSteps("Async.Steps", steps, float64(steps), local, 1); err != nil {
				return err
			}
			one.Steps = []int{steps}
		}
		t := r.timesOf(&one, c, one.steps(r.Fed)[0], down, up, call)
		if !(t.Arrived <= math.MaxFloat64) {
			return Invalid("Federation.Devices", fmt.Sprintf("one with which client %d is done at %v s", c, t.Arrived), "faster")
		}
		r.f.Jobs = append(r.f.Jobs, flight.Job{Client: c, Number: r.f.Begun, Round: r.T, Call: call, Steps: steps,
			Begin: t.Begin, Received: t.Received, Finished: t.Trained, Arrived: t.Arrived, Lost: t.Lost})
		r.f.Begun++
	}
	r.Traffic(float64(len(job.Clients))*down, 0)
	r.sendBases(job.Clients, down)
	return err
}

// updates returns the results that arrived, and drops model versions that no work started from.
func (r *arrival) updates(in []flight.Job) (*Updates, error) {
	f, u := r.f, &Updates{Positions: sequence(len(in))}
	var models, starts []*Matrix
	for _, w := range in {
		models, starts = append(models, w.Model), append(starts, f.Start(w.Round))
		u.Results = append(u.Results, ClientResult{Round: r.T, Client: w.Client, Examples: len(r.Fed.Clients[w.Client].Train), Steps: w.Steps, Loss: Float(w.Loss),
			Drift: Float(w.Drift), LR: Float(w.LR), Mu: Float(w.Mu), Staleness: r.T - w.Round})
		if r.time() != nil {
			s := &u.Results[len(u.Results)-1]
			s.Begin, s.Received, s.Finished, s.Arrived = Float(w.Begin), Float(w.Received), Float(w.Finished), Float(w.Arrived)
		}
	}
	u.Models, u.Start = rows.FromRows(models), rows.FromRows(starts)
	u.Local = u.Models
	f.Versions = slices.DeleteFunc(f.Versions, func(v flight.Version) bool {
		return v.Round != r.T && !slices.ContainsFunc(f.Jobs, func(w flight.Job) bool { return w.Round == v.Round })
	})
	if len(f.Jobs) == 0 { // nil, as after a resume
		f.Jobs = nil
	}
	r.calls++
	job := r.a.Job
	job.Clients, job.Down = u.Clients(), Zero // the models were counted when the work began
	return r.receive(job, u)
}

// InFlight is the work in flight: what clients have begun and not yet returned. An asynchronous strategy only has to keep one in
// its State. Fields: go doc internal/flight.InFlight
type InFlight = flight.InFlight

// compute solves pending work in order of arrival.
func (r *arrival) compute() error {
	f := r.f
	e, err := r.Fed.engine()
	if err != nil {
		return err
	}
	var at []int // in f.Jobs
	for i, w := range f.Jobs {
		if w.Model == nil && !w.Lost {
			at = append(at, i)
		}
	}
	slices.SortFunc(at, func(i, j int) int { return f.Jobs[i].Compare(f.Jobs[j]) })
	lanes, err := r.lanes(e)
	if err != nil {
		return err
	}
	parts := slices.Collect(slices.Chunk(at[:solvedNow(len(at), lanes, r.a.Concurrency)], lanes))
	group := new(errgroup.Group)
	group.SetLimit(r.on.Concurrency())
	for _, part := range parts {
		group.Go(func() error { return r.solveWork(e, part, lanes) })
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

// lanes returns how many jobs one program solves side by side: at most half of Concurrency, since jobs that begin meanwhile are
// often the next to arrive.
func (r *arrival) lanes(e *engine.Engine) (int, error) {
	job := r.a.Job
	if r.a.Steps != nil { // the program takes a step count per client
		job.Steps = []int{1}
	}
	work, err := job.forEngine(r.Fed, nil, nil)
	if err != nil {
		return 0, err
	}
	return min(e.Lanes(work), max(1, r.a.Concurrency/2)), nil
}

// solveWork solves jobs, each from the model of the round in which it began and with that round's randomness.
func (r *arrival) solveWork(e *engine.Engine, at []int, lanes int) error {
	f, job := r.f, r.a.Job
	starts, rates, draw := make([]*Matrix, 0, lanes), []float64(nil), map[int]random.Draws{}
	job.Clients, job.Steps = nil, nil
	for _, i := range at {
		w := &f.Jobs[i]
		job.Clients, starts = append(job.Clients, w.Client), append(starts, f.Start(w.Round))
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
		w := f.Jobs[at[i]]
		draw[number] = random.Draws{Seed: r.opts.Seed, Round: w.Round, Call: w.Call, Batches: w.Call}
	}
	for len(starts) < lanes { // padding, so that the program is the same
		job.Clients, starts, rates = append(job.Clients, job.Clients[0]), append(starts, starts[0]), append(rates, rates[0])
		if job.Steps != nil {
			job.Steps = append(job.Steps, job.Steps[0])
		}
	}
	job.Start = nil
	work, err := job.forEngine(r.Fed, rates, func(client int) random.Draws { return draw[client] })
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
		w := &f.Jobs[at[i]]
		w.Model, w.Steps, w.Loss, w.Drift, w.LR, w.Mu = rows.FromValue(out.Models[out.Place[i]]), s.Steps, float64(s.Loss), float64(s.Drift), float64(s.LR), float64(s.Mu)
		if err := w.Model.Err(); err != nil {
			return err
		}
	}
	return nil
}
