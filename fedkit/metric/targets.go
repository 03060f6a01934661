package metric

import (
	"cmp"
	"math"

	"fedkit.example/fedkit"
)

// TagF1 is the F1 of all tags of all examples together,
//
//	2 TP / (2 TP + FP + FN),
//
// where a positive output predicts a tag. It is NaN if there is no tag, and none is predicted. This is scikit-learn's
// f1_score(average="micro").
type TagF1 struct{}

// String implements fedkit.Metric.
func (TagF1) String() string { return "tag F1" }

// Check implements fedkit.Checker.
func (TagF1) Check(fed *fedkit.Federation, _ int) error {
	if fed != nil && !fed.Data.Tags {
		return fedkit.Invalid("", "a metric of tags", "one for data without tags")
	}
	return nil
}

// Measure implements fedkit.Metric. It is NaN without tags.
func (TagF1) Measure(p *fedkit.Predictions) float64 {
	right, seen := 0.0, 0.0 // TP, and 2 TP + FP + FN
	eachTarget(p, func(_ int, out, y float64) {
		if out > 0 {
			seen++
		}
		if y == 1 {
			seen++
			if out > 0 {
				right++
			}
		}
	})
	return 2 * right / seen
}

// R2 is the coefficient of determination, the mean over targets j of
//
//	1 − Σ_i (y_ij − ŷ_ij)² / Σ_i (y_ij − ȳ_j)².
//
// It is 1 for perfect predictions and 0 for those of the mean, and NaN if a target is the same in all examples. This is
// scikit-learn's r2_score.
type R2 struct{}

// String implements fedkit.Metric.
func (R2) String() string { return "R²" }

// Check implements fedkit.Checker.
func (R2) Check(fed *fedkit.Federation, _ int) error {
	if fed != nil && (fed.Data.Classes > 0 || fed.Data.Tags) {
		return fedkit.Invalid("", "a metric of real values", "one for labels or tags")
	}
	return nil
}

// Measure implements fedkit.Metric. It is NaN without targets.
func (R2) Measure(p *fedkit.Predictions) float64 {
	if p == nil || len(p.Outputs) == 0 || len(p.Targets) == 0 {
		return math.NaN()
	}
	t, n := len(p.Outputs[0]), float64(len(p.Outputs))
	mean, left, all := make([]float64, t), make([]float64, t), make([]float64, t)
	eachTarget(p, func(j int, _, y float64) { mean[j] += y / n })
	eachTarget(p, func(j int, out, y float64) {
		left[j] += (y - out) * (y - out)
		all[j] += (y - mean[j]) * (y - mean[j])
	})
	r2 := 0.0
	for j := range t {
		if all[j] == 0 {
			return math.NaN()
		}
		r2 += (1 - left[j]/all[j]) / float64(t)
	}
	return r2
}

// eachTarget calls f with every target, by its position j in its example, and its output.
func eachTarget(p *fedkit.Predictions, f func(j int, out, y float64)) {
	for i, out := range cmp.Or(p, &fedkit.Predictions{}).Outputs {
		for j, v := range out {
			if at := i*len(out) + j; at < len(p.Targets) {
				f(j, float64(v), float64(p.Targets[at]))
			}
		}
	}
}
