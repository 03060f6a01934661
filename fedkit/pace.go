package fedkit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// Pace is how a server handles stragglers in synchronous rounds, on a federation with devices: see Federation.On.
//
// A client does its jobs one after another: it receives, trains, and sends. Train waits for all its clients, unless nothing is
// communicated (Job.Private), and a round ends when all are done. A device that is off resumes when it is on again. A client
// that drops out is left out from that moment on. Record.Missed lists stragglers, dropouts, and clients that a strategy excludes. If
// a job is left without any client, its round ends there: State is restored to that before the round, and the next round
// begins.
type Pace struct {
	Deadline float64 `range:"[0,inf)"` // s until Train goes on with the results that have arrived; 0: no deadline, also for devices that are off
	Over     float64 `range:"[0,inf)"` // over-selection: extra share of clients to invite; the round closes once the wanted number has reported
	Partial  bool    // partial work: stragglers take only the local steps that fit the deadline, and miss it only if not even one does
}

// Check implements Checker.
func (p Pace) Check(fed *Federation, _ int) error {
	if p != (Pace{}) && fed != nil && fed.Devices == nil {
		return Invalid("", fmt.Sprintf("%+v", p), "left out, since the clients have no devices: see Federation.On")
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
		v, s := visits[i], &u.Solves[row]
		s.Begin, s.Received, s.Finished, s.Arrived = Float(v.begin), Float(v.received), Float(v.trained), Float(v.arrived)
	}
	return u, nil
}

// visits returns the times of each client in a job and, with partial work, the steps of each.
func (r *Round) visits(job *Job) (visits []visit, steps []int, err error) {
	down, up, err := job.traffic(r.Fed.Task.Dim())
	model := float64(4 * r.Fed.Task.Dim())
	usual, examples := job.work(r.Fed)
	for i, c := range job.Clients {
		d := &r.Fed.Devices[c]
		draw := func() *rand.Rand { return Random(r.opts.Seed, "dropout", r.T, c, r.calls) }
		v := r.clock.visit(d, c, down*model, examples[i], up*model, draw())
		if pace := r.opts.Pace; pace.Partial && pace.Deadline > 0 && !job.Private && !v.lost && v.arrived > r.clock.now+pace.Deadline {
			if steps == nil {
				steps = slices.Clone(usual)
			}
			// The most steps that meet the deadline: each makes the visit longer.
			steps[i] = max(1, sort.Search(usual[i], func(less int) bool {
				return r.clock.visit(d, c, down*model, examples[i]*float64(less+1)/float64(usual[i]), up*model, draw()).arrived > r.clock.now+pace.Deadline
			}))
			v = r.clock.visit(d, c, down*model, examples[i]*float64(steps[i])/float64(usual[i]), up*model, draw())
		}
		visits = append(visits, v)
	}
	return visits, steps, err
}

// inTime returns the positions of a job's clients whose results the server uses, and advances the clock.
func (r *Round) inTime(job *Job, visits []visit) (in []int) {
	c := r.clock
	begin, limit := c.now, math.Inf(1)
	if r.opts.Pace.Deadline > 0 && !job.Private {
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
			r.record.Missed = append(r.record.Missed, Miss{Client: client, Begin: Float(v.begin), End: Float(v.arrived), Lost: v.lost})
		}
	}
	if !job.Private {
		c.now = end
	}
	return in
}

// wanted returns how many results the server waits for: those of all clients, without the over-selected ones.
func (r *Round) wanted(job *Job) int {
	if !job.Private && slices.Equal(job.Clients, r.chosen) {
		return len(r.chosen) - r.overSelected
	}
	return len(job.Clients)
}

// work returns each client's local steps, and the examples processed in them.
func (j *Job) work(f *Federation) (steps []int, examples []float64) {
	l := j.Local.WithDefaults()
	for i, c := range j.Clients {
		own, batch, epochs, s := len(f.Clients[c].Train), l.Batch, l.Epochs, l.Steps
		if batch == FullBatch || batch > own {
			batch = own
		}
		if j.Epochs != nil {
			epochs = j.Epochs[i]
		}
		if j.Steps != nil {
			s = j.Steps[i]
		}
		if s > 0 {
			steps, examples = append(steps, s), append(examples, float64(s*batch))
		} else {
			steps, examples = append(steps, epochs*((own+batch-1)/batch)), append(examples, float64(epochs*own))
		}
	}
	return steps, examples
}

// SitOut excludes clients from the round because their devices are too slow, and records them in Record.Missed. A strategy without
// remaining clients ends its round without Train.
func (r *Round) SitOut(clients ...int) {
	if r.quiet {
		return
	}
	wanted, now, out := len(r.chosen)-r.overSelected, Float(r.clock.now), map[int]bool{}
	for _, c := range clients {
		r.record.Missed = append(r.record.Missed, Miss{Client: c, Begin: now, End: now, SatOut: true})
		out[c] = true
	}
	r.chosen = slices.DeleteFunc(slices.Clone(r.chosen), func(c int) bool { return out[c] })
	r.overSelected = max(0, len(r.chosen)-wanted)
}
