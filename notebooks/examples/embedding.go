package examples

import (
	"fmt"
	"path"

	"fedkit.example/fedkit"
)

// checkHead rejects names in an option Head that are not layers of the federation's model, and more clients than can be compared.
func checkHead(fed *fedkit.Federation, head []string) error {
	if fed == nil {
		return nil
	}
	if _, err := fed.Task.Mask(head...); err != nil {
		return fmt.Errorf("option Head: %w", err)
	}
	return fed.FitsPairs("clients", fed.Size())
}

// embedding is the mask of all layers but the head, [1, d], by default all but the last one, and its share of the parameters.
func embedding(r *fedkit.Round, head []string) (mask *fedkit.Matrix, share float64) {
	if p := r.Fed.Task.Params; head == nil {
		head = []string{path.Dir(p[len(p)-1].Name)} // of dense2/biases
	}
	mask = r.Mask(head...).Not()
	values, err := mask.Host()
	r.Fail(err)
	for _, v := range values {
		share += float64(v) / float64(len(values))
	}
	return mask, share
}

// toward moves the parameters of a mask [1, d] from w [n, d] to x [1, d], by a share of the way.
func toward(w, x, mask *fedkit.Matrix, share float64) *fedkit.Matrix {
	return w.Add(x.Sub(w).Mul(mask).Scale(share))
}
