package examples

import (
	"fedkit.example/datasets"
	"fedkit.example/fedkit"
)

// FFALoRA is LoRA whose A stay as drawn (Sun et al., arXiv 2403.12313): only B is trained and travels, half of LoRA's bytes if a matrix is
// square. Identity: FedAvg's A B is the mean of the clients'.
func FFALoRA(r int, alpha float64, of fedkit.Model, base []float32) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		t, err := LoRA(r, alpha, of, base)(d)
		if err != nil {
			return nil, err
		}
		var as []string
		for _, m := range adapters(t) {
			as = append(as, m.name+"/A")
		}
		return t.Freeze(as...)
	}
}
