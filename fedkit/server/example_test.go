package server_test

import (
	"fmt"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/server"
	"github.com/gomlx/gomlx/core/graph"
)

// Adam's first steps are η long in every coordinate, however large the updates are. It remembers the mean update and
// its square.
func ExampleAdam() {
	x := fedkit.NewMatrix([]float32{0, 0}, 1, 2)
	delta := fedkit.NewMatrix([]float32{3, -0.2}, 1, 2) // the clients' mean update
	adam := server.Adam{LR: 0.1}

	step, memory := adam.Step(delta, nil, 1)
	x = x.Add(step)
	step, memory = adam.Step(delta, memory, 2)
	x = x.Add(step)

	now, err := x.Host()
	fmt.Printf("%.3f %v, %d matrices remembered\n", now, err, len(memory))
	// Output: [0.200 -0.200] <nil>, 2 matrices remembered
}

// Momentum averages the updates over rounds: a steady direction adds up, a direction that keeps turning cancels out.
func ExampleMomentum() {
	momentum := server.Momentum{LR: 1, Beta: 0.5}
	x := fedkit.NewMatrix([]float32{0, 0}, 1, 2)
	var step *fedkit.Matrix
	var memory []*fedkit.Matrix
	for t := 1; t <= 4; t++ {
		turning := float32(1 - 2*(t%2)) // -1, 1, -1, 1
		step, memory = momentum.Step(fedkit.NewMatrix([]float32{1, turning}, 1, 2), memory, t)
		x = x.Add(step)
	}
	now, err := x.Host()
	fmt.Printf("%.1f %v\n", now, err)
	// Output: [3.1 -0.3] <nil>
}

// A custom server optimizer is one method. This one never lets a parameter move by more than Most.
type clipped struct{ Most float64 }

func (c clipped) Step(delta *fedkit.Matrix, _ []*fedkit.Matrix, _ int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	return delta.Apply(clip, c.Most), nil
}

var clip = fedkit.NewProgram("clip", func(a []*graph.Node) *graph.Node {
	return graph.Min(graph.Max(a[0], graph.Neg(a[1])), a[1])
})

func Example() {
	var o fedkit.ServerOptimizer = clipped{Most: 0.5}
	step, _ := o.Step(fedkit.NewMatrix([]float32{3, -0.2}, 1, 2), nil, 1)
	v, err := step.Host()
	fmt.Printf("%.1f %v\n", v, err)
	// Output: [0.5 -0.2] <nil>
}
