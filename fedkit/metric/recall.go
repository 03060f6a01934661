package metric

import (
	"fmt"

	"fedkit.example/fedkit"
)

// Recall is the accuracy of one class: the share of its examples that the model predicts as such, TP_c / (TP_c + FN_c).
// It is NaN if no example has the class as its label.
type Recall struct {
	Class int // c, from 0
}

// PerClass returns the Recall of each of k classes, 0, 1, …, k−1.
func PerClass(k int) []fedkit.Metric {
	if k > 1<<20 {
		return []fedkit.Metric{Recall{k}} // which its Check refuses
	}
	metrics := make([]fedkit.Metric, max(0, k))
	for c := range metrics {
		metrics[c] = Recall{c}
	}
	return metrics
}

// String implements fedkit.Metric.
func (r Recall) String() string { return fmt.Sprintf("recall of class %d", r.Class) }

// Check implements fedkit.Checker.
func (r Recall) Check(fed *fedkit.Federation, _ int) error {
	if err := needsLabels(fed); err != nil {
		return err
	}
	if r.Class < 0 || fed != nil && r.Class >= fed.Data.Classes {
		allowed := "at least 0"
		if fed != nil {
			allowed = fmt.Sprintf("in [0, %d)", fed.Data.Classes)
		}
		return fedkit.Invalid("Class", r.Class, allowed)
	}
	return nil
}

// Measure implements fedkit.Metric.
func (r Recall) Measure(p *fedkit.Predictions) float64 {
	right, all, _ := count(p, r.Class)
	return right / all
}

// Weight implements fedkit.WeightedMetric: the number of examples of the class, so that a mean over clients is the recall of all
// their examples together.
func (r Recall) Weight(p *fedkit.Predictions) float64 {
	_, all, _ := count(p, r.Class)
	return all
}

// count returns TP_c, TP_c + FN_c and TP_c + FP_c.
func count(p *fedkit.Predictions, class int) (right, all, predicted float64) {
	p = labeled(p)
	for i, c := range p.Classes() {
		if int(c) == class {
			predicted++
		}
		if int(p.Labels[i]) == class {
			all++
			if int(c) == class {
				right++
			}
		}
	}
	return right, all, predicted
}
