package compare

import (
	"fmt"
	"slices"
	"strings"

	"fedkit.example/fedkit/history"
)

// Quantities of simulated time, NaN for runs without a clock: see fedkit.Federation.WithDevices. Staleness needs no clock. All but
// Simulated are over the rounds whose Results were kept.
//
// A client that began at b, and whose result arrived at a in a round that ended at c, was busy for a − b and idle for c − a: in
// synchronous rounds it waited for stragglers, in asynchronous ones for a full buffer. One that was late or dropped out at e (see
// Record.Absences) was busy for min(e, c) − b, and not idle. One that sat out was idle for the whole round, c − b, with a = b.
//
//	Idle   = Σ (c − a) / (Σ (c − b) + Σ_missed (min(e, c) − b))
//	Wasted = Σ_missed (min(e, c) − b) / (Σ (a − b) + Σ_missed (min(e, c) − b))
//
// Results that were not finite count as wasted too.
var (
	// Simulated is s of the clock after the last round.
	Simulated = ofClock(Quantity{Name: "simulated", Long: "simulated time", LowerIsBetter: true, Unit: "s", Range: notNegative, ByRound: clocks})
	// RoundTime is s of the clock that a round took.
	RoundTime = ofClock(Quantity{Name: "round time", Title: "Simulated time of each round", Long: "time", LowerIsBetter: true, Unit: "s",
		Range: notNegative, Include: []float64{0}, ByRound: roundTimes})
	// Idle is the share of their time that clients wait.
	Idle = ofClock(ofTimes(func(t times) float64 { return t.idle / (t.busy + t.idle) }, Quantity{Name: "idle", Long: "idle share",
		Title: "Share of their time that clients wait", Unit: "%", LowerIsBetter: true, Range: share, Include: []float64{0}}))
	// Wasted is the share of busy time without a result.
	Wasted = ofClock(ofTimes(func(t times) float64 { return t.wasted / t.busy }, Quantity{Name: "wasted",
		Long: "share of busy time without a result", Unit: "%", LowerIsBetter: true, Range: share}))
	// Staleness is the mean of ClientResult.Staleness over all results; 0 in synchronous rounds.
	Staleness = ofTimes(func(t times) float64 { return t.stale / t.results }, Quantity{Name: "staleness", LowerIsBetter: true,
		Range: notNegative, Format: two})
)

// Clocked reports whether the run has a clock, because its clients have devices.
func (r *Run) Clocked() bool { return r.History != nil && r.History.Devices != nil }

// Timed refuses a run without a simulated clock.
func (r *Run) Timed() error {
	if r.Clocked() {
		return nil
	}
	return fmt.Errorf("history %q has no simulated clock: its clients have no devices (see Federation.WithDevices)", r.Name)
}

// ofClock is a quantity that only runs with a clock have.
func ofClock(q Quantity) Quantity {
	q = q.through(func(r *Run, b Basis) (*Run, Basis) {
		if !r.Clocked() {
			r = &Run{History: &history.History{}}
		}
		return r, b
	})
	q.lacks = (*Run).Timed
	return q
}

// clocks returns the times at which rounds ended, in s of the clock.
func clocks(r *Run, _ Basis) []Value {
	return each(r.History.Rounds, func(rec history.Record) Value { return Value{rec.Round, float64(rec.Clock)} })
}

// roundTimes returns how long each round took.
func roundTimes(r *Run, b Basis) []Value {
	all, before := clocks(r, b), 0.0
	for i := range all {
		all[i].Of, before = all[i].Of-before, all[i].Of
	}
	return all
}

// times is the clients' total time by use, in s of the clock, and the staleness of their results.
type times struct{ busy, idle, wasted, stale, results float64 }

// add adds a round, unless its Results were not kept.
func (t *times) add(r *history.Record) {
	if r.Results == nil && r.Training() != nil {
		return
	}
	for _, s := range r.Results {
		t.stale, t.results = t.stale+float64(s.Staleness), t.results+1
		busy := max(0, float64(s.Arrived-s.Begin))
		t.busy += busy
		t.idle += max(0, float64(r.Clock-s.Arrived))
		if s.Skipped {
			t.wasted += busy
		}
	}
	for _, m := range r.Absences {
		if m.Excluded {
			t.idle += float64(r.Clock - m.Begin)
			continue
		}
		busy := max(0, float64(min(m.End, r.Clock)-m.Begin))
		t.busy += busy
		t.wasted += busy
	}
}

// ofTimes reads a quantity of how clients spent their time in a run, and in each round, NaN if no client was at work.
func ofTimes(of func(times) float64, q Quantity) Quantity {
	q.Summary = func(r *Run, _ Basis) float64 {
		var t times
		for i := range r.History.Rounds {
			t.add(&r.History.Rounds[i])
		}
		return of(t)
	}
	q.ByRound = func(r *Run, _ Basis) []Value {
		return each(r.History.Rounds, func(rec history.Record) Value {
			var t times
			t.add(&rec)
			return Value{rec.Round, of(t)}
		})
	}
	return q
}

// lacking names the columns that some runs cannot have, because their Results were not kept: among those shown or, if no columns
// were asked for, those of runs with a clock.
func lacking(runs []*Run, shown []column, asked bool) []string {
	names := []string{Idle.Name, Wasted.Name, Staleness.Name}
	if asked || !slices.ContainsFunc(runs, (*Run).Clocked) {
		names = slices.DeleteFunc(names, func(name string) bool {
			return !slices.ContainsFunc(shown, func(c column) bool { return c.name == name })
		})
	}
	if len(names) == 0 || !slices.ContainsFunc(runs, (*Run).light) {
		return nil
	}
	return []string{strings.Join(names, ", ") + ": of runs whose history has what each client did: Load in place of LoadLight, Histories in place of Light"}
}

// light reports whether clients trained, but their Results were not kept.
func (r *Run) light() bool {
	return slices.ContainsFunc(r.History.Rounds, func(rec history.Record) bool { return rec.Training() != nil }) &&
		!slices.ContainsFunc(r.History.Rounds, func(rec history.Record) bool { return rec.Results != nil })
}
