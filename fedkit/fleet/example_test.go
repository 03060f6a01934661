package fleet_test

import (
	"context"
	"fmt"
	"os"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fleet"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

// A run on two worker processes of this machine gives the same bytes as one without a fleet.
func Example() {
	fed, err := fedkit.New(datasets.Digits(), partition.IID{Clients: 40}, model.MLP(32))
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "fedkit-fleet-") // a fleet of its own; programs that name the same folder share one
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	f, err := fleet.Local(2, fleet.LocalOptions{Dir: dir})
	if err != nil {
		panic(err)
	}
	defer func() { _ = f.Stop() }()

	var models []float32
	for _, on := range []fedkit.Machines{nil, f} {
		avg := &strategy.FedAvg{Fraction: 0.5, Local: fedkit.Local{Epochs: 2, Batch: 10, LR: 0.1}}
		if _, err := fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: 3, Fleet: on}); err != nil {
			panic(err)
		}
		x, err := avg.State.X.Host()
		if err != nil {
			panic(err)
		}
		models = append(models, x...)
	}
	d := fed.Task.Dim()
	same := true
	for i := range d {
		same = same && models[i] == models[d+i]
	}
	fmt.Println(d, "parameters, the same bits:", same)
	// Output: 2410 parameters, the same bits: true
}
