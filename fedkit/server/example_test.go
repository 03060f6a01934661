package server_test

import (
	"fmt"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/server"
)

// Adam's first steps are η long in every coordinate, however large the updates are.
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
