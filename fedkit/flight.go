package fedkit

import (
	"slices"

	"fedkit.example/fedkit/sim"
)

// Flight is the work under way: what clients have begun, and not handed in yet. An asynchronous strategy keeps one in its State,
// and nothing else has to be done for it.
type Flight struct {
	Queue    sim.Queue // of arrivals, and of clients that drop out
	Work     []Work    // [n], in the order in which it began
	Versions []Version // of the model, that some of it started from
	Begun    int       // pieces of work so far
}

// Work is what one client does.
type Work struct {
	Client int // who, from 0
	Number int // pieces that began before it
	Round  int // in which it began
	Call   int // how often the client had begun in that round, from 1

	Begin, Received, Finished, Arrived float64 // s of the clock
	Lost                               bool    // the client drops out at Arrived

	Model               *Matrix // [1, d], what comes out of it; nil: it is not computed yet
	Steps               int     // that it takes; 0: the job's. Once it is computed, what it took
	Loss, Drift, LR, Mu float64 // as in Solve, once it is computed
}

// Version is a model [1, d], and the round that began with it.
type Version struct {
	Round int     // that began with the model
	X     *Matrix // [1, d]
}

// event is when work ends. Of what ends at the same moment, what began in an earlier round is first: without delays, nobody waits
// for ever.
func (w *Work) event() sim.Event {
	return sim.Event{Time: w.Arrived, Turn: w.Round, Client: w.Client, Number: w.Number}
}

// version returns the model that the work of a round began with.
func (f *Flight) version(round int) *Matrix {
	return f.Versions[slices.IndexFunc(f.Versions, func(v Version) bool { return v.Round == round })].X
}
