// Package fit measures how well outputs fit targets that are real values.
package fit

import "math"

// The names of what Of returns, as records have them.
const (
	R2   = "R²"   // coefficient of determination, in (−∞, 1]; NaN if a target is the same in all examples
	RMSE = "RMSE" // root of the mean squared error, in the unit of the targets
	MAE  = "MAE"  // mean absolute error, in the unit of the targets
)

// Of returns these by name, each the mean over the t targets: outputs [n, t], targets [n·t], example after example. It is nil unless
// there is an output for every target.
func Of(outputs [][]float32, targets []float32) map[string]float64 {
	if len(outputs) == 0 || len(targets) == 0 || len(outputs)*len(outputs[0]) != len(targets) {
		return nil
	}
	n, t := float64(len(outputs)), len(outputs[0])
	of := map[string]float64{R2: 0, RMSE: 0, MAE: 0}
	for j := range t {
		mean, square, absolute, all := 0.0, 0.0, 0.0, 0.0
		for i := range outputs {
			mean += float64(targets[i*t+j]) / n
		}
		for i, out := range outputs {
			y := float64(targets[i*t+j])
			square += (y - float64(out[j])) * (y - float64(out[j]))
			absolute += math.Abs(y - float64(out[j]))
			all += (y - mean) * (y - mean)
		}
		r2 := 1 - square/all
		if all == 0 {
			r2 = math.NaN()
		}
		of[R2] += r2 / float64(t)
		of[RMSE] += math.Sqrt(square/n) / float64(t)
		of[MAE] += absolute / n / float64(t)
	}
	return of
}
