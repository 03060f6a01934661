package fedkit

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/exclusive"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/nested"
	"fedkit.example/fedkit/internal/serving"
)

// Serving is which model each client uses: a row of Models by Assign or ByLoss, or a mixture of the rows by Mix, or of their
// predictions by Ensemble or Gate. If Models is nil, all use Global. If a strategy serves Clusters, Serve is called after every
// round, so that the record has them for rounds without evaluation too; else it is called for evaluations only, and once at the
// start. So serve Clusters from the start, all 0 before the first split. Training in Serve is part of the evaluation, and not
// recorded. Fields: go doc internal/serving.Serving
type Serving = serving.Serving

// Served returns what the strategy serves now, after a Run or with a State that you set: the Global model [1, d], the
// Models [k, d], and which of them each of the M clients uses. ByLoss is resolved into Assign and Clusters, as in an
// evaluation. It does not change State, and later rounds do not change the result.
//
// Like Federation.Predict, it works after an interrupt too, but not while the strategy is in a run. A run that was stopped
// in the middle of a round may leave a State that cannot be served, which is an error. Training and random draws in Serve are
// those of round 0 with seed 0.
//
//	sv, err := fedkit.Served(ctx, fed, rep)
//	p, err := fed.Predict(ctx, sv.Models.Take(sv.Assign[3]), datasets.TestPart, fed.Clients[3].Test)
func Served(ctx context.Context, fed *Federation, s Strategy) (sv *Serving, err error) {
	defer within("", &err)
	defer fault.Recovered("served", &err) // a panic in a method of a part
	if err := fed.ready(ctx); err != nil {
		return nil, err
	}
	all, err := nested.All(s)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", config.Of(all[len(all)-1]).Name(), err)
		}
	}()
	u := &underway{fed: fed, opts: Options{Rounds: 1, EvalEvery: 1}, on: defaultDevice(), past: newPast(fed, nil, Keep{})}
	if err := u.fill(s, all); err != nil {
		return nil, err
	}
	if _, err := checkRun(fed, all, u.opts); err != nil {
		return nil, err
	}
	u.claims = exclusive.Of(all, u.callers, "")
	if err := u.claim(); err != nil {
		return nil, err
	}
	defer u.release()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var now Serving
	r := u.newRound(ctx, 0)
	guard(r, func() error { now = evaluation{r}.served(u.strategy); return r.err })
	switch {
	case r.err == nil:
		return serving.Clone(now), nil
	case u.empty():
		return nil, fmt.Errorf("its State is empty, as before a run: %w", r.err)
	}
	return nil, r.err
}

// empty reports whether all States are zero.
func (u *underway) empty() bool {
	return !slices.ContainsFunc(u.states, func(state any) bool { return !reflect.ValueOf(state).Elem().IsZero() })
}
