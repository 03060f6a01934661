package fedkit

import (
	"cmp"
	"fmt"

	"fedkit.example/datasets"
)

// Arithmetic returns the floating-point operations of a forward pass per example: what one more example in a batch adds. A
// backward pass takes about twice as many, so training takes three times this number per example.
//
// Matrix products and convolutions of the task's graph count two operations per multiply-add; elementwise operations, which are
// negligible beside them, are left out. In model.LeNet, a convolution with pooling is a larger matrix product padded with
// zeros: 36 multiply-adds for every 25 of the convolution itself. The body of a loop counts once.
//
// Nothing is compiled. Errors: Forward fails, or there is no device.
func (t *Task) Arithmetic(d *datasets.Dataset) (float64, error) {
	e := t.forEngine()
	one, _, err := e.Arithmetic(d, 1)
	two, _, also := e.Arithmetic(d, 2)
	if err = cmp.Or(err, also); err != nil {
		return 0, fmt.Errorf("task %s: %w", t.Name, err)
	}
	return two - one, nil
}
