// Package stopping has the rule that ends runs early: see fedkit.StopAt.
package stopping

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/fit"
)

// Rule ends a run at a value of a quantity, or without improvement for a number of evaluations. Its fields are those of fedkit.StopAt,
// and must be what Resolve accepts.
type Rule struct {
	Quantity string
	Value    float64
	Patience int
	Rounds   int // planned

	name      string        // of the quantity
	onTest    bool          // also if there are validation rows
	sign      history.Float // −1 if less is better
	best      history.Float // so far, times the sign
	at, since int           // its round, and how many evaluations came after it
}

// Resolve finds the quantity, and refuses a rule that names nothing of a run with these metrics, or could not end it. ofValues says that
// the run is of real values.
func Resolve[M fmt.Stringer](s Rule, ofValues bool, metrics []M) (*Rule, error) {
	s.sign = 1
	s.name, s.onTest = strings.CutPrefix(s.Quantity, "test ")
	names, lower := []string{string(history.Accuracy), "loss"}, []string{"loss", fit.RMSE, fit.MAE}
	if ofValues {
		names = []string{fit.R2, fit.RMSE, fit.MAE, "loss"}
	}
	s.name = cmp.Or(s.name, names[0])
	for _, m := range metrics {
		names = append(names, m.String())
		if d, ok := any(m).(interface{ LowerIsBetter() bool }); ok && d.LowerIsBetter() {
			lower = append(lower, m.String())
		}
	}
	if slices.Contains(lower, s.name) {
		s.sign = -1
	}
	switch v := s.Value; {
	case !slices.Contains(names, s.name):
		return nil, fault.Invalid("Options.StopAt.Quantity", strconv.Quote(s.Quantity), fmt.Sprintf("one of %q, or one of these after \"test \"", names))
	case v-v != 0:
		return nil, fault.Invalid("Options.StopAt.Value", v, "finite, or 0 for none")
	case s.name == string(history.Accuracy) && v < 0 || s.name == names[0] && v > 1:
		return nil, fault.Invalid("Options.StopAt.Value", v, "at most 1, and an accuracy at least 0; 0 for none")
	case v == 0 && s.Patience == 0 && s.Quantity != "":
		return nil, fault.Invalid("Options.StopAt", fmt.Sprintf("%q alone", s.Quantity), "with a Value or a Patience")
	}
	return &s, nil
}

// See takes the records of a run in order, and returns why it ends after this one; "" if it goes on, or that is its last round anyway.
func (s *Rule) See(r history.Record) string {
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
		v = map[string]history.Float{"accuracy": score.Accuracy, "loss": score.Loss}[s.name]
	}
	v *= s.sign
	if s.since++; s.at == 0 || v > s.best || v == v && s.best != s.best {
		s.best, s.at, s.since = v, r.Round, 0
	}
	switch {
	case r.Round >= s.Rounds:
	case s.Value != 0 && v >= s.sign*history.Float(s.Value):
		return fmt.Sprintf("%s %s of %.4g in round %d reached %g", rows, s.name, s.sign*v, r.Round, s.Value)
	case s.Patience > 0 && s.since >= s.Patience:
		return fmt.Sprintf("%s %s of %.4g in round %d was still the best in round %d", rows, s.name, s.sign*s.best, s.at, r.Round)
	}
	return ""
}
