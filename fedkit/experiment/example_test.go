package experiment_test

import (
	"fmt"

	"fedkit.example/fedkit/experiment"
)

// A study in a file: two strategies on two partitions, with three seeds. The label of the partition's option is given.
func ExampleReadGrid() {
	grid, err := experiment.ReadGrid("testdata/study.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(grid), "runs; those with seed 1:")
	for _, c := range grid.Where("seed", "1") {
		fmt.Printf("%v: %v, %d rounds\n", c, c.Partition, c.Options.Rounds)
	}
	// Output:
	// 12 runs; those with seed 1:
	// FedAvg, α 0.1: 10 clients, Dirichlet α = 0.1, 3 rounds
	// FedAvg, α 1: 10 clients, Dirichlet α = 1, 3 rounds
	// FedProx Mu=0.1, α 0.1: 10 clients, Dirichlet α = 0.1, 3 rounds
	// FedProx Mu=0.1, α 1: 10 clients, Dirichlet α = 1, 3 rounds
}
