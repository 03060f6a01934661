package metric_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
)

// A metric that does not suit the data, or has a bad option, is refused by name.
func TestMetricsThatDoNotFit(t *testing.T) {
	labels := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 2}, model.MLP()))(t)
	d := &datasets.Dataset{Name: "line", Shape: []int{1}}
	d.Train.Floats, d.Train.Targets = []float32{1, 2}, []float32{1, 2}
	d.Test = d.Train
	regression := expect.Value(fedkit.New(d, partition.IID{Clients: 2}, model.LinearRegression()))(t)
	for want, c := range map[string]struct {
		fed *fedkit.Federation
		m   fedkit.Metric
	}{
		"MacroF1 = a metric of labels: must be one for a regression":                  {regression, metric.MacroF1{}},
		"Recall = a metric of labels: must be one for a regression":                   {regression, metric.Recall{}},
		"ExpectedCalibrationError = a metric of labels: must be one for a regression": {regression, metric.ExpectedCalibrationError{}},
		"ExpectedCalibrationError.Bins = -1: must be at least 1":                      {labels, metric.ExpectedCalibrationError{Bins: -1}},
		"Recall.Class = 10: must be in [0, 10)":                                       {labels, metric.Recall{Class: 10}},
		"Recall.Class = -1: must be at least 0":                                       {nil, metric.Recall{Class: -1}},
		"a metric without a function: must be made with one":                          {labels, metric.Func("none", nil)},
	} {
		if err := fedkit.Check(c.m, c.fed, 0); !errors.Is(err, fedkit.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// An undefined metric is NaN, never a panic.
func TestUndefined(t *testing.T) {
	nan := float32(math.NaN())
	for name, p := range map[string]*fedkit.Predictions{
		"nothing":      {},
		"a regression": {Outputs: [][]float32{{1}}, Targets: []float32{1}},
		"no outputs":   {Labels: []int32{1}},
	} {
		for _, m := range append(metric.PerClass(2), metric.MacroF1{}, metric.ExpectedCalibrationError{}, metric.TokenAccuracy{}) {
			if v, n := m.Measure(p), m.(fedkit.WeightedMetric).Weight(p); !math.IsNaN(v) || n != 0 {
				t.Errorf("%s of %s = %v of %v, want NaN of 0", m, name, v, n)
			}
		}
	}
	if v := (metric.ExpectedCalibrationError{}).Measure(&fedkit.Predictions{Outputs: [][]float32{{1, nan}}, Labels: []int32{0}}); !math.IsNaN(v) {
		t.Errorf("ECE of NaN = %v", v)
	}
}

// Entries without a label count neither in a value nor in its weight.
func TestEntriesWithoutLabels(t *testing.T) {
	p := &fedkit.Predictions{Outputs: [][]float32{{0, 1}, {1, 0}, {0, 1}, {1, 0}, {0, 1}}, Labels: []int32{1, 1, -1, 0, -1}}
	for m, want := range map[fedkit.WeightedMetric][2]float64{
		metric.TokenAccuracy{}: {2. / 3, 3}, metric.MacroF1{}: {2. / 3, 3}, metric.Recall{Class: 1}: {1. / 2, 2}, metric.Recall{Class: 0}: {1, 1},
	} {
		if v, n := m.Measure(p), m.Weight(p); math.Abs(v-want[0]) > 1e-12 || n != want[1] {
			t.Errorf("%s is %v of %v, want %v", m, v, n, want)
		}
	}
}

// The names of any two metrics differ if their values do.
func TestNames(t *testing.T) {
	for want, m := range map[string]fedkit.Metric{
		"macro F1": metric.MacroF1{}, "token accuracy": metric.TokenAccuracy{}, "recall of class 3": metric.Recall{Class: 3}, "top": metric.Func("top", nil),
		"ECE": metric.ExpectedCalibrationError{Bins: 15}, "ECE, 10 bins": metric.ExpectedCalibrationError{Bins: 10},
	} {
		if m.String() != want {
			t.Errorf("name %q, want %q", m, want)
		}
	}
}
