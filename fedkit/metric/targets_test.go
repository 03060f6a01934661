package metric_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
)

// Metrics of tags and of values against scikit-learn 1.9.1 (testdata/targets.py).
func TestTargetsAgainstScikitLearn(t *testing.T) {
	var cases []struct {
		Outputs      [][]float32
		Tags, Values []float32
		F1, R2       float64
		RMSE, MAE    float64
	}
	expect.OK(t, json.Unmarshal(expect.Value(os.ReadFile("testdata/targets.json"))(t), &cases))
	for i, c := range cases {
		f1 := metric.TagF1{}.Measure(&fedkit.Predictions{Outputs: c.Outputs, Targets: c.Tags})
		if math.Abs(f1-c.F1) > 1e-12 {
			t.Errorf("case %d: F1 %v, want %v", i, f1, c.F1)
		}
		for want, m := range map[float64]fedkit.Metric{c.R2: metric.R2{}, c.RMSE: metric.RMSE{}, c.MAE: metric.MAE{}} {
			if v := m.Measure(&fedkit.Predictions{Outputs: c.Outputs, Targets: c.Values}); math.Abs(v-want) > 1e-9 {
				t.Errorf("case %d: %s %v, want %v", i, m, v, want)
			}
		}
	}
	for _, m := range []fedkit.Metric{metric.RMSE{}, metric.MAE{}} {
		expect.OK(t, fedtest.TestMetric(m))
		for _, p := range []*fedkit.Predictions{{}, {Outputs: [][]float32{{1}}, Labels: []int32{0}}, {Outputs: [][]float32{{1, 2}}, Targets: []float32{1}}} {
			if v := m.Measure(p); !math.IsNaN(v) {
				t.Errorf("%s of %+v is %v", m, p, v)
			}
		}
	}
	for i, c := range cases { // two clients
		n, cut, sum, weight := len(c.Outputs[0]), len(c.Outputs)/3, 0.0, 0.0
		for _, p := range []*fedkit.Predictions{{Outputs: c.Outputs[:cut], Targets: c.Tags[:cut*n]}, {Outputs: c.Outputs[cut:], Targets: c.Tags[cut*n:]}} {
			if w := (metric.TagF1{}).Weight(p); w > 0 {
				sum, weight = sum+w*metric.TagF1{}.Measure(p), weight+w
			}
		}
		if math.Abs(sum/weight-c.F1) > 1e-12 {
			t.Errorf("case %d: mean of F1 over two clients is %v, want %v", i, sum/weight, c.F1)
		}
	}
	for _, m := range []fedkit.Metric{metric.TagF1{}, metric.R2{}} {
		expect.OK(t, fedtest.TestMetric(m))
		for _, p := range []*fedkit.Predictions{{}, {Outputs: [][]float32{{-1}}, Targets: []float32{0}}, {Outputs: [][]float32{{1}}, Labels: []int32{0}}} {
			if v := m.Measure(p); !math.IsNaN(v) && v != 0 {
				t.Errorf("%s of %+v is %v", m, p, v)
			}
		}
	}
	labels := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 2}, model.MLP()))(t)
	expect.Invalid(t, "TagF1 = a metric of tags: must be one for data without tags")(fedkit.Check(metric.TagF1{}, labels, 0))
	for _, m := range []fedkit.Metric{metric.R2{}, metric.RMSE{}, metric.MAE{}} {
		expect.Invalid(t, m.String()[:1], " = a metric of real values: must be one for labels or tags")(fedkit.Check(m, labels, 0))
	}
}
