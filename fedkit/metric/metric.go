// Package metric has metrics for Options.Metrics. Each also measures what Federation.Predict returns:
//
//	p, err := fed.Predict(ctx, avg.State.X, datasets.TestPart, nil)
//	fmt.Println(metric.MacroF1{}.Measure(&p[0]))
package metric

import "fedkit.example/fedkit"

// Func returns the metric that f computes, recorded under this name. A study tells such metrics apart by their names and
// the code of f, and refuses a function that captures a variable: see package study.
func Func(name string, f func(p *fedkit.Predictions) float64) fedkit.Metric { return function{name, f} }

// function has exported fields, since a study stores a run under its whole configuration.
type function struct {
	Name string
	F    func(*fedkit.Predictions) float64
}

func (f function) String() string                        { return f.Name }
func (f function) Measure(p *fedkit.Predictions) float64 { return f.F(p) }

// Check implements fedkit.Checker.
func (f function) Check(*fedkit.Federation, int) error {
	if f.F == nil {
		return fedkit.Invalid("", "a metric without a function", "made with one")
	}
	return nil
}

// ofLabels is part of metrics that weight labels equally.
type ofLabels struct{}

// Check implements fedkit.Checker.
func (ofLabels) Check(fed *fedkit.Federation, _ int) error { return needsLabels(fed) }

// Weight implements fedkit.WeightedMetric: the number of labels.
func (ofLabels) Weight(p *fedkit.Predictions) float64 { return float64(len(labeled(p).Labels)) }

// labeled returns the entries that have a label, and outputs. Without any, a metric of labels is NaN: 0/0.
func labeled(p *fedkit.Predictions) *fedkit.Predictions {
	if p == nil {
		return &fedkit.Predictions{}
	}
	some := &fedkit.Predictions{}
	for i, l := range p.Labels {
		if l < 0 || len(p.Labels) != len(p.Outputs) { // a position without a label
			continue
		}
		if n := len(p.Outputs[i]); n > 0 && n == len(p.Outputs[0]) {
			some.Labels, some.Outputs = append(some.Labels, l), append(some.Outputs, p.Outputs[i])
		}
	}
	return some
}

// needsLabels refuses a regression, and tags.
func needsLabels(fed *fedkit.Federation) error {
	if fed != nil && fed.Data.Classes == 0 {
		if fed.Data.Tags {
			return fedkit.Invalid("", "a metric of labels", "one for tags")
		}
		return fedkit.Invalid("", "a metric of labels", "one for a regression")
	}
	return nil
}
