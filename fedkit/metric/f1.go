package metric

import "fedkit.example/fedkit"

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
	return macro(p, func(c counts) float64 { return 2 * c.right / (c.all + c.predicted) })
}

// MacroPrecision is the mean of Precision over classes, with equal weights. Only classes among the labels or the predictions count; one
// that is never predicted has 0. This is scikit-learn's precision_score(average="macro", zero_division=0).
type MacroPrecision struct{ ofLabels }

// String implements fedkit.Metric.
func (MacroPrecision) String() string { return "macro precision" }

// Measure implements fedkit.Metric. It is NaN without labels.
func (MacroPrecision) Measure(p *fedkit.Predictions) float64 {
	return macro(p, func(c counts) float64 { return c.right / max(1, c.predicted) })
}
