package fedkit

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/nested"
	"fedkit.example/fedkit/internal/rows"
	"gonum.org/v1/gonum/floats"
)

// Serving is which model each client uses: a row of Models by Assign or ByLoss, or a mixture of the rows by Mix, or of their
// predictions by Ensemble or Gate. If Models is nil, all use Global. If a strategy serves Clusters, Serve is called after every
// round, so that the record has them for rounds without evaluation too; else it is called for evaluations only, and once at the
// start. So serve Clusters from the start, all 0 before the first split. Training in Serve is part of the evaluation, and not
// recorded.
type Serving struct {
	Global   *Matrix     // global model [1, d], if the strategy has one
	Models   *Matrix     // [k, d]
	Assign   []int       // by client, the row it uses
	ByLoss   bool        // each client uses the row with the lowest loss on its training examples; instead of Assign
	Mix      [][]float64 // by client, the weight of every row, [M, k]; instead of Assign
	Clusters []int       // by client, its cluster for the record, −1 for none; default with ByLoss: the row it uses at an evaluation

	// Ensemble mixes the predictions of the rows, instead of Assign: by client, the weight π of every row, [M, k], which are ≥ 0 and
	// sum to 1. A client's prediction is Σ_k π_k softmax(h_k(x)), whose logarithm takes the place of a model's outputs in loss,
	// accuracy and metrics. Of tags it is Σ_k π_k σ(h_k(x)), whose log odds do, and for a regression Σ_k π_k h_k(x).
	Ensemble [][]float64
	// Gate is Ensemble with weights for each example, as by a gating network: by client and by its test example, in the order of
	// Clients[i].Test, [M][n, k]. Validation rows, which have no such weights, are then not scored.
	Gate [][][]float64

	// Centroids are the clusters' models, [K, d], for their distances in the record; default: Models, if Assign equals Clusters or
	// with ByLoss.
	Centroids *Matrix
}

// clusterModels returns the models of the clusters, nil if the strategy serves none.
func (s *Serving) clusterModels() *Matrix {
	switch {
	case s.Centroids != nil:
		return s.Centroids
	case s.Clusters != nil && slices.Equal(s.Assign, s.Clusters):
		return s.Models
	}
	return nil
}

// mixesOutputs reports whether predictions are mixed.
func (s *Serving) mixesOutputs() bool { return s.Ensemble != nil || s.Gate != nil }

// weights returns the weights of the models for each client's examples, one client after the other, all or none of a client's.
func (s *Serving) weights(examples [][]int) (weights [][]float64) {
	for c, own := range examples {
		if s.Gate != nil && len(own) > 0 {
			weights = append(weights, s.Gate[c]...)
		} else if s.Ensemble != nil {
			weights = append(weights, slices.Repeat(s.Ensemble[c:c+1], len(own))...)
		}
	}
	return weights
}

// Check refuses a Serving that does not suit m clients and models of d parameters. Runs check what strategies serve.
func (s *Serving) Check(m, d int) error {
	if s.Global == nil && s.Models == nil {
		return Invalid("Serving", "empty", "a global model or models")
	}
	for _, models := range []*Matrix{s.Global, s.Models, s.Centroids} {
		if models == nil {
			continue
		}
		if err := rows.CheckCols(models, "Serving", d); err != nil {
			return err
		}
	}
	if s.Global != nil && s.Global.Rows() != 1 {
		return Invalid("Serving.Global", fmt.Sprintf("[%d, %d]", s.Global.Rows(), s.Global.Cols()), fmt.Sprintf("[1, %d]: one model", d))
	}
	choices := []string{}
	for _, list := range []struct {
		name   string
		n      int // entries, m if it has none per client
		set    bool
		choice bool // of what a client uses
	}{
		{"Assign", len(s.Assign), s.Assign != nil, true}, {"ByLoss", m, s.ByLoss, true}, {"Mix", len(s.Mix), s.Mix != nil, true},
		{"Ensemble", len(s.Ensemble), s.Ensemble != nil, true}, {"Gate", len(s.Gate), s.Gate != nil, true}, {"Clusters", len(s.Clusters), s.Clusters != nil, false},
	} {
		switch {
		case !list.set:
			continue
		case list.n != m:
			return Invalid("len(Serving."+list.name+")", list.n, fmt.Sprintf("%d, one per client", m))
		case list.choice && s.Models == nil:
			return Invalid("Serving."+list.name, "given without Models", "with Models")
		case list.choice:
			choices = append(choices, list.name)
		}
	}
	if s.Models == nil {
		return nil
	}
	if len(choices) != 1 {
		return Invalid("Serving", fmt.Sprintf("%d of Assign, ByLoss, Mix, Ensemble and Gate", len(choices)), "one of them")
	}
	return s.checkChoice(s.Models.Rows())
}

// checkChoice refuses rows and weights that do not suit k models.
func (s *Serving) checkChoice(k int) error {
	for c, a := range s.Assign {
		if a < 0 || a >= k {
			return Invalid("Serving.Assign", a, fmt.Sprintf("in [0, %d) (client %d)", k, c))
		}
	}
	if err := checkWeights("Mix", s.Mix, k, false); err != nil {
		return err
	}
	if err := checkWeights("Ensemble", s.Ensemble, k, true); err != nil {
		return err
	}
	for c, weights := range s.Gate {
		if err := checkWeights("Gate["+strconv.Itoa(c)+"]", weights, k, true); err != nil {
			return err
		}
	}
	return nil
}

// checkWeights refuses rows without a weight for each of k models, or that are no distribution if they must be one.
func checkWeights(name string, rows [][]float64, k int, distribution bool) error {
	for i, weights := range rows {
		field := "Serving." + name + "[" + strconv.Itoa(i) + "]"
		switch {
		case len(weights) != k:
			return Invalid("len("+field+")", len(weights), fmt.Sprintf("%d, one per model", k))
		case distribution && !(floats.Min(weights) >= 0 && math.Abs(floats.Sum(weights)-1) <= 1e-3):
			return Invalid(field, weights, "weights ≥ 0 that sum to 1")
		}
	}
	return nil
}

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
	all, err := nested.All(s)
	if err != nil {
		return nil, err
	}
	u := &underway{fed: fed, strategy: s, opts: Options{Rounds: 1, EvalEvery: 1}, on: defaultDevice(), past: newPast(fed, nil, Keep{}), states: nested.States(all)}
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
	guard(r, u.strategy, func(s Strategy) error { sv = evaluation{r}.served(s); return r.err })
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
	s.Assign, s.Clusters, s.Mix, s.Ensemble, s.Gate = slices.Clone(s.Assign), slices.Clone(s.Clusters), cloneRows(s.Mix), cloneRows(s.Ensemble), slices.Clone(s.Gate)
	for i := range s.Gate {
		s.Gate[i] = cloneRows(s.Gate[i])
	}
	return &s
}

func cloneRows(rows [][]float64) [][]float64 {
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i] = slices.Clone(rows[i])
	}
	return rows
}
