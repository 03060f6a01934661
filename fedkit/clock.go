package fedkit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"fedkit.example/fedkit/sim"
)

// On returns the same federation with a device for each client: every run on it is also timed by a simulated clock, see Pace.
// The devices are drawn by the rule, before or after HoldOut. Without devices no run has a clock.
//
//	fed, err = fed.On(sim.Devices{PerExample: sim.LogNormal{Median: 0.01, Sigma: 1}, Up: sim.Constant(1e6)})
func (f *Federation) On(rule sim.Rule) (*Federation, error) {
	if f == nil || f.lazy == nil {
		return nil, fmt.Errorf("fedkit: devices: %w", Invalid("federation", f, "made by fedkit.New"))
	}
	if err := checkNils("devices", rule); err != nil || rule == nil {
		return nil, fmt.Errorf("fedkit: devices: %w", cmp.Or(err, Invalid("rule", "nil", "a sim.Rule")))
	}
	devices, words, err := drawDevices(rule, f.Size())
	if err != nil {
		return nil, fmt.Errorf("fedkit: devices: %w", err)
	}
	g := *f
	g.Devices, g.deviceRule, g.Rule = devices, rule, f.Rule+"; devices: "+words
	return &g, nil
}

// drawDevices asks a rule for its devices and its description.
func drawDevices(rule sim.Rule, n int) (devices []sim.Device, words string, err error) {
	defer recovered("rule", &err)
	if devices, err = rule.Draw(n); err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if len(devices) != n {
		return nil, "", Invalid("what the rule drew", fmt.Sprintf("%d devices", len(devices)), fmt.Sprintf("%d, one per client", n))
	}
	for i, d := range devices {
		if err := d.Check(); err != nil {
			return nil, "", fmt.Errorf("client %d: %w: %w", i, ErrInvalid, err)
		}
	}
	return devices, rule.String(), nil
}

// hashDevices returns the SHA-256 of devices, in hexadecimal. A rule alone does not say what is in the file that it reads.
func hashDevices(devices []sim.Device) string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(devices) // plain numbers, which Check has seen
	return hex.EncodeToString(h.Sum(nil))
}

// Pace is how a server keeps to the clock in synchronous rounds, on a federation with devices: see Federation.On.
//
// A client does its jobs one after another: it receives what travels to it, trains, and sends. Train waits for all its clients,
// unless nothing travels (Job.Private), and a round ends when all are done. A device that is off goes on when it is on again.
// A client that drops out is left out from that moment on. Who is left out is in Record.Missed, with those that a strategy lets
// sit out. If a job is left without any client, its round ends there: the strategy's State is what it was before, and the next
// round begins.
type Pace struct {
	Deadline float64 `range:"[0,inf)"` // s that Train waits, after which it goes on with what has arrived; 0: as long as it takes
	Over     float64 `range:"[0,inf)"` // share of clients that Round.Select chooses beyond those wanted; Train ends with as many as were wanted
	Partial  bool    // those that would be late take as many steps as they can before the deadline, and are late only if it is none
}

// Check implements Checker.
func (p Pace) Check(fed *Federation, _ int) error {
	if p != (Pace{}) && fed != nil && fed.Devices == nil {
		return Invalid("", fmt.Sprintf("%+v", p), "left out, since the clients have no devices: see Federation.On")
	}
	return nil
}

// Miss is a client whose result the server did not wait for, or did not get.
type Miss struct {
	Client int   `json:"client"`
	Begin  Float `json:"begin"`             // s of the clock at which its job began
	End    Float `json:"end"`               // s at which it dropped out, or at which its result would have arrived
	Lost   bool  `json:"lost,omitempty"`    // it dropped out
	SatOut bool  `json:"sat_out,omitempty"` // it was given no job, and End is Begin: see Round.SitOut. If neither, it was late
}

// clock is the simulated time of a run. Between rounds it is Record.Clock, so that it survives a resume.
type clock struct {
	now        float64   // s, of the server
	ready      []float64 // by client, when it is done with all that it was given in this round
	operations float64   // of a forward and backward pass for one example
}

func newClock(fed *Federation) (c *clock, err error) {
	c = &clock{ready: make([]float64, fed.Size())}
	if fed.Devices != nil {
		c.operations, err = fed.Task.Arithmetic(fed.Data)
		c.operations *= 3
	}
	return c, err
}

// devices returns what the clients work on; nil if the round is not timed: the federation has none, or it is an evaluation.
func (r *Round) devices() []sim.Device {
	if r.quiet {
		return nil
	}
	return r.Fed.Devices
}

// visit is when a client does what a job asks for, in s of the clock.
type visit struct {
	begin, received, trained, arrived float64
	lost                              bool // it drops out at arrived
}

// visit is what a client does in a job that sends it some bytes, lets it train on some examples and sends some bytes back.
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

// errNobody ends a round that is left without any client.
var errNobody = errors.New("no client is left")

