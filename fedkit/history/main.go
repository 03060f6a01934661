package history

import (
	"cmp"
	"fmt"
	"math"

	"fedkit.example/fedkit/internal/fit"
)

// Main is the main quantity of a run, by its name: what tables, curves, targets, spreads and progress take by default. More is better.
type Main string

// The accuracy of labels and tags. A regression has none: its main quantity is R², which is the same in every unit of the targets.
const (
	Accuracy Main = "accuracy" // Score.Accuracy, a share
	R2       Main = fit.R2     // that of Score.Metrics: see metric.R2
)

// Main returns the main quantity of the run's scores; Accuracy before the first.
func (h *History) Main() Main {
	for i := range h.Rounds {
		if s := h.Rounds[i].Score(); s != nil {
			return s.Main()
		}
	}
	return Accuracy
}

// Main returns R2 for a score that has it, and no accuracy; else Accuracy.
func (s *Score) Main() Main {
	if _, there := s.Metrics[fit.R2]; there && math.IsNaN(float64(s.Accuracy)) {
		return R2
	}
	return Accuracy
}

// Of returns the quantity of a score, NaN if the score does not have it.
func (m Main) Of(s *Score) float64 {
	if s != nil && m == Accuracy {
		return float64(s.Accuracy)
	}
	if v, there := cmp.Or(s, &Score{}).Metrics[string(m)]; there {
		return float64(v)
	}
	return math.NaN()
}

// Last returns the quantity in the last evaluated round of a run: of the global model on the whole test set or, if there is no
// global model, the mean over the clients' own test examples. NaN if no round was evaluated.
func (m Main) Last(h *History) float64 {
	for i := len(cmp.Or(h, &History{}).Rounds) - 1; i >= 0; i-- {
		if s := h.Rounds[i].Score(); s != nil {
			return m.Of(s)
		}
	}
	return math.NaN()
}

// Write returns a value as text: an accuracy as "97.25 %", R² as "0.9725". It is empty for NaN.
func (m Main) Write(v float64) string {
	switch {
	case math.IsNaN(v):
		return ""
	case m == Accuracy:
		return fmt.Sprintf("%.2f %%", 100*v)
	}
	return fmt.Sprintf("%.4f", v)
}
