package metric

import (
	"fmt"
	"maps"
	"slices"

	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/stat"
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
	c := count(p)[int32(r.Class)]
	return c.right / c.all
}

// Weight implements fedkit.WeightedMetric: the number of examples of the class, so that a mean over clients is the recall of all
// their examples together.
func (r Recall) Weight(p *fedkit.Predictions) float64 { return count(p)[int32(r.Class)].all }

// Precision is the share of the examples predicted as one class that are of it, TP_c / (TP_c + FP_c). It is NaN if none is predicted as
// such.
type Precision struct {
	Class int // c, from 0
}

// String implements fedkit.Metric.
func (r Precision) String() string { return fmt.Sprintf("precision of class %d", r.Class) }

// Check implements fedkit.Checker.
func (r Precision) Check(fed *fedkit.Federation, n int) error { return Recall(r).Check(fed, n) }

// Measure implements fedkit.Metric.
func (r Precision) Measure(p *fedkit.Predictions) float64 {
	c := count(p)[int32(r.Class)]
	return c.right / c.predicted
}

// Weight implements fedkit.WeightedMetric: the number of examples predicted as the class.
func (r Precision) Weight(p *fedkit.Predictions) float64 { return count(p)[int32(r.Class)].predicted }

// counts are TP_c, TP_c + FN_c and TP_c + FP_c of a class.
type counts struct{ right, all, predicted float64 }

// count returns those of every class that is among the labels or the predictions.
func count(p *fedkit.Predictions) map[int32]counts {
	p, of := labeled(p), map[int32]counts{}
	add := func(class int32, right, all, predicted float64) {
		c := of[class]
		of[class] = counts{c.right + right, c.all + all, c.predicted + predicted}
	}
	for i, c := range p.Classes() {
		if add(c, 0, 0, 1); c == p.Labels[i] {
			add(c, 1, 0, 0)
		}
		add(p.Labels[i], 0, 1, 0)
	}
	return of
}

// macro returns the mean of what of returns for each of these classes, with equal weights; NaN without any.
func macro(p *fedkit.Predictions, of func(c counts) float64) float64 {
	var all []float64
	classes := count(p)
	for _, c := range slices.Sorted(maps.Keys(classes)) { // in order, so that the sum is always the same
		all = append(all, of(classes[c]))
	}
	return stat.Mean(all, nil)
}
