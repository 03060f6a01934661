package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"fedkit.example/fedkit"
)

// track is what the curves of a run are drawn from: its evaluated rounds. It can follow a run that goes on.
type track struct {
	history     *fedkit.History
	name        string
	seen        int
	global, own []point // of the one global model; mean over clients of each client's own model
}

type point struct {
	round          int
	accuracy, loss float64
}

// last is the last point, NaN if there is none.
func last(p []point) point {
	if len(p) == 0 {
		return point{accuracy: math.NaN(), loss: math.NaN()}
	}
	return p[len(p)-1]
}

// follow takes in the rounds of h that are new.
func (t *track) follow(h *fedkit.History) {
	t.history, t.name = h, cmp.Or(h.Name, h.Strategy)
	for ; t.seen < len(h.Rounds); t.seen++ {
		r := &h.Rounds[t.seen]
		if g := r.Global; g != nil {
			t.global = append(t.global, point{r.Round, float64(g.Accuracy), float64(g.Loss)})
		}
		if accuracy, loss, ok := clientMean(r.Scores); ok {
			t.own = append(t.own, point{r.Round, accuracy, loss})
		}
	}
}

// clientMean returns the mean over clients, each weighted by its number of test examples; ok is false if none has any.
func clientMean(scores []fedkit.Score) (accuracy, loss float64, ok bool) {
	var a, l, n []float64
	for _, s := range scores {
		if s.Examples > 0 {
			a, l, n = append(a, float64(s.Accuracy)), append(l, float64(s.Loss)), append(n, float64(s.Examples))
		}
	}
	if n == nil {
		return 0, 0, false
	}
	return stat.Mean(a, n), stat.Mean(l, n), true
}

// lastScores returns the clients' scores at the last round that has any.
func lastScores(h *fedkit.History) []fedkit.Score {
	for _, r := range slices.Backward(h.Rounds) {
		if slices.ContainsFunc(r.Scores, func(s fedkit.Score) bool { return s.Examples > 0 }) {
			return r.Scores
		}
	}
	return nil
}

var errNilHistory = errors.New("the history is nil: did its run fail?")

// tracks follows every history, and refuses a list with nothing in it, or with a nil.
func tracks(h []*fedkit.History) ([]*track, error) {
	if len(h) == 0 {
		return nil, errors.New("no history given")
	}
	all := make([]*track, len(h))
	for i, h := range h {
		if h == nil {
			return nil, fmt.Errorf("history %d is nil: did its run fail?", i+1)
		}
		all[i] = &track{}
		all[i].follow(h)
	}
	return all, nil
}

// evaluated is tracks, and refuses a history that was never evaluated.
func evaluated(h []*fedkit.History) ([]*track, error) {
	all, err := tracks(h)
	for _, t := range all {
		if len(t.global)+len(t.own) == 0 {
			return nil, fmt.Errorf("history %q has no evaluated round among its %d", t.name, len(t.history.Rounds))
		}
	}
	return all, err
}

// basis is what histories can be compared by.
type basis struct {
	of     string // axis title: "accuracy of the global model" has of = "of the global model"
	points func(*track) []point
}

var (
	globalModel = basis{"of the global model", func(t *track) []point { return t.global }}
	ownModels   = basis{"of the clients' models (mean)", func(t *track) []point { return t.own }}
)

// commonBasis is the global model if every run has one, else the mean over the clients' own models.
func commonBasis(all []*track) (basis, error) {
	noGlobal := slices.IndexFunc(all, func(t *track) bool { return len(t.global) == 0 })
	if noGlobal < 0 {
		return globalModel, nil
	}
	if i := slices.IndexFunc(all, func(t *track) bool { return len(t.own) == 0 }); i >= 0 {
		return basis{}, fmt.Errorf("history %q has only a global model and %q only the clients' own: they cannot be compared",
			all[i].name, all[noGlobal].name)
	}
	return ownModels, nil
}

// compared is evaluated, with what the histories can be compared by.
func compared(h []*fedkit.History) ([]*track, basis, error) {
	all, err := evaluated(h)
	if err != nil {
		return nil, basis{}, err
	}
	b, err := commonBasis(all)
	return all, b, err
}

// group is the runs of one name: one experiment with several seeds.
type group struct {
	name string
	runs []*track
}

// groups sorts runs by name, in order of appearance.
func groups(all []*track) (gs []*group) {
	for _, t := range all {
		i := slices.IndexFunc(gs, func(g *group) bool { return g.name == t.name })
		if i < 0 {
			i = len(gs)
			gs = append(gs, &group{name: t.name})
		}
		gs[i].runs = append(gs[i].runs, t)
	}
	return gs
}

// curve is the mean over the runs of one name, and its standard deviation.
type curve struct {
	name         string
	runs         int
	round        []float64
	mean, spread []float64 // spread is 0 for one run
}

// curves averages value over the runs of each name. A round counts if every one of them has a finite value there: a mean
// over other runs at other rounds would bend the curve.
func curves(all []*track, b basis, value func(point) float64) (cs []curve) {
	for _, g := range groups(all) {
		c := curve{name: g.name, runs: len(g.runs)}
		values := map[int][]float64{}
		for _, t := range g.runs {
			for _, p := range b.points(t) {
				if v := value(p); finite(v) {
					values[p.round] = append(values[p.round], v)
				}
			}
		}
		for _, p := range b.points(g.runs[0]) {
			if v := values[p.round]; len(v) == c.runs {
				m, s := meanStd(v)
				c.round, c.mean, c.spread = append(c.round, float64(p.round)), append(c.mean, m), append(c.spread, s)
			}
		}
		cs = append(cs, c)
	}
	return cs
}
