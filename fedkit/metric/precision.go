package metric

import (
	"fmt"
	"maps"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/fault"
	"gonum.org/v1/gonum/stat"
)

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
	right, _, predicted := count(p, r.Class)
	return right / predicted
}

// Weight implements fedkit.WeightedMetric: the number of examples predicted as the class.
func (r Precision) Weight(p *fedkit.Predictions) float64 {
	_, _, predicted := count(p, r.Class)
	return predicted
}

// MacroPrecision is the mean of Precision over classes, with equal weights. Only classes among the labels or the predictions count; one
// that is never predicted has 0. This is scikit-learn's precision_score(average="macro", zero_division=0).
type MacroPrecision struct{ ofLabels }

// String implements fedkit.Metric.
func (MacroPrecision) String() string { return "macro precision" }

// Measure implements fedkit.Metric. It is NaN without labels.
func (MacroPrecision) Measure(p *fedkit.Predictions) float64 {
	p = labeled(p)
	right, predicted := map[int32]float64{}, map[int32]float64{} // TP, and TP + FP
	for i, c := range p.Classes() {
		predicted[c]++
		predicted[p.Labels[i]] += 0
		if c == p.Labels[i] {
			right[c]++
		}
	}
	var all []float64
	for _, c := range slices.Sorted(maps.Keys(predicted)) { // in order, so that the sum is always the same
		all = append(all, right[c]/max(1, predicted[c]))
	}
	return stat.Mean(all, nil)
}

// maxConfused is the largest number of classes of a confusion matrix, 128 MiB of numbers.
const maxConfused = 4096

// Confusion returns the confusion matrix, [classes][classes]: how many examples with each label, by row, are predicted as each class, by
// column. It is nil without labels or outputs. This is scikit-learn's confusion_matrix; plot.Confusion draws it.
func Confusion(p *fedkit.Predictions) (counts [][]int) {
	p = labeled(p)
	k := 0
	for i, out := range p.Outputs {
		k = max(k, len(out), int(p.Labels[i])+1)
	}
	if k > maxConfused {
		panic(fault.Invalid("classes of the predictions", k, fmt.Sprintf("at most %d", maxConfused)))
	}
	for range k {
		counts = append(counts, make([]int, k))
	}
	for i, c := range p.Classes() {
		counts[p.Labels[i]][c]++
	}
	return counts
}
