package metric_test

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
)

// AUC, top-k accuracy, precision and the confusion matrix against scikit-learn 1.9.1 (testdata/scores.py).
func TestScoresAgainstScikitLearn(t *testing.T) {
	var cases []struct {
		Outputs   [][]float32
		Labels    []int32
		AUC       float64
		Top       map[int]float64
		Precision []*float64
		Macro     float64
		Confusion [][]int
	}
	expect.OK(t, json.Unmarshal(expect.Value(os.ReadFile("testdata/scores.json"))(t), &cases))
	expect.That(t, len(cases) == 4, "%d cases", len(cases))
	for i, c := range cases {
		p := &fedkit.Predictions{Outputs: c.Outputs, Labels: c.Labels}
		same := func(m fedkit.Metric, want float64) {
			got := m.Measure(p)
			expect.That(t, math.Abs(got-want) <= 1e-12 || math.IsNaN(got) && math.IsNaN(want), "case %d: %s = %v, want %v", i, m, got, want)
		}
		same(metric.AUC{}, c.AUC)
		same(metric.MacroPrecision{}, c.Macro)
		for k, want := range c.Top {
			same(metric.TopK{K: k}, want)
		}
		for class, want := range c.Precision {
			if want == nil {
				want = new(math.NaN())
			}
			same(metric.Precision{Class: class}, *want)
		}
		expect.That(t, reflect.DeepEqual(metric.Confusion(p), c.Confusion), "case %d: %v, want %v", i, metric.Confusion(p), c.Confusion)
	}
}

// What has no scores, or one class, has no AUC; ties count one half; a mean over clients weights each by its examples.
func TestScoresUndefined(t *testing.T) {
	nan := float32(math.NaN())
	for name, p := range map[string]*fedkit.Predictions{
		"nothing": {}, "a regression": {Outputs: [][]float32{{1}}, Targets: []float32{0.5}}, "no outputs": {Labels: []int32{1}},
		"one class": {Outputs: [][]float32{{1, 2}, {2, 1}}, Labels: []int32{1, 1}}, "NaN": {Outputs: [][]float32{{1, nan}, {2, 1}}, Labels: []int32{0, 1}},
	} {
		expect.That(t, math.IsNaN(metric.AUC{}.Measure(p)), "AUC of %s is %v", name, metric.AUC{}.Measure(p))
	}
	for name, p := range map[string]*fedkit.Predictions{"nothing": {}, "a regression": {Outputs: [][]float32{{1}}, Targets: []float32{1}}, "no outputs": {Labels: []int32{1}}} {
		for _, m := range []fedkit.WeightedMetric{metric.TopK{}, metric.Precision{}, metric.MacroPrecision{}} {
			expect.That(t, math.IsNaN(m.Measure(p)) && m.Weight(p) == 0, "%s of %s = %v of %v", m, name, m.Measure(p), m.Weight(p))
		}
		expect.That(t, metric.Confusion(p) == nil, "%s: %v", name, metric.Confusion(p))
	}
	ties := &fedkit.Predictions{Outputs: [][]float32{{0, 0}, {0, 0}, {1, 0}}, Labels: []int32{0, 1, 0}}
	expect.That(t, metric.AUC{}.Measure(ties) == 0.75 && metric.AUC{}.Weight(ties) == 3, "AUC %v", metric.AUC{}.Measure(ties))
	expect.That(t, metric.TopK{K: 1}.Measure(ties) == 2./3 && metric.TopK{}.String() == "top-5 accuracy", "top 1 %v", metric.TopK{K: 1}.Measure(ties))
	for _, m := range []fedkit.Metric{metric.AUC{}, metric.TopK{K: 2}, metric.Precision{}, metric.MacroPrecision{}} {
		expect.OK(t, fedtest.TestMetric(m))
	}
}

// Metrics that do not suit the data are refused by name.
func TestScoresThatDoNotFit(t *testing.T) {
	labels := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 2}, model.MLP()))(t)
	d := &datasets.Dataset{Name: "line", Shape: []int{1}}
	d.Train.Floats, d.Train.Targets = []float32{1, 2}, []float32{1, 2}
	d.Test = d.Train
	regression := expect.Value(fedkit.New(d, partition.IID{Clients: 2}, model.LinearRegression()))(t)
	expect.Invalid(t, "AUC = a metric of labels: must be one for a regression")(fedkit.Check(metric.AUC{}, regression, 0))
	expect.Invalid(t, "MacroPrecision = a metric of labels: must be one for a regression")(fedkit.Check(metric.MacroPrecision{}, regression, 0))
	expect.Invalid(t, "TopK.K = 10: must be in [1, 10): each label is among all 10 classes")(fedkit.Check(metric.TopK{K: 10}, labels, 0))
	expect.Invalid(t, "Precision.Class = 10: must be in [0, 10)")(fedkit.Check(metric.Precision{Class: 10}, labels, 0))
	expect.OK(t, fedkit.Check(metric.TopK{}, labels, 0))
}
