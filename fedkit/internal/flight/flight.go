// Package flight has the work of asynchronous rounds that outlives a round, as a strategy's State keeps it.
package flight

import (
	"cmp"
	"slices"

	"fedkit.example/fedkit/internal/rows"
)

// InFlight is the work in flight: what clients have begun and not yet returned. An asynchronous strategy only has to keep one in
// its State.
type InFlight struct {
	Jobs     []Job     // [n], in the order in which it began
	Versions []Version // of the model that the work started from
	Begun    int       // jobs begun so far
}

// Job is one client's job in flight.
type Job struct {
	Client int // index, from 0
	Number int // jobs that began before it
	Round  int // in which it began
	Call   int // counts the client's jobs in that round, from 1

	Begin, Received, Finished, Arrived float64 // s of the clock
	Lost                               bool    // the client drops out at Arrived

	Model               *rows.Matrix // [1, d], result; nil until it is computed
	Steps               int          // local steps; 0 for the Job's until Model is computed
	Loss, Drift, LR, Mu float64      // as in history.ClientResult, once Model is computed
}

// Version is the model [1, d] that a round began with.
type Version struct {
	Round int          // number of the round, from 1
	X     *rows.Matrix // [1, d]
}

// Compare orders jobs by their ends. Ties go to work that began in an earlier round: so no client starves when there are no delays.
func (w Job) Compare(o Job) int {
	return cmp.Or(cmp.Compare(w.Arrived, o.Arrived), cmp.Compare(w.Round, o.Round), cmp.Compare(w.Client, o.Client), cmp.Compare(w.Number, o.Number))
}

// Next returns the index of the job that ends next.
func (f *InFlight) Next() int {
	next := slices.MinFunc(f.Jobs, Job.Compare)
	return slices.IndexFunc(f.Jobs, func(w Job) bool { return w.Number == next.Number })
}

// Start returns the model that a round began with.
func (f *InFlight) Start(round int) *rows.Matrix {
	return f.Versions[slices.IndexFunc(f.Versions, func(v Version) bool { return v.Round == round })].X
}
