package metric

import (
	"maps"
	"slices"

	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/stat"
)

// MacroF1 is the mean over classes of
//
//	F1_c = 2 TP_c / (2 TP_c + FP_c + FN_c),
//
// with equal weights. Only classes among the labels or the predictions count; one without a true positive has 0. This is
// scikit-learn's f1_score(average="macro").
type MacroF1 struct{ ofLabels }

// String implements fedkit.Metric.
func (MacroF1) String() string { return "macro F1" }

// Measure implements fedkit.Metric. It is NaN without labels.
func (MacroF1) Measure(p *fedkit.Predictions) float64 {
	p = labeled(p)
	right, seen := map[int32]int{}, map[int32]int{} // TP, and 2 TP + FP + FN
	for i, c := range p.Classes() {
		seen[c]++
		seen[p.Labels[i]]++
		if c == p.Labels[i] {
			right[c]++
		}
	}
	var f1 []float64
	for _, c := range slices.Sorted(maps.Keys(seen)) { // in order, so that the sum is always the same
		f1 = append(f1, float64(2*right[c])/float64(seen[c]))
	}
	return stat.Mean(f1, nil)
}
