package fedkit

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/holdings"
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

// evaluate scores what the strategy serves now: the global model on the whole test part, every client's own test examples
// under its served model, and those of the unseen clients; then the same on validation rows, if there are any.
func (r *Round) evaluate(s Strategy) {
	sv := r.served(s)
	if !r.enter("evaluate") {
		return
	}
	r.recordClusters(&sv)
	r.record.Personal = sv.Models != nil
	r.record.Global, r.record.Scores = r.scored(&sv, datasets.TestPart)
	if sv.Models != nil {
		r.chooseOnTest(sv.clusterModels())
	}
	r.evaluateUnseen(s, &sv)
	if r.err == nil && sv.Gate == nil && r.Fed.NeedsValidation() == nil {
		v := &history.Validation{}
		v.Global, v.Scores = r.scored(&sv, datasets.ValidationPart)
		r.record.Validation = v
	}
}

// scored returns the score of the global model on all labeled examples of a part, and each client's on its own under its served model.
func (r *Round) scored(sv *Serving, part datasets.Part) (global *Score, own []Score) {
	if sv.Global != nil {
		all := holdings.Labeled(r.Fed.Data.Part(part), r.Fed.partRows(part))
		s := r.scores(sv.Global, part, engine.Evaluation{Rows: all})
		if s == nil {
			return nil, nil
		}
		score := r.score(s, part, sequence(len(all)), all)
		score.Weights = nil // for means over clients
		global = &score
		if sv.Models == nil { // one model for all: every client's examples have been scored
			place := make([]int, r.Fed.Data.Part(part).Len())
			for at, row := range all {
				place[row] = at
			}
			for _, rows := range r.evalRows(part) {
				own = append(own, r.score(s, part, pick(place, rows), rows))
			}
			return global, own
		}
	}
	return global, r.ownScores(sv, part)
}

// evalRows returns each client's examples of a part that an evaluation scores, none if it is not drawn: see Options.EvalFraction.
func (r *Round) evalRows(part datasets.Part) [][]int {
	rows, m := make([][]int, r.Clients()), r.Clients()
	drawn := r.AllClients()
	if n := cohortSize(r.opts.EvalFraction, m); n < m {
		drawn = r.Rand("evaluate").Perm(m)[:n]
	}
	for _, c := range drawn {
		rows[c] = holdings.Of(r.Fed.Clients[c], part)
	}
	return rows
}

