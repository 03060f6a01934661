package sim

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
)

// Event is what happens to a client at a moment, such as the arrival of its piece of work.
type Event struct {
	Time   float64 // s
	Turn   int     // of the same moment, the lowest turn is first, such as the round in which work began
	Client int     // whom it happens to
	Number int     // tells a client's events of the same moment and turn apart, such as the number of the piece of work
}

// Compare orders events by time, turn, client and number.
func (e Event) Compare(o Event) int {
	return cmp.Or(cmp.Compare(e.Time, o.Time), cmp.Compare(e.Turn, o.Turn), cmp.Compare(e.Client, o.Client), cmp.Compare(e.Number, o.Number))
}

// Queue gives events back in the order of their time, turn, client and number, whatever order they were put in. The zero value is
// empty, at second 0. All that a queue is stands in its fields, so that it can be saved.
type Queue struct {
	Now    float64 // s; the time of the event that was taken last
	Events []Event // still to come, as a heap: the next one first, the others in no order that matters
}

// Push adds an event. It fails if the time is not finite, or before Now.
func (q *Queue) Push(e Event) error {
	if !(e.Time >= q.Now && e.Time <= math.MaxFloat64) {
		return fmt.Errorf("sim.Queue: Event.Time = %v of client %d: must be a number ≥ %v, which is now", e.Time, e.Client, q.Now)
	}
	q.Events = append(q.Events, e)
	heap.Fix((*byTime)(&q.Events), len(q.Events)-1)
	return nil
}

// Pop takes the next event out, and sets Now to its time; false if there is none.
func (q *Queue) Pop() (Event, bool) {
	last := len(q.Events) - 1
	if last < 0 {
		return Event{}, false
	}
	next := q.Events[0]
	q.Events[0], q.Events = q.Events[last], q.Events[:last]
	if last > 0 {
		heap.Fix((*byTime)(&q.Events), 0)
	}
	q.Now = next.Time
	return next, true
}

// Len returns the number of events still to come.
func (q *Queue) Len() int { return len(q.Events) }

// byTime is a heap for heap.Fix, which moves one event to its place. heap.Push and heap.Pop would allocate an interface for
// each event, and are not used.
type byTime []Event

func (h byTime) Len() int           { return len(h) }
func (h byTime) Less(i, j int) bool { return h[i].Compare(h[j]) < 0 }
func (h byTime) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byTime) Push(any)          {}
func (h *byTime) Pop() any          { return nil }
