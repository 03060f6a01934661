package fedkit

import (
	"math"
)

// Candidates returns the clients that can be chosen now, in ascending order: all, or those whose devices are on; in an
// asynchronous round, only idle ones. If no device is on and no client is training, the clock advances until one is.
func (r *Round) Candidates() (some []int) {
	if r.busy == nil && r.devices() != nil {
		r.clock.now = r.nextOn(nil)
	}
	return r.idle(r.busy)
}

// nextOn returns the earliest time, from now on, at which the device of a client that is not busy is on.
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

// idle returns the clients that are not busy and whose devices are on now.
func (r *Round) idle(busy []bool) (some []int) {
	devices := r.devices()
	for i := range r.Clients() {
		if (busy == nil || !busy[i]) && (devices == nil || devices[i].On.Next(r.clock.now) == r.clock.now) {
			some = append(some, i)
		}
	}
	return some
}
