package fedkit

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/fault"
)

// Served returns what the strategy serves now, after a Run or with a State that you set: the Global model [1, d], the
// Models [k, d], and which of them each of the M clients uses. ByLoss is resolved into Assign and Clusters, as in an
// evaluation. It does not change State, and later rounds do not change the result.
//
// Like Federation.Predict, it works after an interrupt too, but not while the strategy is in a run. A run that was stopped
// in the middle of a round may leave a State that cannot be served, which is an error. Training and random draws in Serve are
// those of round 0 with seed 0.
//
//	sv, err := fedkit.Served(ctx, fed, rep)
//	p, err := fed.Predict(ctx, sv.Models.Take(sv.Assign[3]), fedkit.TestPart, fed.Clients[3].Test)
func Served(ctx context.Context, fed *Federation, s Strategy) (*Serving, error) {
	sv, err := served(ctx, fed, s)
	if err != nil {
		return nil, fmt.Errorf("fedkit: %w", err)
	}
	return sv, nil
}

func served(ctx context.Context, fed *Federation, s Strategy) (sv *Serving, err error) {
	defer fault.Recovered("served", &err) // a panic in a method of a part
	if ctx == nil {
		return nil, Invalid("ctx", "nil", "a context, such as context.Background()")
	}
	if err := fed.made(); err != nil {
		return nil, err
	}
	all, err := unwrap(s)
	if err != nil {
		return nil, err
	}
	u := &underway{fed: fed, strategy: s, opts: Options{Rounds: 1, EvalEvery: 1}, on: defaultDevice(), past: newPast(fed, nil, Keep{}), states: statesOf(all)}
	if sv, err = u.served(ctx, all); err != nil {
		return nil, fmt.Errorf("%s: %w", config.Of(all[len(all)-1]).Name(), err)
	}
	return sv, nil
}

// served checks the options, and asks the strategy.
func (u *underway) served(ctx context.Context, all []Strategy) (*Serving, error) {
	if err := checkRun(u.fed, all, u.opts, nil); err != nil {
		return nil, err
	}
	u.claims = claimsOf(all, u.states, "")
	if err := u.claim(); err != nil {
		return nil, err
	}
	defer u.release()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var sv Serving
	r := u.newRound(ctx, 0)
	guard(r, u.strategy, func(s Strategy) error { sv = r.served(s); return r.err })
	switch {
	case r.err == nil:
		return sv.clone(), nil
	case u.empty():
		return nil, fmt.Errorf("its State is empty, as before a run: %w", r.err)
	}
	return nil, r.err
}

// empty reports whether all States are zero.
func (u *underway) empty() bool {
	return !slices.ContainsFunc(u.states, func(state any) bool { return !reflect.ValueOf(state).Elem().IsZero() })
}

// clone shares only the models with a State, which are immutable.
func (s Serving) clone() *Serving {
	s.Assign, s.Clusters, s.Mix = slices.Clone(s.Assign), slices.Clone(s.Clusters), slices.Clone(s.Mix)
	for i := range s.Mix {
		s.Mix[i] = slices.Clone(s.Mix[i])
	}
	return &s
}
