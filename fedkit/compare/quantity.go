package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/fit"
)

// Quantity is a number of a run, and of its rounds: the one definition that tables, figures, ranks and claims share. The zero value
// stands for Accuracy. A custom one takes a name and a function:
//
//	drift := compare.PerRound("mean drift", func(r *fedkit.Record) (float64, bool) {
//		return stat.Mean(drifts(r), nil), len(r.Results) > 0
//	})
type Quantity struct {
	Name  string // of its column: "ARI"
	Long  string // on axes: "adjusted Rand index"; default Name
	Title string // of its figure; default Name
	Unit  string // "%" of a share, "B", "s", or "1" of a count, which decides how it is written and drawn; default a plain number

	LowerIsBetter bool       // loss, bytes
	NoneIsBetter  bool       // neither more nor less is: tables mark none as the best
	Range         [2]float64 // the least and the greatest value that it can have, which end bands and axes; default none
	Include       []float64  // values that its axis shows, whatever the data are

	// ByRound returns its values in the rounds of a run that have one, in their order; b is what all runs have scores of. Nil: it is no
	// number of rounds.
	ByRound func(r *Run, b Basis) []Value
	Summary func(r *Run, b Basis) float64 // the run's number, NaN if it has none; default: the last of ByRound
	Format  func(float64) string          // default by Unit, else four digits; in a column, all with the same unit and number of decimals

	scored bool             // of a score, and so another one on another basis
	main   bool             // made of accuracy, and so of R² for regressions
	lacks  func(*Run) error // why a run does not have it, beyond having no values
}

// Value is a quantity of a round.
type Value struct {
	Round int     // its number, from 1
	Of    float64 // its value there
}

// PerRound is a quantity of a record; there is false for a round that does not have it. The number of a run is that of its last such
// round.
func PerRound(name string, of func(r *history.Record) (v float64, there bool)) Quantity {
	return perRound(Quantity{Name: name}, of)
}

// perRound is PerRound with a definition.
func perRound(q Quantity, of func(*history.Record) (float64, bool)) Quantity {
	q.ByRound = func(r *Run, _ Basis) (all []Value) {
		for i := range r.History.Rounds {
			rec := &r.History.Rounds[i]
			if v, there := of(rec); there {
				all = append(all, Value{rec.Round, v})
			}
		}
		return all
	}
	q.Summary = func(r *Run, _ Basis) float64 { // which asks no round before the last one that has it
		for i := range slices.Backward(r.History.Rounds) {
			if v, there := of(&r.History.Rounds[i]); there {
				return v
			}
		}
		return math.NaN()
	}
	return q
}

// sofar is the sum of a number of each round, up to a round.
func sofar(q Quantity, of func(*history.Record) float64) Quantity {
	q.ByRound = func(r *Run, _ Basis) []Value {
		all, sum := make([]Value, len(r.History.Rounds)), 0.0
		for i := range all {
			rec := &r.History.Rounds[i]
			sum += of(rec)
			all[i] = Value{rec.Round, sum}
		}
		return all
	}
	return q
}

// score is a number of the scores that runs are compared by.
func score(q Quantity, of func(*history.Score) float64) Quantity {
	q.scored = true
	q.ByRound = func(r *Run, b Basis) []Value {
		return each(b.Points(r), func(p Point) Value { return Value{p.Round, of(p.Score)} })
	}
	return q
}

// LastRounds is the mean of a quantity over the last n rounds, at least one, of those that have it. In round t, these are t−n+1 to t.
func LastRounds(n int, q Quantity) Quantity {
	q, n = q.orAccuracy(), max(n, 1)
	of := q.ByRound
	q.Name, q.Title = fmt.Sprintf("%s, last %d rounds", q.Name, n), ""
	q.ByRound = func(r *Run, b Basis) []Value {
		all, from := of(r, b), 0
		means := make([]Value, len(all))
		for i, v := range all {
			for all[from].Round <= v.Round-n {
				from++
			}
			sum := 0.0
			for _, v := range all[from : i+1] {
				sum += v.Of
			}
			means[i] = Value{v.Round, sum / float64(i+1-from)}
		}
		return means
	}
	q.Summary = nil
	return q
}

// On is the quantity with a basis of its own, whatever runs are compared by: compare.Accuracy.On(compare.OwnModels).
func (q Quantity) On(b Basis) Quantity {
	q = q.through(func(r *Run, _ Basis) (*Run, Basis) { return r, b })
	q.Name, q.scored = q.Name+", "+b.Name(), false
	return q
}

