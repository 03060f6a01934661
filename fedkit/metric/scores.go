package metric

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/floats"
)

// AUC is the area under the ROC curve, the mean over classes c of
//
//	P( s_c(x) > s_c(x′) ) + ½ P( s_c(x) = s_c(x′) ),    x of class c, x′ of another one,
//
// where s_c is the softmax output. With two classes it is the usual area, and of tags it is the mean over tags, by their outputs. A class
// that all examples have, or none, is left out. This is scikit-learn's roc_auc_score(multi_class="ovr").
type AUC struct{}

// String implements fedkit.Metric.
func (AUC) String() string { return "AUC" }

// Check implements fedkit.Checker.
func (AUC) Check(fed *fedkit.Federation, _ int) error {
	if fed != nil && fed.Data.Tags {
		return nil
	}
	return needsLabels(fed)
}

// Weight implements fedkit.WeightedMetric: the number of examples or labels.
func (AUC) Weight(p *fedkit.Predictions) float64 {
	if p != nil && p.Labels == nil && p.Targets != nil {
		return float64(len(p.Outputs))
	}
	return float64(len(labeled(p).Labels))
}

// Measure implements fedkit.Metric. It is NaN without outputs, if all examples are of one class, or if an output is NaN.
func (AUC) Measure(p *fedkit.Predictions) float64 {
	var columns [][]float64
	var has func(i, c int) bool
	if p != nil && p.Labels == nil && len(p.Outputs) > 0 && len(p.Targets) == len(p.Outputs)*len(p.Outputs[0]) {
		has = func(i, c int) bool { return p.Targets[i*len(p.Outputs[0])+c] == 1 }
		columns = byClass(p.Outputs, func([]float64) {})
	} else {
		p = labeled(p)
		has = func(i, c int) bool { return int(p.Labels[i]) == c }
		columns = byClass(p.Outputs, func(out []float64) {
			if len(out) == 2 { // the same order, and rounding breaks no ties
				out[0], out[1] = out[0]-out[1], out[1]-out[0]
			} else {
				floats.AddConst(-floats.LogSumExp(out), out)
			}
		})
	}
	sum, n := 0.0, 0.0
	for c, scores := range columns {
		if area := areaUnder(scores, func(i int) bool { return has(i, c) }); area == area || floats.HasNaN(scores) {
			sum, n = sum+area, n+1
		}
	}
	return sum / n
}

// byClass returns the outputs by class or tag, after change has changed those of each example.
func byClass(outputs [][]float32, change func(out []float64)) [][]float64 {
	columns := make([][]float64, len(slices.Concat(outputs[:min(1, len(outputs))]...)))
	for _, out := range outputs {
		wide := make([]float64, len(out))
		for c, v := range out {
			wide[c] = float64(v)
		}
		if len(wide) > 0 {
			change(wide)
		}
		for c := range min(len(columns), len(wide)) {
			columns[c] = append(columns[c], wide[c])
		}
	}
	return columns
}

// areaUnder returns the share of the pairs of an example that is positive and one that is not in which the former has the larger score,
// ties for one half; NaN if there are no pairs.
func areaUnder(scores []float64, positive func(i int) bool) float64 {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	var won, yes, no float64
	for from := 0; from < len(order); {
		var tiedYes, tiedNo float64
		to := from
		for ; to < len(order) && scores[order[to]] == scores[order[from]] || to == from; to++ { // NaN equals nothing
			if positive(order[to]) {
				tiedYes++
			} else {
				tiedNo++
			}
		}
		won += tiedYes * (no + tiedNo/2)
		yes, no, from = yes+tiedYes, no+tiedNo, to
	}
	if floats.HasNaN(scores) {
		return math.NaN()
	}
	return won / (yes * no)
}

// TopK is the share of the labels that are among the k classes with the largest outputs, the first of ties: with k = 1 the token
// accuracy. This is scikit-learn's top_k_accuracy_score.
type TopK struct {
	K int `range:"[1,inf)" default:"5"` // k
}

// String implements fedkit.Metric.
func (t TopK) String() string { return fmt.Sprintf("top-%d accuracy", fedkit.Defaults(t).K) }

// Check implements fedkit.Checker.
func (t TopK) Check(fed *fedkit.Federation, _ int) error {
	if err := needsLabels(fed); err != nil {
		return err
	}
	if k := fedkit.Defaults(t).K; fed != nil && k >= fed.Data.Classes {
		return fedkit.Invalid("K", k, fmt.Sprintf("in [1, %d): each label is among all %d classes", fed.Data.Classes, fed.Data.Classes))
	}
	return nil
}

// Weight implements fedkit.WeightedMetric: the number of labels.
func (TopK) Weight(p *fedkit.Predictions) float64 { return float64(len(labeled(p).Labels)) }

// Measure implements fedkit.Metric. It is NaN without labels.
func (t TopK) Measure(p *fedkit.Predictions) float64 {
	p = labeled(p)
	right, k := 0.0, fedkit.Defaults(t).K
	for i, out := range p.Outputs {
		own, ahead := int(p.Labels[i]), 0
		for c, v := range out {
			if own < len(out) && (v > out[own] || v == out[own] && c < own) {
				ahead++
			}
		}
		if own < len(out) && ahead < k && out[own] == out[own] {
			right++
		}
	}
	return right / float64(len(p.Labels))
}
