package history

import "cmp"

// FineTuned has the scores of clients that each trained the model it was served on its own training examples: see
// fedkit.Options.FineTune. Those before are the record's Scores and Unseen. A client that was not drawn for the evaluation, or whose
// model is not finite, has a score without examples.
type FineTuned struct {
	Scores     []Score `json:"scores,omitempty"`      // by client, each on its own test examples under its own model; [M]
	Unseen     []Score `json:"unseen,omitempty"`      // those of the hold-out clients
	Mean       *Score  `json:"mean,omitempty"`        // of Scores, each example counted once
	MeanUnseen *Score  `json:"mean_unseen,omitempty"` // of Unseen, likewise
}

// light returns the means alone.
func (f *FineTuned) light() *FineTuned {
	if f != nil {
		f = &FineTuned{Mean: f.Mean, MeanUnseen: f.MeanUnseen}
	}
	return f
}

// MeanFineTuned returns the mean score of the fine-tuned clients; nil without fine-tuning. Mean has that before.
func (r *Record) MeanFineTuned() *Score { return cmp.Or(r.FineTuned, &FineTuned{}).Mean }

// MeanUnseenFineTuned is MeanFineTuned over the hold-out clients.
func (r *Record) MeanUnseenFineTuned() *Score { return cmp.Or(r.FineTuned, &FineTuned{}).MeanUnseen }
