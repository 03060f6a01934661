package plot

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit"
)

// track is what the curves of a run are drawn from: its evaluated rounds. It can follow a run that goes on.
type track struct {
	history     *fedkit.History
	name        string
	seen        int     // rounds
	global, own []point // of the one global model; mean over clients of the model each uses
	personal    bool    // the clients' models are not the global one
	stopped     bool
	over        bool   // Live: the run has ended
	label       string // Live: the name, and what sets the run apart from others of that name
}

// point is an evaluated round.
type point struct {
	round int
	score *fedkit.Score
}

var noScore = fedkit.Score{Loss: fedkit.Float(math.NaN()), Accuracy: fedkit.Float(math.NaN())}

// last is the last score; of NaN if there is none.
func last(p []point) *fedkit.Score {
	if len(p) == 0 {
		return &noScore
	}
	return p[len(p)-1].score
}

// follow takes in the rounds of h that are new.
func (t *track) follow(h *fedkit.History) {
	t.history, t.name, t.stopped = h, cmp.Or(h.Name, h.Strategy), h.Stopped
	for ; t.seen < len(h.Rounds); t.seen++ {
		r := &h.Rounds[t.seen]
		if r.Global != nil {
			t.global = append(t.global, point{r.Round, r.Global})
		}
		if mean := clientMean(r.Scores); mean != nil {
			t.own = append(t.own, point{r.Round, mean})
			t.personal = t.personal || r.Personal
		}
	}
}

// agrees says whether two runs have the same scores wherever both were evaluated.
func (t *track) agrees(u *track) bool { return agree(t.global, u.global) && agree(t.own, u.own) }

func agree(a, b []point) bool {
	at := map[int]*fedkit.Score{}
	for _, p := range a {
		at[p.round] = p.score
	}
	same := func(x, y fedkit.Float) bool { return x == y || x != x && y != y }
	return !slices.ContainsFunc(b, func(p point) bool {
		s := at[p.round]
		return s != nil && !(same(s.Accuracy, p.score.Accuracy) && same(s.Loss, p.score.Loss))
	})
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