// OnValidation is the quantity on validation rows in place of test rows, for choosing options: see history.History.OnValidation. A
// run without such rows does not have it.
func (q Quantity) OnValidation() Quantity {
	q = q.through(func(r *Run, b Basis) (*Run, Basis) {
		v := &Run{}
		v.Follow(r.History.OnValidation())
		return v, b
	})
	q.Name += ", validation"
	q.lacks = func(r *Run) error {
		if slices.ContainsFunc(r.History.Rounds, func(rec history.Record) bool { return rec.Validation != nil }) {
			return nil
		}
		return fmt.Errorf("history %q has no scores on validation rows: its clients have none (see partition.Validation)", r.Name)
	}
	return q
}

// through is the quantity of what a run and a basis become.
func (q Quantity) through(become func(*Run, Basis) (*Run, Basis)) Quantity {
	q = q.orAccuracy()
	of := q
	q.Summary = func(r *Run, b Basis) float64 { return of.Value(become(r, b)) }
	if of.ByRound != nil {
		q.ByRound = func(r *Run, b Basis) []Value { return of.ByRound(become(r, b)) }
	}
	return q
}

// Value returns the number of a run, NaN if it has none.
func (q Quantity) Value(r *Run, b Basis) float64 {
	if r == nil || r.History == nil {
		return math.NaN()
	}
	if q = q.orAccuracy(); q.Summary != nil {
		return q.Summary(r, b)
	}
	if all := q.ByRound(r, b); len(all) > 0 {
		return all[len(all)-1].Of
	}
	return math.NaN()
}

// Of returns the quantity of each run: of the global model if every history has one, else of the clients' own.
//
// NaN stands for a run that does not have it. If the histories cannot be compared at all, each value is NaN.
func (q Quantity) Of(h ...*history.History) []float64 {
	runs, b, err := compared(Runs, h)
	if err != nil {
		return slices.Repeat([]float64{math.NaN()}, len(h))
	}
	return q.values(runs, b)
}

// values returns the number of each run.
func (q Quantity) values(runs []*Run, b Basis) []float64 {
	return each(runs, func(r *Run) float64 { return q.Value(r, b) })
}

// Scored reports whether it is a number of a score, and so of the global model or of the clients' own.
func (q Quantity) Scored() bool { return q.scored }

// Follow returns the runs of histories that have the quantity round by round, and what they are compared by.
//
// Errors: those of Runs, and of Evaluated and CommonBasis for scores; a quantity that is no number of rounds, a run that does not
// have it.
func (q Quantity) Follow(h ...*history.History) (all []*Run, b Basis, err error) {
	if q.ByRound == nil {
		return nil, 0, fmt.Errorf("quantity %q has no values by round (Quantity.ByRound)", q.Name)
	}
	if q.scored {
		all, b, err = compared(Evaluated, h)
	} else {
		all, err = Runs(h...)
	}
	for i := 0; i < len(all) && err == nil && q.lacks != nil; i++ {
		err = q.lacks(all[i])
	}
	return all, b, err
}

// Axis returns what an axis of the quantity says, without its unit.
func (q Quantity) Axis() string { return cmp.Or(q.Long, q.Name) }

// For returns the quantity with the name and the unit that it has for these runs: what is made of accuracy is of R², a plain number,
// if they are regressions (see history.History.Main). The zero value becomes Accuracy.
func (q Quantity) For(runs ...*Run) Quantity {
	if q = q.orAccuracy(); !q.main || !slices.ContainsFunc(followed(runs), (*Run).regression) {
		return q
	}
	q.Name, q.Long = strings.Replace(q.Name, string(history.Accuracy), fit.R2, 1), strings.Replace(q.Long, string(history.Accuracy), fit.R2, 1)
	if q.Unit == "%" {
		q.Unit, q.Range, q.Format = "", [2]float64{math.Inf(-1), 1}, three
	}
	return q
}

// orAccuracy replaces the zero value.
func (q Quantity) orAccuracy() Quantity {
	if q.ByRound == nil && q.Summary == nil {
		return Accuracy
	}
	return q
}

// write writes a value as a column of it alone does.
func (q Quantity) write(v float64) string {
	alone := []cell{{numbers: []float64{v}}}
	q.fill(alone, false)
	return alone[0].text
}

func two(v float64) string   { return decimal(v, 2) }
func three(v float64) string { return decimal(v, 3) }

// target100 writes a target without needless decimals: "92.5 %", "90 %".
func target100(t float64) string { return fmt.Sprintf("%.4g %%", 100*t) }

func finite(v float64) bool { return v-v == 0 }

// noSuch says that a run does not have a name, and which it has.
func noSuch(r *Run, what, name string, has []string) error {
	if slices.Contains(has, name) {
		return nil
	}
	return fmt.Errorf("history %q has no %s %q: it has %s", r.Name, what, name, cmp.Or(strings.Join(each(has, strconv.Quote), ", "), "none"))
}
