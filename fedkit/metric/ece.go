package metric

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"fedkit.example/fedkit"
)

// ExpectedCalibrationError is the mean gap between confidence and accuracy (Guo et al., arXiv 1706.04599, eq. 3). The
// confidence of an example is its largest softmax output. With n examples in bins B_m of equal width, ((m−1)/M, m/M], by
// confidence,
//
//	ECE = Σ_m |B_m|/n · | acc(B_m) − conf(B_m) |
//
// with the means of accuracy and confidence in a bin. It is 0 for a calibrated model, and at most 1.
type ExpectedCalibrationError struct {
	Bins int `range:"[1,inf)" default:"15"` // M
	ofLabels
}

// String implements fedkit.Metric.
func (e ExpectedCalibrationError) String() string {
	if usual := (ExpectedCalibrationError{}); fedkit.Defaults(e) != fedkit.Defaults(usual) {
		return fmt.Sprintf("ECE, %d bins", e.Bins)
	}
	return "ECE"
}

// LowerIsBetter tells fedkit.StopAt the direction.
func (ExpectedCalibrationError) LowerIsBetter() bool { return true }

// Measure implements fedkit.Metric. It is NaN without labels, or if an output is NaN.
func (e ExpectedCalibrationError) Measure(p *fedkit.Predictions) float64 {
	p = labeled(p)
	bins := float64(fedkit.Defaults(e).Bins)
	gap := map[float64]float64{} // by bin, |B| (acc − conf)
	for i, c := range p.Classes() {
		conf := confidence(p.Outputs[i])
		if math.IsNaN(conf) {
			return conf
		}
		bin := math.Ceil(conf * bins)
		gap[bin] -= conf
		if c == p.Labels[i] {
			gap[bin]++
		}
	}
	sum := 0.0
	for _, bin := range slices.Sorted(maps.Keys(gap)) { // in order, so that the sum is always the same
		sum += math.Abs(gap[bin])
	}
	return sum / float64(len(p.Labels))
}

// confidence returns the largest output of the softmax.
func confidence(out []float32) float64 {
	sum, top := 0.0, float64(slices.Max(out))
	for _, v := range out {
		sum += math.Exp(float64(v) - top)
	}
	return 1 / sum
}
