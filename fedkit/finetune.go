package fedkit

import (
	"fmt"
	"slices"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/history"
)

// fineTune implements Options.FineTune, in the last round.
func (u *underway) fineTune(r *Round) error {
	if u.opts.FineTune == nil || r.T < u.opts.Rounds {
		return nil
	}
	begin := time.Now()
	guard(r, func() error {
		scores, unseen := evaluation{r}.fineTuned(), []Score(nil)
		if r.unseen != nil && r.err == nil {
			unseen = evaluation{r.unseen}.fineTuned()
			r.Fail(r.unseen.err)
		}
		all := Record{Scores: scores, Unseen: unseen}
		r.record.FineTuned = &history.FineTuned{Scores: scores, Unseen: unseen, Mean: all.Mean(), MeanUnseen: all.MeanUnseen()}
		return r.err
	})
	r.record.EvalTime += time.Since(begin).Seconds()
	if r.err != nil {
		return fmt.Errorf("round %d: fine-tune: %w", r.T, r.err)
	}
	return nil
}

// fineTuned returns each client's score on its own test examples after it has trained the model it is served. Those that the evaluation
// did not draw do not train.
func (r evaluation) fineTuned() []Score {
	r.quiet = true
	scores, rows := make([]Score, r.Clients()), r.evalRows(datasets.TestPart)
	drawn := slices.DeleteFunc(r.AllClients(), func(c int) bool { return len(rows[c]) == 0 })
	for clients := range slices.Chunk(drawn, max(1, (256<<20)/(4*r.Fed.Task.Dim()))) { // at most 256 MiB of models at a time
		u := r.Train(Job{Clients: clients, Start: r.servedTo(clients), Local: *r.opts.FineTune, StayLocal: true})
		if r.err != nil {
			return nil
		}
		for i, s := range r.scoresOf(datasets.TestPart, u.Clients(), u.Local, sequence(len(u.Results))) {
			scores[u.Results[i].Client] = s
		}
	}
	return scores
}

// servedTo returns the models that clients are served, [1, d] or [n, d].
func (r evaluation) servedTo(clients []int) *Matrix {
	switch sv := r.serves; {
	case sv.Models == nil:
		return sv.Global
	case sv.Assign != nil:
		return sv.Models.Take(pick(sv.Assign, clients)...)
	default:
		return sv.Models.Mix(pick(sv.Mix, clients))
	}
}
