package fedkit

import (
	"math/rand/v2"

	"fedkit.example/fedkit/sim"
)

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
