package fedkit

import (
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
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
	var operations [2]float64 // for batches of one and two examples
	for i := range operations {
		var err error
		if operations[i], err = t.arithmetic(d, i+1); err != nil {
			return 0, fmt.Errorf("task %s: %w", t.Name, err)
		}
	}
	return operations[1] - operations[0], nil
}

// arithmetic returns the operations of a forward pass for a batch, including those that do not depend on its size.
func (t *Task) arithmetic(d *datasets.Dataset, batch int) (float64, error) {
	var arguments []shapes.Shape
	for _, p := range t.Params {
		arguments = append(arguments, shapes.Make(dtypes.Float32, append([]int{1}, p.Shape...)...))
	}
	arguments = append(arguments, shapes.Make(dtypes.Float32, append([]int{1, batch}, d.Shape...)...))
	l := len(t.Params)
	operations, _, err := xla.NewProgram(t.Name, func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{t.Forward(in[:l:l], in[l])}
	}).Arithmetic(arguments...)
	return operations, err
}