// timed lets the clients of a job solve it by the clock: those that are late or lost do not.
func (r *Round) timed(job *Job) (*Updates, error) {
	if r.devices() == nil {
		return job.solve(r.ctx, r.Fed, &r.opts, r.T, r.calls, nil)
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
		return nil, errNobody
	}
	u, err := job.solve(r.ctx, r.Fed, &r.opts, r.T, r.calls, in)
	if err != nil {
		return nil, err
	}
	for row, i := range in {
		v, s := visits[i], &u.Solves[row]
		s.Begin, s.Received, s.Finished, s.Arrived = Float(v.begin), Float(v.received), Float(v.trained), Float(v.arrived)
	}
	return u, nil
}

// settleClock ends the round on the clock: when all who trained are done. Whoever was late is not waited for, and stops.
func (r *Round) settleClock() {
	if r.devices() == nil || r.err != nil {
		return
	}
	for _, s := range r.record.Solves {
		r.clock.now = max(r.clock.now, r.clock.ready[s.Client])
	}
	r.record.Clock = Float(r.clock.now)
	clear(r.clock.ready)
}

// compare lets clients receive k models and compute their losses on their own examples, and returns when all are done.
func (c *clock) compare(f *Federation, k int, clients []int) (end float64) {
	for _, i := range clients {
		d := &f.Devices[i]
		t := d.On.Finish(max(c.now, c.ready[i]), d.Receive(float64(k*4*f.Task.Dim())))
		c.ready[i] = d.On.Finish(t, d.Compute(float64(k*len(f.Clients[i].Train)), c.operations)/3) // forward only
		end = max(end, c.ready[i])
	}
	return end
}

// Candidates returns the clients that can be chosen now, in ascending order: all, or those whose devices are on; in an
// asynchronous round, those of them that are idle. If no device is on and nobody is at work, the clock goes on to the first moment
// at which one is.
func (r *Round) Candidates() (some []int) {
	if r.busy == nil && r.devices() != nil {
		r.clock.now = r.nextOn(nil)
	}
	return r.idle(r.busy)
}

// nextOn returns the first moment from now on at which the device of a client is on that is not busy.
func (r *Round) nextOn(busy []bool) float64 {
	if r.devices() == nil {
		return r.clock.now
	}
	next := math.Inf(1)
	for i, d := range r.devices() {
		if busy == nil || !busy[i] {
			next = min(next, d.On.Next(r.clock.now))
		}
	}
	return next
}

// idle returns the clients that are not busy, and on now.
func (r *Round) idle(busy []bool) (some []int) {
	devices := r.devices()
	for i := range r.Clients() {
		if (busy == nil || !busy[i]) && (devices == nil || devices[i].On.Next(r.clock.now) == r.clock.now) {
			some = append(some, i)
		}
	}
	return some
}

// Estimate returns the seconds that a client needs to receive a model, to train on each of its examples once, and to send a model,
// while its device is on. Without devices, they are 0.
func (r *Round) Estimate(client int) (receive, epoch, send float64) {
	if r.devices() == nil {
		return 0, 0, 0
	}
	d, model := &r.Fed.Devices[client], float64(4*r.Fed.Task.Dim())
	return d.Receive(model), d.Compute(float64(len(r.Fed.Clients[client].Train)), r.clock.operations), d.Send(model)
}

// SitOut leaves clients out of the round because their devices are too slow for it, and says so in Record.Missed. A strategy that
// has nobody left ends its round without Train.
func (r *Round) SitOut(clients ...int) {
	if r.quiet {
		return
	}
	wanted, now, out := len(r.chosen)-r.beyond, Float(r.clock.now), map[int]bool{}
	for _, c := range clients {
		r.record.Missed = append(r.record.Missed, Miss{Client: c, Begin: now, End: now, SatOut: true})
		out[c] = true
	}
	r.chosen = slices.DeleteFunc(slices.Clone(r.chosen), func(c int) bool { return out[c] })
	r.beyond = max(0, len(r.chosen)-wanted)
}

// visits returns what each client does in a job and, if some have to do less to be in time, the steps of each.
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
			// The most steps that are in time: visits get longer with each.
			steps[i] = max(1, sort.Search(usual[i], func(less int) bool {
				return r.clock.visit(d, c, down*model, examples[i]*float64(less+1)/float64(usual[i]), up*model, draw()).arrived > r.clock.now+pace.Deadline
			}))
			v = r.clock.visit(d, c, down*model, examples[i]*float64(steps[i])/float64(usual[i]), up*model, draw())
		}
		visits = append(visits, v)
	}
	return visits, steps, err
}

// inTime returns the clients of a job, by position, whose results the server gets and waits for. It moves the clock on.
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

// wanted returns how many results the server waits for: all but those that Select chose beyond the number wanted.
func (r *Round) wanted(job *Job) int {
	if !job.Private && slices.Equal(job.Clients, r.chosen) {
		return len(r.chosen) - r.beyond
	}
	return len(job.Clients)
}

// work returns the steps that each client of the job takes, and the examples that it sees in them.
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

// pick returns the values at the given positions, nil for a list that is nil.
func pick[T any](values []T, at []int) (some []T) {
	for _, i := range at {
		if values != nil {
			some = append(some, values[i])
		}
	}
	return some
}
