// Package measure has a model's outputs, and what runs measure on them.
package measure

import (
	"math"
	"slices"
	"strconv"

	"fedkit.example/fedkit/internal/fault"
	"gonum.org/v1/gonum/floats"
)

// Predictions are a model's outputs for n examples, with their labels or targets. If there is a label at each of t positions of an
// example, its positions are entries of their own, one after the other: n is t times the number of examples.
type Predictions struct {
	Outputs [][]float32 // [n, classes], logits; [n, t] for t values or for the logits of t tags
	Labels  []int32     // [n], −1 for a position without a label; nil for values and tags
	Targets []float32   // [n·t], values or tags, example after example; nil for labels
}

// Classes returns the predicted class of each entry: the one with the largest output, the first of ties.
func (p *Predictions) Classes() []int32 {
	classes := make([]int32, len(p.Outputs))
	for i, out := range p.Outputs {
		for c, v := range out {
			if v > out[classes[i]] {
				classes[i] = int32(c)
			}
		}
	}
	return classes
}

// ClassMeans returns the mean outputs of the examples of each class by label, [classes, f], 0 for a class without examples, and the
// number of its examples, [classes]. Entries without a label do not count. Of a layer's outputs they are its prototypes: see
// fedkit.Round.Features.
func (p *Predictions) ClassMeans(classes int) (means [][]float64, count []float64) {
	if classes > 1<<24 {
		panic(fault.Invalid("classes", classes, "at most 2²⁴"))
	}
	classes = max(0, classes)
	means, count = make([][]float64, classes), make([]float64, classes)
	for c := range means {
		means[c] = make([]float64, len(slices.Concat(p.Outputs[:min(1, len(p.Outputs))]...)))
	}
	for i, y := range p.Labels {
		if y < 0 || int(y) >= classes { // no label
			continue
		}
		out := p.Outputs[i]
		count[y]++
		for j, v := range out {
			means[y][j] += float64(v)
		}
	}
	for c, n := range count {
		floats.Scale(1/max(1, n), means[c])
	}
	return means, count
}

// metric is fedkit.Metric.
type metric interface {
	String() string
	Measure(p *Predictions) float64
}

// Check refuses metrics that are nil, or whose names are empty or duplicate.
func Check[M metric](metrics []M) error {
	seen := map[string]bool{}
	for i, m := range metrics {
		field := "Options.Metrics[" + strconv.Itoa(i) + "]"
		if any(m) == nil {
			return fault.Invalid(field, "nil", "a metric, such as metric.MacroF1{}")
		}
		name := m.String()
		if name == "" || seen[name] {
			return fault.Invalid(field, strconv.Quote(name), "a name that no other metric has, and not empty")
		}
		seen[name] = true
	}
	return nil
}

// Measured returns a metric's value and weight, n by default. A panic becomes an error.
func Measured(m metric, p *Predictions, n float64) (v, weight float64, err error) {
	defer fault.Recovered("metric "+m.String(), &err)
	if w, is := m.(interface{ Weight(p *Predictions) float64 }); is {
		if n = w.Weight(p); !(n >= 0) || math.IsInf(n, 0) {
			return 0, 0, fault.Invalid("metric "+m.String()+": Weight", n, "a number ≥ 0")
		}
	}
	return m.Measure(p), n, nil
}
