package examples_test

import (
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/examples"
	"fedkit.example/fedkit/model"
	"github.com/janpfeifer/must"
)

// FedBN (Li et al., arXiv 2102.07623) is Partial whose personal layers are those of batch normalization; SiloBN (Andreux et al., arXiv
// 2008.07424) keeps only their statistics personal. Both suit clients whose images differ in brightness.
func ExamplePartial_fedBN() {
	cameras := partition.Intensity{Of: partition.IID{Clients: 20}, Gain: []float64{1, 3, 10}}
	fed := must.M1(fedkit.New(datasets.Digits(), cameras, model.BatchNormMLP(16)))
	for _, personal := range [][]string{nil, {"bn1/mean", "bn1/variance"}, {"bn1"}} {
		h := after(20, fed, &examples.Partial{Fraction: 0.5, Personal: personal, Local: short})
		fmt.Printf("personal: %q, more than 90 %% right: %v, for %d bytes per round\n", personal, h.Last().Mean().Accuracy > 0.9, h.Last().BytesUp)
	}
	// Output:
	// personal: [], more than 90 % right: false, for 50960 bytes per round
	// personal: ["bn1/mean" "bn1/variance"], more than 90 % right: true, for 49680 bytes per round
	// personal: ["bn1"], more than 90 % right: true, for 48400 bytes per round
}
