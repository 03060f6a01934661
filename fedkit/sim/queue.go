package sim

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
)

// Event is a timed event of a client, such as the arrival of its update.
type Event struct {
	Time   float64 // s
	Turn   int     // at the same time the lowest comes first, such as the round in which training began
	Client int     // its index
	Number int     // tells a client's events of the same time and turn apart, such as the number of the update
}

// Compare orders events by time, turn, client and number.
func (e Event) Compare(o Event) int {
	return cmp.Or(cmp.Compare(e.Time, o.Time), cmp.Compare(e.Turn, o.Turn), cmp.Compare(e.Client, o.Client), cmp.Compare(e.Number, o.Number))
}

// Queue is a priority queue of events, by time, turn, client and number. The zero value is empty, at second 0. Its whole
// state is in its fields, so that it can be saved.
type Queue struct {
	Now    float64 // s; the time of the last event popped
	Events []Event // pending, as a heap: the next one first
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

// Pop removes the next event and sets Now to its time; false if there is none.
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

// Len returns the number of pending events.
func (q *Queue) Len() int { return len(q.Events) }

// byTime is a heap for heap.Fix, which moves one event to its place. heap.Push and heap.Pop would allocate an interface for
// each event, and are not used.
type byTime []Event

func (h byTime) Len() int           { return len(h) }
func (h byTime) Less(i, j int) bool { return h[i].Compare(h[j]) < 0 }
func (h byTime) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byTime) Push(any)          {}
func (h *byTime) Pop() any          { return nil }
