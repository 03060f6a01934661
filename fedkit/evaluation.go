package fedkit

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/clientdata"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/fit"
	"fedkit.example/fedkit/internal/measure"
	"fedkit.example/fedkit/internal/nested"
	"fedkit.example/fedkit/internal/serving"
)

// evaluation scores what a strategy serves at the end of a round.
type evaluation struct{ *Round }

// evaluate scores what the strategy serves now: the global model on the whole test part, every client's own test examples
// under its served model, and those of the unseen clients; then the same on validation rows, if there are any.
func (r evaluation) evaluate(s Strategy) {
	sv := r.served(s)
	if !r.enter("evaluate") {
		return
	}
	r.serves = &sv
	r.recordClusters(&sv)
	r.record.Personal = sv.Models != nil
	r.record.Global, r.record.Scores = r.scored(&sv, datasets.TestPart)
	if sv.Models != nil {
		r.chooseOnTest(serving.ClusterModels(&sv))
	}
	r.evaluateUnseen(s, &sv)
	if r.err == nil && sv.Gate == nil && r.Fed.NeedsValidation() == nil {
		v := &history.Validation{}
		v.Global, v.Scores = r.scored(&sv, datasets.ValidationPart)
		r.record.Validation = v
	}
}

// scored returns the score of the global model on all labeled examples of a part, and each client's on its own under its served model.
func (r evaluation) scored(sv *Serving, part datasets.Part) (global *Score, own []Score) {
	if sv.Global != nil {
		all := clientdata.Labeled(r.Fed.Data.Part(part), r.Fed.partRows(part))
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
func (r evaluation) evalRows(part datasets.Part) [][]int {
	rows, m := make([][]int, r.Clients()), r.Clients()
	drawn := r.AllClients()
	if n := cohortSize(r.opts.EvalFraction, m); n < m {
		drawn = r.Rand("evaluate").Perm(m)[:n]
	}
	for _, c := range drawn {
		rows[c] = clientdata.Of(r.Fed.Clients[c], part)
	}
	return rows
}

// ownScores returns each client's score on its own examples of a part under its served model.
func (r evaluation) ownScores(sv *Serving, part datasets.Part) (scores []Score) {
	switch {
	case sv.Models == nil:
		return r.scoresOf(part, r.AllClients(), sv.Global, make([]int, r.Clients()))
	case sv.Assign != nil:
		return r.scoresOf(part, r.AllClients(), sv.Models, sv.Assign)
	case serving.MixesOutputs(sv):
		return r.split(part, r.AllClients(), func(rows []int) *engine.Scores {
			return r.scores(sv.Models, part, engine.Evaluation{Rows: rows, Weights: serving.Weights(sv, r.evalRows(part))})
		})
	}
	chunk := max(1, (256<<20)/(4*r.Fed.Task.Dim())) // personalized mixtures, at most 256 MiB of models at a time
	for clients := range slices.Chunk(r.AllClients(), chunk) {
		personal := sv.Models.Mix(sv.Mix[clients[0] : clients[0]+len(clients)])
		scores = append(scores, r.scoresOf(part, clients, personal, sequence(len(clients)))...)
	}
	return scores
}

// chooseOnTest implements Options.ChooseOnTest.
func (r evaluation) chooseOnTest(models *Matrix) {
	if !r.opts.ChooseOnTest || models == nil {
		return
	}
	best := lowest(r.Losses(models, datasets.TestPart, r.AllClients()))
	if r.enter("evaluate") {
		r.record.ChosenOnTest = r.scoresOf(datasets.TestPart, r.AllClients(), models, best)
	}
}

// served returns what the strategy serves now, with ByLoss resolved into Assign and Clusters. After an error it is empty.
func (r evaluation) served(s Strategy) Serving {
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
func (r evaluation) resolve(sv *Serving) {
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
func (r evaluation) serve(s Strategy) (sv Serving, ok bool) {
	r.quiet = true
	ok = r.in("serve", func() error {
		sv = s.Serve(r.Round)
		return r.checkServing(&sv)
	})
	return sv, ok
}

// cluster records the clusters of a round without evaluation.
func (r evaluation) cluster(s Strategy) error {
	if sv, ok := r.serve(s); ok {
		r.recordClusters(&sv)
	}
	return r.err
}

// scoresOf returns each client's score on its own examples of a part under the model assigned to it.
func (r evaluation) scoresOf(part datasets.Part, clients []int, models *Matrix, assign []int) []Score {
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
func (r evaluation) split(part datasets.Part, clients []int, by func(rows []int) *engine.Scores) []Score {
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
func (r evaluation) scores(models *Matrix, part datasets.Part, v engine.Evaluation) *engine.Scores {
	v.Part, v.Outputs = part, len(r.opts.Metrics) > 0 || r.Fed.ofValues()
	s, err := r.Fed.scores(r.ctx, models, v, r.on)
	if err != nil {
		r.Fail(err)
		return nil
	}
	return s
}

// score averages s over the examples at the given positions, which are the given rows of a part.
func (r evaluation) score(s *engine.Scores, part datasets.Part, at, rows []int) Score {
	loss, accuracy := s.Mean(0, at)
	score := Score{Loss: Float(loss), Accuracy: Float(accuracy), Examples: len(rows)}
	score.Metrics, score.Weights = r.measure(s, part, at, rows)
	return score
}

// checkServing refuses a Serving that does not suit the clients.
func (r evaluation) checkServing(sv *Serving) error {
	if err := sv.Check(r.Clients(), r.Fed.Task.Dim()); err != nil {
		return err
	}
	if r.opts.FineTune != nil && serving.MixesOutputs(sv) {
		return Invalid("Options.FineTune", "set", "left out for a strategy that mixes predictions: its clients have no one model to train")
	}
	for c, weights := range sv.Gate {
		if n := len(r.Fed.Clients[c].Test); len(weights) != n {
			return Invalid("len(Serving.Gate["+strconv.Itoa(c)+"])", len(weights), fmt.Sprintf("%d, one per test example", n))
		}
	}
	return nil
}

// evaluateUnseen scores the unseen clients.
func (r evaluation) evaluateUnseen(s Strategy, served *Serving) {
	fed := r.Fed.Unseen
	if fed == nil || !r.enter("serve unseen clients") {
		return
	}
	opts := r.opts
	opts.EvalFraction = 0 // of the seen clients
	n := evaluation{&Round{T: r.T, Fed: fed, of: fed, ctx: r.ctx, opts: opts, on: r.on, record: &Record{}, rows: map[int]int{}, stage: r.stage, past: newPast(fed, nil, Keep{}), quiet: true}}
	sv := n.serveUnseen(s, served)
	n.serves, r.unseen = &sv, n.Round
	if r.Fail(n.err); r.err == nil {
		r.record.Unseen = n.ownScores(&sv, datasets.TestPart)
		r.Fail(n.err)
	}
}

// serveUnseen returns what the unseen clients are served.
func (r evaluation) serveUnseen(s Strategy, served *Serving) (sv Serving) {
	if w := unseenServer(s); w != nil {
		sv = w.ServeUnseen(r.Round)
	} else if served.Models == nil {
		sv.Global = served.Global
	} else if sv.Models = served.Models; served.Ensemble != nil {
		sv.Ensemble = r.fitMixture(served.Models)
	} else {
		sv.ByLoss = true
	}
	if r.err == nil {
		r.Fail(r.checkServing(&sv))
	}
	r.resolve(&sv)
	return sv
}

// fitMixture returns each client's weights of fixed models, [M, k].
func (r evaluation) fitMixture(models *Matrix) (pi [][]float64) {
	k := models.Rows()
	for _, losses := range r.ExampleLosses(models, datasets.TrainPart, r.AllClients()) {
		own := slices.Repeat([]float64{1 / float64(k)}, k)
		for range 10 {
			_, own = cluster.Responsibilities(losses, own)
		}
		pi = append(pi, own)
	}
	return pi
}

// unseenServer returns the outermost UnseenServer of a strategy and those it wraps; nil if there is none.
func unseenServer(s Strategy) UnseenServer {
	all, _ := nested.All(s)
	for _, s := range all {
		if w, ok := s.(UnseenServer); ok {
			return w
		}
	}
	return nil
}

// measure returns the run's metrics, by name, on the examples at the given positions of s, which are the given rows of a part, and the
// weights of those whose weight is not the number of examples.
func (r evaluation) measure(s *engine.Scores, part datasets.Part, at, rows []int) (values, weights map[string]Float) {
	if len(r.opts.Metrics) == 0 && !r.Fed.ofValues() || len(rows) == 0 || r.err != nil {
		return nil, nil
	}
	values = map[string]Float{}
	if r.Fed.ofValues() {
		_, targets := r.Fed.Data.Part(part).Truth(rows)
		for name, v := range fit.Of(pick(s.Outputs[0], at), targets) {
			values[name] = Float(v)
		}
	}
	for _, m := range r.opts.Metrics {
		own := make([][]float32, len(at))
		for i, j := range at {
			own[i] = append(own[i], s.Outputs[0][j]...)
		}
		p := r.Fed.predictions(part, rows, own)
		n := float64(len(rows))
		v, weight, err := measure.Measured(m, &p, n)
		if err != nil {
			r.Fail(err)
			return nil, nil
		}
		values[m.String()] = Float(v)
		if weight != n && !math.IsNaN(v) { // in no mean
			if weights == nil {
				weights = map[string]Float{}
			}
			weights[m.String()] = Float(weight)
		}
	}
	if len(values) == 0 { // the outputs are not those of the targets, but what a loss of its own takes
		return nil, nil
	}
	return values, weights
}

// recordClusters records the clusters that a strategy serves, and their quality.
func (r evaluation) recordClusters(sv *Serving) {
	var err error
	r.record.Clusters = slices.Clone(sv.Clusters)
	r.record.Clustering, err = serving.Clustering(sv, partition.Groups(r.Fed.Clients))
	r.Fail(err)
}
