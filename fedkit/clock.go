package fedkit

import (
	"math/rand/v2"

	"fedkit.example/fedkit/sim"
)

// clock is the simulated clock of a run. Record.Clock keeps it between rounds, so it survives a resume.
type clock struct {
	now        float64   // s, server time
	ready      []float64 // by client, s at which it has finished all its jobs of this round
	operations float64   // of a forward and backward pass, per example
}

func newClock(fed *Federation) (c *clock, err error) {
	c = &clock{ready: make([]float64, fed.Size())}
	if fed.Devices != nil {
		c.operations, err = fed.Task.Arithmetic(fed.Data)
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

// compare times clients that receive k models and compute their losses on their own examples; end is when the last is done.
func (c *clock) compare(f *Federation, k int, clients []int) (end float64) {
	for _, i := range clients {
		d := &f.Devices[i]
		t := d.On.Finish(max(c.now, c.ready[i]), d.Receive(float64(k*4*f.Task.Dim())))
		c.ready[i] = d.On.Finish(t, d.Compute(float64(k*len(f.Clients[i].Train)), c.operations)/3) // forward only
		end = max(end, c.ready[i])
	}
	return end
}

// settleClock ends the round on the clock, when all clients that trained are done. Stragglers stop without being waited for.
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
