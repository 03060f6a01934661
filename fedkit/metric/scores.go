package metric

import (
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/stats"
	"gonum.org/v1/gonum/floats"
)

// AUC is the area under the ROC curve, the mean over classes c of
//
//	P( s_c(x) > s_c(x′) ) + ½ P( s_c(x) = s_c(x′) ),    x of class c, x′ of another one,
//
// where s_c is the softmax output: with two classes it is the usual area. A class that all examples have, or none, is left out; if all
// are, it is NaN. This is scikit-learn's roc_auc_score(multi_class="ovr").
type AUC struct{ ofLabels }

// String implements fedkit.Metric.
func (AUC) String() string { return "AUC" }

// Measure implements fedkit.Metric. It is NaN without outputs, or if one is NaN.
func (AUC) Measure(p *fedkit.Predictions) float64 {
	p = labeled(p)
	sums := make([]float64, len(p.Outputs)) // log Σ_c exp(out_c)
	for i, out := range p.Outputs {
		sums[i] = float64(slices.Max(out)) - math.Log(confidence(out))
	}
	sum, n := 0.0, 0.0
	for c := range slices.Concat(p.Outputs[:min(1, len(p.Outputs))]...) {
		scores, yes, won := make([]float64, len(p.Outputs)), 0.0, 0.0
		for i, out := range p.Outputs {
			if scores[i] = float64(out[c]) - sums[i]; len(out) == 2 { // the same order, and rounding breaks no ties
				scores[i] = float64(out[c]) - float64(out[1-c])
			}
		}
		if floats.HasNaN(scores) {
			return math.NaN()
		}
		ranks, _ := stats.Ranks(scores)
		for i, rank := range ranks {
			if int(p.Labels[i]) == c {
				yes++
				won += rank - yes // pairs with examples of other classes
			}
		}
		if no := float64(len(ranks)) - yes; yes*no > 0 {
			sum, n = sum+won/(yes*no), n+1
		}
	}
	return sum / n
}

// TopK is the share of the labels that are among the k classes with the largest outputs, the first of ties: with k = 1 the token
// accuracy. This is scikit-learn's top_k_accuracy_score.
type TopK struct {
	K int `range:"[1,inf)" default:"5"` // k
	ofLabels
}

// String implements fedkit.Metric.
func (t TopK) String() string { return fmt.Sprintf("top-%d accuracy", fedkit.Defaults(t).K) }

// Check implements fedkit.Checker.
func (t TopK) Check(fed *fedkit.Federation, _ int) error {
	if k := fedkit.Defaults(t).K; fed != nil && fed.Data.Classes > 0 && k >= fed.Data.Classes {
		return fedkit.Invalid("K", k, fmt.Sprintf("in [1, %d): each label is among all %d classes", fed.Data.Classes, fed.Data.Classes))
	}
	return needsLabels(fed)
}

// Measure implements fedkit.Metric. It is NaN without labels.
func (t TopK) Measure(p *fedkit.Predictions) float64 {
	p = labeled(p)
	right, k := 0.0, fedkit.Defaults(t).K
	for i, out := range p.Outputs {
		own, ahead := int(p.Labels[i]), 0
		for c, v := range out {
			if own >= len(out) || v > out[own] || v == out[own] && c < own || out[own] != out[own] {
				ahead++
			}
		}
		if ahead < min(k, len(out)) {
			right++
		}
	}
	return right / float64(len(p.Labels))
}