// ownScores returns each client's score on its own examples of a part under its served model.
func (r *Round) ownScores(sv *Serving, part datasets.Part) (scores []Score) {
	switch {
	case sv.Models == nil:
		return r.scoresOf(part, r.AllClients(), sv.Global, make([]int, r.Clients()))
	case sv.Assign != nil:
		return r.scoresOf(part, r.AllClients(), sv.Models, sv.Assign)
	case sv.mixesOutputs():
		return r.split(part, r.AllClients(), func(rows []int) *engine.Scores {
			return r.scores(sv.Models, part, engine.Evaluation{Rows: rows, Weights: sv.weights(r.evalRows(part))})
		})
	}
	chunk := max(1, (256<<20)/(4*r.Fed.Task.Dim())) // personalized mixtures, at most 256 MiB of models at a time
	for clients := range slices.Chunk(r.AllClients(), chunk) {
		personal := sv.Models.Mix(sv.Mix[clients[0] : clients[0]+len(clients)])
		scores = append(scores, r.scoresOf(part, clients, personal, sequence(len(clients)))...)
	}
	return scores
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

// chooseOnTest implements Options.ChooseOnTest.
func (r *Round) chooseOnTest(models *Matrix) {
	if !r.opts.ChooseOnTest || models == nil {
		return
	}
	best := lowest(r.Losses(models, datasets.TestPart, r.AllClients()))
	if r.enter("evaluate") {
		r.record.ChosenOnTest = r.scoresOf(datasets.TestPart, r.AllClients(), models, best)
	}
}

// served returns what the strategy serves now, with ByLoss resolved into Assign and Clusters. After an error it is empty.
func (r *Round) served(s Strategy) Serving {
	sv, ok := r.serve(s)
	if ok {
		r.resolve(&sv)
	}
	if r.err != nil {
		return Serving{}
	}
	return sv
}

// resolve replaces ByLoss by Assign, and sets Clusters and Centroids unless the strategy has its own.
func (r *Round) resolve(sv *Serving) {
	if !sv.ByLoss || !r.enter("evaluate") {
		return
	}
	sv.Assign, sv.ByLoss = r.LowestLoss(sv.Models, r.AllClients()), false
	if sv.Clusters == nil {
		sv.Clusters = sv.Assign
	}
	if sv.Centroids == nil {
		sv.Centroids = sv.Models
	}
}

// serve returns what the strategy serves now, and whether it is valid.
func (r *Round) serve(s Strategy) (sv Serving, ok bool) {
	r.quiet = true
	if r.enter("serve") {
		sv = s.Serve(r)
	}
	if r.err == nil {
		r.Fail(r.checkServing(&sv))
	}
	return sv, r.err == nil
}

// cluster records the clusters of a round without evaluation.
func (r *Round) cluster(s Strategy) error {
	if sv, ok := r.serve(s); ok {
		r.recordClusters(&sv)
	}
	return r.err
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

// scoresOf returns each client's score on its own examples of a part under the model assigned to it.
func (r *Round) scoresOf(part datasets.Part, clients []int, models *Matrix, assign []int) []Score {
	var which []int
	eval := r.evalRows(part)
	for i, c := range clients {
		which = append(which, slices.Repeat(assign[i:i+1], len(eval[c]))...)
	}
	return r.split(part, clients, func(rows []int) *engine.Scores {
		return r.scores(models, part, engine.Evaluation{Rows: rows, Which: which})
	})
}

// split returns each client's score on its own examples of a part; by scores the examples of all.
func (r *Round) split(part datasets.Part, clients []int, by func(rows []int) *engine.Scores) []Score {
	var rows []int
	eval := r.evalRows(part)
	for _, c := range clients {
		rows = append(rows, eval[c]...)
	}
	all := by(rows)
	if all == nil {
		return nil
	}
	scores, at := make([]Score, len(clients)), sequence(len(rows))
	for i, c := range clients {
		own := eval[c]
		scores[i] = r.score(all, part, at[:len(own)], own)
		at = at[len(own):]
	}
	return scores
}

// scores evaluates models on examples of a part, as v says. After an error it is nil.
func (r *Round) scores(models *Matrix, part datasets.Part, v engine.Evaluation) *engine.Scores {
	v.Part, v.Outputs = part, len(r.opts.Metrics) > 0 || r.Fed.ofValues()
	s, err := r.Fed.scores(r.ctx, models, v, r.on)
	if err != nil {
		r.Fail(err)
		return nil
	}
	return s
}

// score averages s over the examples at the given positions, which are the given rows of a part.
func (r *Round) score(s *engine.Scores, part datasets.Part, at, rows []int) Score {
	loss, accuracy := s.Mean(0, at)
	score := Score{Loss: Float(loss), Accuracy: Float(accuracy), Examples: len(rows)}
	score.Metrics, score.Weights = r.measure(s, part, at, rows)
	return score
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

// checkServing refuses a Serving that does not suit the clients.
func (r *Round) checkServing(sv *Serving) error {
	if err := sv.Check(r.Clients(), r.Fed.Task.Dim()); err != nil {
		return err
	}
	for c, weights := range sv.Gate {
		if n := len(r.Fed.Clients[c].Test); len(weights) != n {
			return Invalid("len(Serving.Gate["+strconv.Itoa(c)+"])", len(weights), fmt.Sprintf("%d, one per test example", n))
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

// maxCentroids is the largest number of clusters whose distances are recorded.
const maxCentroids = 64

// recordClusters records the clusters that a strategy serves, and their quality.
func (r *Round) recordClusters(sv *Serving) {
	r.record.Clusters = slices.Clone(sv.Clusters)
	if sv.Clusters == nil {
		return
	}
	c := &history.Clustering{}
	names := slices.Clone(sv.Clusters)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name >= 0 {
			c.Count++
		}
	}
	truth := partition.Groups(r.Fed.Clients)
	agree := cluster.Agreement{ARI: math.NaN(), NMI: math.NaN(), Purity: math.NaN()}
	if slices.Max(truth) > slices.Min(truth) {
		agree = cluster.Agree(sv.Clusters, truth)
	}
	c.ARI, c.NMI, c.Purity = Float(agree.ARI), Float(agree.NMI), Float(agree.Purity)
	c.Distances = r.distances(sv)
	r.record.Clustering = c
}

// distances returns the pairwise Euclidean distances of the clusters' models.
func (r *Round) distances(sv *Serving) (d []Float) {
	models := sv.clusterModels()
	if models == nil && sv.ByLoss {
		models = sv.Models
	}
	if models.Rows() < 2 || models.Rows() > maxCentroids {
		return nil
	}
	p, err := models.Points()
	if err != nil {
		r.Fail(err)
		return nil
	}
	for _, v := range p.Distances().Values() {
		d = append(d, Float(v))
	}
	return d
}
