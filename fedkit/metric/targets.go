package metric

import (
	"cmp"
	"math"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/fit"
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
func (t TagF1) Measure(p *fedkit.Predictions) float64 {
	right, seen := t.count(p)
	return 2 * right / seen
}

// Weight implements fedkit.WeightedMetric: 2 TP + FP + FN, so that a mean over clients is the F1 of all their tags together.
func (t TagF1) Weight(p *fedkit.Predictions) float64 {
	_, seen := t.count(p)
	return seen
}

// count returns TP, and 2 TP + FP + FN.
func (TagF1) count(p *fedkit.Predictions) (right, seen float64) {
	for i, out := range cmp.Or(p, &fedkit.Predictions{}).Outputs {
		for j, v := range out[:max(0, min(len(out), len(p.Targets)-i*len(out)))] {
			if v > 0 {
				seen++
			}
			if p.Targets[i*len(out)+j] == 1 {
				seen++
				if v > 0 {
					right++
				}
			}
		}
	}
	return right, seen
}

// R2 is the coefficient of determination, the mean over targets j of
//
//	1 − Σ_i (y_ij − ŷ_ij)² / Σ_i (y_ij − ȳ_j)².
//
// It is 1 for perfect predictions and 0 for those of the mean, whatever the unit of the targets, and NaN if a target is the same in
// all examples. This is scikit-learn's r2_score. Every evaluation of a regression records it, with RMSE and MAE.
type R2 struct{ ofTargets }

// String implements fedkit.Metric.
func (R2) String() string { return fit.R2 }

// Measure implements fedkit.Metric. It is NaN without targets.
func (R2) Measure(p *fedkit.Predictions) float64 { return ofValues(fit.R2, p) }

// RMSE is the root of the mean squared error, the mean over targets j of √(1/n Σ_i (y_ij − ŷ_ij)²), in the unit of the targets: less
// is better. This is scikit-learn's root_mean_squared_error.
type RMSE struct{ ofTargets }

// String implements fedkit.Metric.
func (RMSE) String() string { return fit.RMSE }

// Measure implements fedkit.Metric. It is NaN without targets.
func (RMSE) Measure(p *fedkit.Predictions) float64 { return ofValues(fit.RMSE, p) }

// MAE is the mean absolute error, the mean of |y_ij − ŷ_ij| over examples i and targets j, in the unit of the targets: less is better.
// This is scikit-learn's mean_absolute_error.
type MAE struct{ ofTargets }

// String implements fedkit.Metric.
func (MAE) String() string { return fit.MAE }

// Measure implements fedkit.Metric. It is NaN without targets.
func (MAE) Measure(p *fedkit.Predictions) float64 { return ofValues(fit.MAE, p) }

// ofValues returns a measure of real values, NaN without targets.
func ofValues(name string, p *fedkit.Predictions) float64 {
	p = cmp.Or(p, &fedkit.Predictions{})
	if of := fit.Of(p.Outputs, p.Targets); of != nil {
		return of[name]
	}
	return math.NaN()
}

// ofTargets is part of metrics of real values.
type ofTargets struct{}

// Check implements fedkit.Checker: it refuses labels and tags.
func (ofTargets) Check(fed *fedkit.Federation, _ int) error {
	if fed != nil && (fed.Data.Classes > 0 || fed.Data.Tags) {
		return fedkit.Invalid("", "a metric of real values", "one for labels or tags")
	}
	return nil
}
