package compare

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fedkit.example/fedkit/history"
)

// Run is a history prepared for comparison: its name, and its evaluated rounds.
type Run struct {
	History  *history.History // as of the last Follow
	Name     string           // the history's name, or that of its strategy
	Rounds   int              // that were read
	Global   []Point          // scores of the one global model
	Own      []Point          // means over clients, each under the model it uses
	Personal bool             // the clients' models are not the global one

	known *identity // memoized
}

// Point is an evaluated round.
type Point struct {
	Round int            // its number, from 1
	Score *history.Score // of the round
}

// Follow reads the new rounds of a history. It may be called again while the history grows.
func (r *Run) Follow(h *history.History) {
	h = cmp.Or(h, &history.History{})
	r.History, r.Name = h, cmp.Or(h.Name, h.Strategy)
	for ; r.Rounds < len(h.Rounds); r.Rounds++ {
		rec := &h.Rounds[r.Rounds]
		if rec.Global != nil {
			r.Global = append(r.Global, Point{rec.Round, rec.Global})
		}
		if mean := rec.Mean(); mean != nil {
			r.Own = append(r.Own, Point{rec.Round, mean})
			r.Personal = r.Personal || rec.Personal
		}
	}
}

// Metrics returns the names of the metrics that scores of the run have, sorted.
func (r *Run) Metrics() []string {
	all := map[string]history.Float{}
	for _, p := range slices.Concat(r.Global, r.Own) {
		maps.Copy(all, cmp.Or(p.Score, &history.Score{}).Metrics)
	}
	return slices.Sorted(maps.Keys(all))
}

// followed returns the runs without those that are nil or have not followed a history.
func followed(all []*Run) []*Run {
	return slices.DeleteFunc(slices.Clone(all), func(r *Run) bool { return r == nil || r.History == nil })
}

// metrics returns those of all runs.
func metrics(runs []*Run) []string {
	all := slices.Concat(each(runs, (*Run).Metrics)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// evaluated reports whether there is a score.
func (r *Run) evaluated() bool { return len(r.Global)+len(r.Own) > 0 }

// regression reports whether the run's scores have R², and no accuracy.
func (r *Run) regression() bool {
	points := r.Global
	if points == nil {
		points = r.Own
	}
	return len(points) > 0 && points[0].Score.Main() == history.R2
}

// agrees reports whether two runs have the same scores wherever both were evaluated.
func (r *Run) agrees(o *Run) bool { return agree(r.Global, o.Global) && agree(r.Own, o.Own) }

func agree(a, b []Point) bool {
	at := map[int]*history.Score{}
	for _, p := range a {
		at[p.Round] = p.Score
	}
	same := func(x, y history.Float) bool { return x == y || x != x && y != y }
	return !slices.ContainsFunc(b, func(p Point) bool {
		s := at[p.Round]
		return s != nil && !(same(s.Accuracy, p.Score.Accuracy) && same(s.Loss, p.Score.Loss))
	})
}

// Runs follows every history.
//
// Errors: no history, a nil one.
func Runs(h ...*history.History) ([]*Run, error) {
	if len(h) == 0 {
		return nil, errors.New("no history given")
	}
	all := make([]*Run, len(h))
	for i, h := range h {
		if h == nil {
			return nil, fmt.Errorf("history %d is nil: did its run fail?", i+1)
		}
		all[i] = &Run{}
		all[i].Follow(h)
	}
	return all, nil
}

// Evaluated is Runs, and also refuses a history without an evaluated round.
func Evaluated(h ...*history.History) ([]*Run, error) {
	all, err := Runs(h...)
	for _, r := range all {
		if !r.evaluated() {
			return nil, fmt.Errorf("history %q has no evaluated round among its %d", r.Name, r.Rounds)
		}
	}
	return all, err
}

// compared returns the runs of histories, and what they are compared by.
func compared(follow func(...*history.History) ([]*Run, error), h []*history.History) (all []*Run, b Basis, err error) {
	if all, err = follow(h...); err == nil {
		b, err = CommonBasis(all)
	}
	return all, b, err
}

// Basis is the kind of scores that runs are compared by.
type Basis int

const (
	GlobalModel Basis = iota // scores of the one global model
	OwnModels                // means over the clients, each under the model it uses
)

// Name is short enough for a label: "global", "clients' own".
func (b Basis) Name() string { return []string{"global", "clients' own"}[b&1] }

// String says what scores are of: "of the global model".
func (b Basis) String() string {
	return []string{"of the global model", "of the clients' models (mean)"}[b&1]
}

// Points returns a run's scores.
func (b Basis) Points(r *Run) []Point {
	r = cmp.Or(r, &Run{})
	if b == GlobalModel {
		return r.Global
	}
	return r.Own
}

// Other returns the other basis.
func (b Basis) Other() Basis { return 1 - b&1 }

// CommonBasis is the global model if every run has one, else the mean over the clients' own models.
//
// Errors: one run has only a global model, and another only the clients' own; one is a regression, and another is not.
func CommonBasis(all []*Run) (Basis, error) {
	all = followed(all)
	if a := slices.IndexFunc(all, (*Run).regression); a >= 0 {
		if b := slices.IndexFunc(all, func(r *Run) bool { return r.evaluated() && !r.regression() }); b >= 0 {
			return 0, fmt.Errorf("history %q is a regression, which has R², and %q has an accuracy: they cannot be compared", all[a].Name, all[b].Name)
		}
	}
	noGlobal := slices.IndexFunc(all, func(r *Run) bool { return len(r.Global) == 0 })
	if noGlobal < 0 {
		return GlobalModel, nil
	}
	if i := slices.IndexFunc(all, func(r *Run) bool { return len(r.Own) == 0 }); i >= 0 {
		return 0, fmt.Errorf("history %q has only a global model and %q only the clients' own: they cannot be compared",
			all[i].Name, all[noGlobal].Name)
	}
	return OwnModels, nil
}

// each returns f of every element.
func each[A, B any](all []A, f func(A) B) []B {
	of := make([]B, len(all))
	for i, a := range all {
		of[i] = f(a)
	}
	return of
}
