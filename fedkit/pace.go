package fedkit

import (
	"errors"
	"fmt"
	"slices"

	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/sim"
)

// Pace is how a server handles stragglers in synchronous rounds, on a federation with devices: see Federation.WithDevices.
//
// A client does its jobs one after another: it receives, trains, and sends; what has no bytes takes no time. Train waits for all its
// clients, unless nothing is sent back (Job.StayLocal, Job.Relayed), and a round ends when all are done. A device that is off resumes
// when it is on again. A client that drops out is left out from that moment on. Record.Absences lists stragglers, dropouts, and
// clients that a strategy excludes. If a job is left without any client, its round ends there: State is restored to that before the
// round, and the next round begins.
type Pace struct {
	Deadline      float64 `range:"[0,inf)"` // s until Train goes on with the results that have arrived; 0: no deadline, also for devices that are off
	OverSelection float64 `range:"[0,inf)"` // extra share of clients to invite; the round closes once the wanted number has reported
	PartialWork   bool    // stragglers take only the local steps that fit the deadline, and miss it only if not even one does
}

// Check implements Checker.
func (p Pace) Check(fed *Federation, _ int) error {
	if p != (Pace{}) && fed != nil && fed.Devices == nil {
		return Invalid("", fmt.Sprintf("%+v", p), "left out, since the clients have no devices: see Federation.WithDevices")
	}
	return nil
}

// errNoClients ends a round that is left without any client.
var errNoClients = errors.New("no client is left")

// timed solves a job for its clients in time, without stragglers and dropouts.
func (r *Round) timed(job *Job) (*Updates, error) {
	if r.time() == nil {
		return job.solve(r.ctx, r.Fed, r.on, r.opts.Seed, r.T, r.calls, nil)
	}
	if err := job.check(r.Fed, r.calls); err != nil {
		return nil, err
	}
	wait := sim.Wait{For: r.wanted(job), Deadline: r.opts.Pace.Deadline, Apart: job.apart()}
	times, steps, err := r.times(job, wait)
	if err != nil {
		return nil, err
	}
	if steps != nil {
		less := *job
		less.Steps, less.Epochs = steps, nil
		job = &less
	}
	in := r.clock.Collect(times, wait, r.absent)
	if len(in) == 0 {
		return nil, errNoClients
	}
	u, err := job.solve(r.ctx, r.Fed, r.on, r.opts.Seed, r.T, r.calls, in)
	if err != nil {
		return nil, err
	}
	for row, i := range in {
		t, s := times[i], &u.Results[row]
		s.Begin, s.Received, s.Finished, s.Arrived = Float(t.Begin), Float(t.Received), Float(t.Trained), Float(t.Arrived)
	}
	return u, nil
}

// times returns the times of each client in a job and, if some do only a part of it, the steps of each.
func (r *Round) times(job *Job, wait sim.Wait) (times []sim.Times, steps []int, err error) {
	down, up, err := job.traffic(r.Fed.Task)
	usual := job.steps(r.Fed)
	for i, c := range job.Clients {
		after := func(steps int) sim.Times {
			return r.timesOf(job, c, steps, down, up, r.calls)
		}
		n := usual[i]
		if r.opts.Pace.PartialWork {
			if most := r.clock.Most(wait, n, after); most > 0 {
				if steps == nil {
					steps = slices.Clone(usual)
				}
				n, steps[i] = most, most
			}
		}
		times = append(times, after(n))
	}
	return times, steps, err
}

// timesOf returns the times of a client that takes a number of steps in a job, and receives and sends as many models as it says, in its
// call-th job of the round.
func (r *Round) timesOf(job *Job, client, steps int, down, up float64, call int) sim.Times {
	model := float64(r.Fed.Task.Bytes())
	return r.clock.Time(client, down*model+r.base(client, down), job.examples(r.Fed, client, steps), up*model, Random(r.opts.Seed, "dropout", r.T, client, call))
}

// absent records a client whose result the server does not get.
func (r *Round) absent(t sim.Times) {
	r.record.Absences = append(r.record.Absences, history.Absence{Client: t.Client, Begin: Float(t.Begin), End: Float(t.Arrived), DroppedOut: t.Lost})
}

// wanted returns how many results the server waits for: those of all clients, without the over-selected ones.
func (r *Round) wanted(job *Job) int {
	if !job.apart() && slices.Equal(job.Clients, r.chosen) {
		return len(r.chosen) - r.overSelected
	}
	return len(job.Clients)
}

// Exclude excludes clients from the round because their devices are too slow, and records them in Record.Absences. A strategy
// without remaining clients ends its round without Train.
func (r *Round) Exclude(clients ...int) {
	if r.quiet {
		return
	}
	wanted, now, out := len(r.chosen)-r.overSelected, Float(r.clock.Now), map[int]bool{}
	for _, c := range clients {
		r.record.Absences = append(r.record.Absences, history.Absence{Client: c, Begin: now, End: now, Excluded: true})
		out[c] = true
	}
	r.chosen = slices.DeleteFunc(slices.Clone(r.chosen), func(c int) bool { return out[c] })
	r.overSelected = max(0, len(r.chosen)-wanted)
}

// newClock returns the clock of a run.
func newClock(fed *Federation) (c *sim.Clock, err error) {
	c = &sim.Clock{Clients: fed.Devices, Edges: fed.edges}
	if fed.Devices != nil {
		c.Operations, err = fed.Task.FLOPs(fed.Data)
		c.Operations *= 3
	}
	return c, err
}

// time returns the clock; nil if nothing takes time: the federation has no devices, or it is an evaluation.
func (r *Round) time() *sim.Clock {
	if r.quiet || r.Fed.Devices == nil {
		return nil
	}
	return r.clock
}

// Estimate returns the seconds that a client needs to receive a model, to train for one epoch, and to send a model, while its
// device is on. Without devices, they are 0.
func (r *Round) Estimate(client int) (receive, epoch, send float64) {
	if r.time() == nil {
		return 0, 0, 0
	}
	d, model := &r.Fed.Devices[client], float64(r.Fed.Task.Bytes())
	return d.Receive(model), d.Compute(float64(len(r.Fed.Clients[client].Train)), r.clock.Operations), d.Send(model)
}

// settleClock ends the round on the clock, when all clients that trained are done. Stragglers stop without being waited for.
func (r *Round) settleClock() {
	if r.time() == nil || r.err != nil {
		return
	}
	var trained []int
	for _, s := range r.record.Results {
		trained = append(trained, s.Client)
	}
	r.clock.Settle(trained)
	r.record.Clock = Float(r.clock.Now)
}
