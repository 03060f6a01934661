package fedkit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"fedkit.example/datasets"
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
	if r.devices() == nil {
		return job.solve(r.ctx, r.Fed, r.on, r.opts.Seed, r.T, r.calls, nil)
	}
	if err := job.check(r.Fed, r.calls); err != nil {
		return nil, err
	}
	visits, steps, err := r.visits(job)
	if err != nil {
		return nil, err
	}
	if steps != nil {
		less := *job
		less.Steps, less.Epochs = steps, nil
		job = &less
	}
	in := r.inTime(job, visits)
	if len(in) == 0 {
		return nil, errNoClients
	}
	u, err := job.solve(r.ctx, r.Fed, r.on, r.opts.Seed, r.T, r.calls, in)
	if err != nil {
		return nil, err
	}
	for row, i := range in {
		v, s := visits[i], &u.Results[row]
		s.Begin, s.Received, s.Finished, s.Arrived = Float(v.begin), Float(v.received), Float(v.trained), Float(v.arrived)
	}
	return u, nil
}

// visits returns the times of each client in a job and, with partial work, the steps of each.
func (r *Round) visits(job *Job) (visits []visit, steps []int, err error) {
	down, up, err := job.traffic(r.Fed.Task)
	model := float64(r.Fed.Task.Bytes())
	usual := job.steps(r.Fed)
	for i, c := range job.Clients {
		received := down*model + r.base(c, down)
		after := func(steps int) visit {
			draw := Random(r.opts.Seed, "dropout", r.T, c, r.calls)
			return r.clock.visit(&r.Fed.Devices[c], c, received, job.examples(r.Fed, c, steps), up*model, draw)
		}
		v := after(usual[i])
		if pace := r.opts.Pace; pace.PartialWork && pace.Deadline > 0 && !job.apart() && !v.lost && v.arrived > r.clock.now+pace.Deadline {
			if steps == nil {
				steps = slices.Clone(usual)
			}
			// The most steps that meet the deadline: each makes the visit longer.
			steps[i] = max(1, sort.Search(usual[i], func(less int) bool { return after(less+1).arrived > r.clock.now+pace.Deadline }))
			v = after(steps[i])
		}
		visits = append(visits, v)
	}
	return visits, steps, err
}

// inTime returns the positions of a job's clients whose results the server uses, and advances the clock.
func (r *Round) inTime(job *Job, visits []visit) (in []int) {
	c := r.clock
	begin, limit := c.now, math.Inf(1)
	if r.opts.Pace.Deadline > 0 && !job.apart() {
		limit = begin + r.opts.Pace.Deadline
	}
	for i, v := range visits {
		if !v.lost && v.arrived <= limit {
			in = append(in, i)
		}
	}
	end, all := limit, len(in) == len(visits)
	if want := r.wanted(job); len(in) >= want {
		slices.SortStableFunc(in, func(i, j int) int { return cmp.Compare(visits[i].arrived, visits[j].arrived) })
		in = in[:want]
		slices.Sort(in)
		all = true
	}
	kept := func(i int) bool {
		_, there := slices.BinarySearch(in, i)
		return there
	}
	if all || math.IsInf(limit, 1) {
		end = begin
		for i, v := range visits {
			if v.lost && !all || kept(i) {
				end = max(end, v.arrived)
			}
		}
	}
	for i, v := range visits {
		client := job.Clients[i]
		c.ready[client] = v.arrived
		if !kept(i) {
			c.ready[client] = min(v.arrived, end)
			r.record.Absences = append(r.record.Absences, history.Absence{Client: client, Begin: Float(v.begin), End: Float(v.arrived), DroppedOut: v.lost})
		}
	}
	if !job.apart() {
		c.now = end
	}
	return in
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
	wanted, now, out := len(r.chosen)-r.overSelected, Float(r.clock.now), map[int]bool{}
	for _, c := range clients {
		r.record.Absences = append(r.record.Absences, history.Absence{Client: c, Begin: now, End: now, Excluded: true})
		out[c] = true
	}
	r.chosen = slices.DeleteFunc(slices.Clone(r.chosen), func(c int) bool { return out[c] })
	r.overSelected = max(0, len(r.chosen)-wanted)
}

// clock is the simulated clock of a run. Record.Clock keeps it between rounds, so it survives a resume.
type clock struct {
	now        float64   // s, server time
	ready      []float64 // by client, s at which it has finished all its jobs of this round
	operations float64   // of a forward and backward pass, per example

	edges map[int]float64 // by edge server that sent or received in this round, s at which it is done
	end   float64         // s at which the last message of Send has arrived
}

func newClock(fed *Federation) (c *clock, err error) {
	c = &clock{ready: make([]float64, fed.Size())}
	if fed.Devices != nil {
		c.operations, err = fed.Task.FLOPs(fed.Data)
		c.operations *= 3
	}
	return c, err
}

// visit holds the times of one client's job, in s of the clock.
type visit struct {
	begin, received, trained, arrived float64
	lost                              bool // the client drops out at arrived
}

// visit times a job in which a client receives down bytes, trains on a number of examples, and sends up bytes.
func (c *clock) visit(d *sim.Device, client int, down, examples, up float64, rng *rand.Rand) (v visit) {
	v.begin = max(c.now, c.ready[client])
	v.received = d.On.Finish(v.begin, d.Receive(down))
	v.trained = d.On.Finish(v.received, d.Compute(examples, c.operations))
	v.arrived = d.On.Finish(v.trained, d.Send(up))
	if share := d.Dropout(rng); share < 1 {
		v.lost, v.arrived = true, v.begin+share*(v.arrived-v.begin)
	}
	return v
}

// compareInTime times clients that receive k models, beside the frozen parameters if they do not have them, and compute their losses on
// their own examples of a part; end is when the last is done.
func (r *Round) compareInTime(k int, part datasets.Part, clients []int) (end float64) {
	c, f := r.clock, r.Fed
	for _, i := range clients {
		d := &f.Devices[i]
		t := d.On.Finish(max(c.now, c.ready[i]), d.Receive(float64(k*f.Task.Bytes())+r.base(i, 1)))
		c.ready[i] = d.On.Finish(t, d.Compute(float64(k*len(ownRows(f.Clients[i], part))), c.operations)/3) // forward only
		end = max(end, c.ready[i])
	}
	return end
}

// settleClock ends the round on the clock, when all clients that trained are done. Stragglers stop without being waited for.
func (r *Round) settleClock() {
	if r.devices() == nil || r.err != nil {
		return
	}
	for _, s := range r.record.Results {
		r.clock.now = max(r.clock.now, r.clock.ready[s.Client])
	}
	r.clock.now = max(r.clock.now, r.clock.end)
	r.record.Clock = Float(r.clock.now)
	clear(r.clock.ready)
	clear(r.clock.edges)
}
