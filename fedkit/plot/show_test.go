package plot

import (
	"errors"
	"fmt"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/table"
)

func ExampleShow() {
	Show(&table.Table{Lines: [][]string{{"rule", "accuracy"}, {"mean", "0.91"}}})
	Show(&fedkit.History{Name: "FedAvg", Data: "digits", Partition: "20 clients", Model: "MLP-64", Params: 4810, Device: "cpu"})
	Show([]float64{0.1, 0.2}, "and more")
	Show((*fedkit.History)(nil), (*fedkit.Federation)(nil))
	// Output:
	// rule  accuracy
	// mean      0.91
	// FedAvg on digits: 20 clients; MLP-64, 4810 parameters; seed 0, cpu
	//   round  clients  steps  train loss  test loss  accuracy  own accuracy  up  down  time
	// [0.1 0.2]
	// and more
	// nil: no history
	// nil: no federation
}

// A function that returns a value and an error shows the value, and never hides the error.
func ExampleShow_error() {
	Show(1.5, nil)
	defer func() { fmt.Println("panic:", recover()) }()
	Show(1.5, errors.New("Options.Rounds = 0: must be at least 1"))
	// Output:
	// 1.5
	// panic: Options.Rounds = 0: must be at least 1
}
