package fedkit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/fit"
)

// StopAt ends a run early, after an evaluation: the first one at which a quantity has reached Value, or that after which it has not
// improved for Patience evaluations. The zero value ends no run. The run is then complete, not Stopped, and History.Early says why
// it ended: run again from its checkpoint it has the same rounds, and a study stores it. The strategy serves its last models, not
// its best.
//
// The quantity is the global model's or, if there is none, the mean over the clients (Record.Score), on validation rows if the
// clients have them (see partition.Validation), else on test rows. A test score at a round that was chosen by test scores is
// optimistic: to report it, hold validation rows back. To count the rounds to a target, test rows are fine.
type StopAt struct {
	// Quantity is "accuracy", of a regression "R²", "RMSE" or "MAE", "loss", or the name of one of Options.Metrics; "test accuracy" is on
	// test rows in any case. Less is better of losses and errors, and of a metric with a method LowerIsBetter() bool that returns true.
	// Default: accuracy, or R².
	Quantity string
	Value    float64 // ends the run at this value, or a better one; default none
	Patience int     `range:"[1,inf)" default:"no limit"` // ends the run after this many evaluations in a row without a new best value
}

// stopRule follows a run for its StopAt.
type stopRule struct {
	StopAt
	rounds    int    // planned
	name      string // of the quantity
	onTest    bool   // also if there are validation rows
	sign      Float  // −1 if less is better
	best      Float  // so far, times the sign
	at, since int    // its round, and how many evaluations came after it
}

// stopRule resolves StopAt, and refuses one that names nothing of the run, or could not end it.
func (o Options) stopRule(fed *Federation) (*stopRule, error) {
	s := &stopRule{StopAt: o.StopAt, rounds: o.Rounds, sign: 1}
	s.name, s.onTest = strings.CutPrefix(s.Quantity, "test ")
	names, lower := []string{string(history.Accuracy), "loss"}, []string{"loss", fit.RMSE, fit.MAE}
	if fed.ofValues() {
		names = []string{fit.R2, fit.RMSE, fit.MAE, "loss"}
	}
	s.name = cmp.Or(s.name, names[0])
	for _, m := range o.Metrics {
		names = append(names, m.String())
		if d, ok := m.(interface{ LowerIsBetter() bool }); ok && d.LowerIsBetter() {
			lower = append(lower, m.String())
		}
	}
	if slices.Contains(lower, s.name) {
		s.sign = -1
	}
	switch v := s.Value; {
	case !slices.Contains(names, s.name):
		return nil, Invalid("Options.StopAt.Quantity", strconv.Quote(s.Quantity), fmt.Sprintf("one of %q, or one of these after \"test \"", names))
	case v-v != 0:
		return nil, Invalid("Options.StopAt.Value", v, "finite, or 0 for none")
	case s.name == string(history.Accuracy) && v < 0 || s.name == names[0] && v > 1:
		return nil, Invalid("Options.StopAt.Value", v, "at most 1, and an accuracy at least 0; 0 for none")
	case v == 0 && s.Patience == 0 && s.Quantity != "":
		return nil, Invalid("Options.StopAt", fmt.Sprintf("%q alone", s.Quantity), "with a Value or a Patience")
	}
	return s, nil
}

// see takes the records of a run in order, and returns why it ends after this one; "" if it goes on, or that is its last round anyway.
func (s *stopRule) see(r Record) string {
	if s.Value == 0 && s.Patience == 0 {
		return ""
	}
	if r.Round == 1 {
		s.at, s.since = 0, 0
	}
	rows := "test"
	if r.Validation != nil && !s.onTest {
		r, rows = r.OnValidation(), "validation"
	}
	score := r.Score()
	if score == nil || score.Examples == 0 {
		return ""
	}
	v, ok := score.Metrics[s.name]
	if !ok {
		v = map[string]Float{"accuracy": score.Accuracy, "loss": score.Loss}[s.name]
	}
	v *= s.sign
	if s.since++; s.at == 0 || v > s.best || v == v && s.best != s.best {
		s.best, s.at, s.since = v, r.Round, 0
	}
	switch {
	case r.Round >= s.rounds:
	case s.Value != 0 && v >= s.sign*Float(s.Value):
		return fmt.Sprintf("%s %s of %.4g in round %d reached %g", rows, s.name, s.sign*v, r.Round, s.Value)
	case s.Patience > 0 && s.since >= s.Patience:
		return fmt.Sprintf("%s %s of %.4g in round %d was still the best in round %d", rows, s.name, s.sign*s.best, s.at, r.Round)
	}
	return ""
}
