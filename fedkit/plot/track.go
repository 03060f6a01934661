package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit"
)

// track is what the curves of a run are drawn from: its evaluated rounds. It can follow a run that goes on.
type track struct {
	name          string
	seen          int
	global, local []point // of the one global model; mean over clients of each client's own
}

type point struct {
	round          int
	accuracy, loss float64
}

// follow takes in the rounds of h that are new.
func (t *track) follow(h *fedkit.History) {
	t.name = h.Name
	if t.name == "" {
		t.name = h.Strategy
	}
	for ; t.seen < len(h.Rounds); t.seen++ {
		r := &h.Rounds[t.seen]
		if g := r.Global; g != nil {
			t.global = append(t.global, point{r.Round, float64(g.Accuracy), float64(g.Loss)})
		}
		if accuracy, loss, ok := clientMean(r.Scores); ok {
			t.local = append(t.local, point{r.Round, accuracy, loss})
		}
	}
}

// clientMean returns the mean over clients, each weighted by its number of test examples; ok is false if none has any.
func clientMean(scores []fedkit.Score) (accuracy, loss float64, ok bool) {
	n := 0.0
	for _, s := range scores {
		if w := float64(s.Examples); w > 0 {
			accuracy, loss, n = accuracy+w*float64(s.Accuracy), loss+w*float64(s.Loss), n+w
		}
	}
	return accuracy / n, loss / n, n > 0
}

// tracks follows every history, and refuses a list that cannot be drawn.
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
		if len(all[i].global)+len(all[i].local) == 0 {
			return nil, fmt.Errorf("history %q has no evaluated round among its %d", all[i].name, len(h.Rounds))
		}
	}
	return all, nil
}

// basis is what the histories can be compared by.
type basis struct {
	local bool
	of    string // axis title: "accuracy of the global model" has of = "of the global model"
}

func (b basis) points(t *track) []point {
	if b.local {
		return t.local
	}
	return t.global
}

// commonBasis is the global model if every run has one, else the mean over the clients' own models.
func commonBasis(all []*track) (basis, error) {
	if !slices.ContainsFunc(all, func(t *track) bool { return len(t.global) == 0 }) {
		return basis{false, "of the global model"}, nil
	}
	if i := slices.IndexFunc(all, func(t *track) bool { return len(t.local) == 0 }); i >= 0 {
		j := slices.IndexFunc(all, func(t *track) bool { return len(t.global) == 0 })
		return basis{}, fmt.Errorf("history %q has only a global model and %q only the clients' own: they cannot be compared",
			all[i].name, all[j].name)
	}
	return basis{true, "of the clients' models (mean)"}, nil
}

// curve is the mean over the runs of one name, and its standard deviation.
type curve struct {
	name         string
	runs         int
	round        []float64
	mean, spread []float64 // spread is 0 for one run
}

// curves groups the runs by name, in order of appearance, and averages value over each group. A round counts if every
// run of the group has a finite value there: a mean over other runs at other rounds would bend the curve.
func curves(all []*track, b basis, value func(point) float64) []curve {
	var names []string
	groups := map[string][]*track{}
	for _, t := range all {
		if groups[t.name] == nil {
			names = append(names, t.name)
		}
		groups[t.name] = append(groups[t.name], t)
	}
	var cs []curve
	for _, name := range names {
		c := curve{name: name, runs: len(groups[name])}
		values := map[int][]float64{}
		for _, t := range groups[name] {
			for _, p := range b.points(t) {
				if v := value(p); finite(v) {
					values[p.round] = append(values[p.round], v)
				}
			}
		}
		for _, p := range b.points(groups[name][0]) {
			if v := values[p.round]; len(v) == c.runs {
				m, s := meanStd(v)
				c.round, c.mean, c.spread = append(c.round, float64(p.round)), append(c.mean, m), append(c.spread, s)
			}
		}
		cs = append(cs, c)
	}
	return cs
}

// meanStd returns the mean and the sample standard deviation (divisor n−1; 0 for one value).
func meanStd(v []float64) (mean, std float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	if len(v) < 2 {
		return mean, 0
	}
	for _, x := range v {
		std += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(std / float64(len(v)-1))
}
