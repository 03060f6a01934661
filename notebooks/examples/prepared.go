package examples

import (
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
)

// Prepared is a data set of images by its name as a program may prepare it before it deals the rows. It is a study.Data.
type Prepared struct {
	Of       datasets.Name
	Mean, SD float64 // pixels are (x − Mean)/SD, with x as it was; an SD of 0 leaves them
	Joined   bool    // the test rows are among the training rows too, behind them
}

// Make loads the data set.
func (p Prepared) Make() (*datasets.Dataset, error) {
	d, err := p.Of.Make()
	if err != nil {
		return nil, err
	}
	if len(d.Train.Bytes) == 0 {
		return nil, fedkit.Invalid("Of", string(p.Of), "a data set of images")
	}
	if !(p.SD >= 0) {
		return nil, fedkit.Invalid("SD", p.SD, "a standard deviation > 0, or 0")
	}
	for _, s := range []*datasets.Split{&d.Train, &d.Test} {
		if p.SD > 0 {
			s.Scale, s.Shift = float32(float64(s.Scale)/p.SD), float32((float64(s.Shift)-p.Mean)/p.SD)
		}
	}
	if p.Joined {
		d.Train.Bytes, d.Train.Labels = slices.Concat(d.Train.Bytes, d.Test.Bytes), slices.Concat(d.Train.Labels, d.Test.Labels)
	}
	return d, d.Check()
}
