package fedtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
)

// Quadratic returns least squares with an optimum that all clients share: y = ⟨x, w*⟩ + b* exactly. The clients have
// training sets of the given sizes, whose inputs differ in spread, and two test examples each. By default there are six
// clients with 20, 31, 8, 24, 17 and 40 examples. The model has d = 5 parameters, "dense1/weights" and
// "dense1/biases".
func Quadratic(sizes ...int) (*fedkit.Federation, error) {
	if len(sizes) == 0 {
		sizes = usual
	}
	best := []float32{1, -2, 0.5, 3}
	rng := rand.New(rand.NewPCG(11, 7))
	d := &datasets.Dataset{Name: "least squares", Shape: []int{len(best)}}
	var clients partition.Given
	for i, n := range sizes {
		var c partition.Client
		for j := range n + 2 {
			part, rows := &d.Train, &c.Train
			if j >= n {
				part, rows = &d.Test, &c.Test
			}
			*rows = append(*rows, part.Len())
			y := float32(0.25)
			for _, w := range best {
				x := float32(rng.NormFloat64() * (0.7 + 0.1*float64(i)))
				part.Floats = append(part.Floats, x)
				y += w * x
			}
			part.Targets = append(part.Targets, y)
		}
		clients = append(clients, c)
	}
	return fedkit.New(d, clients, model.MLP())
}

// usual are the sizes of Quadratic's clients.
var usual = []int{20, 31, 8, 24, 17, 40}

var (
	kept  = map[string]*fedkit.Federation{}
	guard sync.Mutex
)

// shared returns the same Quadratic every time, with the programs already compiled for it.
func shared(sizes ...int) (*fedkit.Federation, error) {
	if sizes == nil {
		return open()
	}
	guard.Lock()
	defer guard.Unlock()
	key := fmt.Sprint(sizes)
	if kept[key] != nil {
		return kept[key], nil
	}
	fed, err := Quadratic(sizes...)
	if err == nil {
		kept[key] = fed
	}
	return fed, err
}

// open returns Quadratic with two more clients, which never take part.
var open = sync.OnceValues(func() (*fedkit.Federation, error) {
	all, err := Quadratic(append(slices.Clone(usual), 12, 16)...)
	for seed := uint64(0); err == nil; seed++ {
		var fed *fedkit.Federation
		if fed, err = all.HoldOut(2, seed); err == nil && slices.EqualFunc(partition.Sizes(fed.Clients), usual, func(a, b int) bool { return a == b }) {
			return fed, nil
		}
	}
	return nil, err
})
