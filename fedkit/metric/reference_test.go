package metric_test

import (
	"encoding/json"
	"math"
	"os"
	"syscall"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/metric"
)

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

// Macro F1 and recall against scikit-learn 1.9.1, the calibration error against NumPy 2.4.6 (testdata/reference.py).
func TestAgainstScikitLearn(t *testing.T) {
	b := expect.Value(os.ReadFile("testdata/reference.json"))(t)
	var cases []struct {
		Outputs [][]float32
		Labels  []int32
		F1      float64
		Recall  []*float64
		ECE     map[int]float64
	}
	expect.OK(t, json.Unmarshal(b, &cases))
	if len(cases) != 5 {
		t.Errorf("%d cases, want 5", len(cases))
	}
	for i, c := range cases {
		p := &fedkit.Predictions{Outputs: c.Outputs, Labels: c.Labels}
		same := func(m fedkit.Metric, want float64) {
			if got := m.Measure(p); !(math.Abs(got-want) <= 1e-12) && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("case %d: %s = %v, want %v", i, m, got, want)
			}
		}
		same(metric.MacroF1{}, c.F1)
		for class, m := range metric.PerClass(len(c.Recall)) {
			want := math.NaN()
			if c.Recall[class] != nil {
				want = *c.Recall[class]
			}
			same(m, want)
		}
		for bins, want := range c.ECE {
			same(metric.ExpectedCalibrationError{Bins: bins}, want)
		}
		same(metric.ExpectedCalibrationError{}, c.ECE[15])
	}
}
