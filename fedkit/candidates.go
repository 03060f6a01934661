package fedkit

import (
	"math"
)

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
