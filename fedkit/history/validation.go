package history

import (
	"cmp"
	"slices"
)

// Validation has the scores of an evaluated round on the validation rows, the training rows on which no client trains. Global and
// Scores are as those of a Record, but for the rows; Mean and Spread stand for Scores that were left out.
type Validation struct {
	Global *Score  `json:"global,omitempty"` // of the global model, on all validation rows
	Scores []Score `json:"scores,omitempty"` // by client, each on its own validation rows under its served model; [M]
	Mean   *Score  `json:"mean,omitempty"`   // of Scores, each example counted once
	Spread *Spread `json:"spread,omitempty"` // of Scores
}

// validation returns the scores on validation rows, zero if there are none.
func (r *Record) validation() *Validation { return cmp.Or(r.Validation, &Validation{}) }

// light returns the validation without the clients' own scores.
func (v *Validation) light() *Validation {
	if v == nil || v.Scores == nil {
		return v
	}
	own := Record{Scores: v.Scores}
	return &Validation{Global: v.Global, Mean: own.Mean(), Spread: own.Spread()}
}

// OnValidation returns the history with the scores on validation rows in place of those on test rows, so that whatever compares or
// draws histories chooses options without the test rows:
//
//	plot.By("η", compare.Accuracy, validated...).Show() // each h.OnValidation()
//
// Scores of unseen clients, and those of Options.ChooseOnTest and FineTune, are left out; rounds without scores on validation rows have none.
func (h *History) OnValidation() *History {
	on := *h
	on.onValidation = true
	on.Rounds = make([]Record, len(h.Rounds))
	for i := range h.Rounds {
		on.Rounds[i] = h.Rounds[i].OnValidation()
	}
	return &on
}

// Scored returns the kind of rows that the scores are of, "test" or, after OnValidation, "validation".
func (h *History) Scored() string {
	if h.onValidation {
		return "validation"
	}
	return "test"
}

// OnValidation is History.OnValidation for one round.
func (r Record) OnValidation() Record {
	v := r.validation()
	summary := Summary{Training: r.Training(), Mean: v.Mean, Spread: v.Spread, Clients: r.Clients()}
	r.Global, r.Scores, r.Unseen, r.ChosenOnTest, r.Validation, r.FineTuned, r.Summary = v.Global, v.Scores, nil, nil, nil, nil, &summary
	r.trimSummary()
	return r
}

// Validated reports whether every evaluated round has scores on validation rows, and there is one.
func (h *History) Validated() bool {
	return slices.ContainsFunc(h.Rounds, func(r Record) bool { return r.Validation != nil }) &&
		!slices.ContainsFunc(h.Rounds, func(r Record) bool { return r.Validation == nil && r.Score() != nil })
}
