package datasets

import "gonum.org/v1/gonum/stat"

// standardize shifts and scales each feature by its mean and standard deviation (of the n training rows, with the divisor n).
// Constant features are only shifted.
func (d *Dataset) standardize() {
	f, n := d.Features(), d.Train.Len()
	column := make([]float64, n)
	for j := range f {
		for i := range column {
			column[i] = float64(d.Train.Floats[i*f+j])
		}
		mean, sd := stat.PopMeanStdDev(column, nil)
		if sd == 0 {
			sd = 1
		}
		for _, s := range []*Split{&d.Train, &d.Test} {
			for i := j; i < len(s.Floats); i += f {
				s.Floats[i] = float32((float64(s.Floats[i]) - mean) / sd)
			}
		}
	}
}
