package datasets_test

import (
	"context"
	"fmt"

	"fedkit.example/datasets"
)

func ExampleDigits() {
	d := datasets.Digits()
	fmt.Println(d.Name, d.Shape, d.Classes, "classes")
	fmt.Println(d.Train.Len(), "rows to train on,", d.Test.Len(), "to test")

	fmt.Println("a", d.Train.Labels[0])
	image := d.Train.Row(0, nil)
	for y := range 8 {
		for x := range 8 {
			fmt.Print([]string{".", "+", "#"}[int(2*image[8*y+x])])
		}
		fmt.Println()
	}
	// Output:
	// digits [8 8 1] 10 classes
	// 1438 rows to train on, 359 to test
	// a 0
	// ...++...
	// ..++++..
	// ..+..++.
	// ..+..++.
	// ..+..++.
	// ..+..+..
	// ..+.++..
	// ...++...
}

func ExampleSynthetic() {
	d, err := datasets.Synthetic{Alpha: 1, Beta: 1}.Make()
	if err != nil {
		panic(err)
	}
	owners := map[int32]bool{}
	for _, o := range d.Train.Owner {
		owners[o] = true
	}
	fmt.Println(d.Name, d.Shape, d.Classes, "classes,", len(owners), "clients")
	// Output: synthetic(1, 1) [60] 10 classes, 30 clients
}

func ExampleGaussianMixture() {
	d, err := datasets.GaussianMixture{Groups: 2, Clients: 6, Permute: true}.Make()
	if err != nil {
		panic(err)
	}
	fmt.Println(d.Name, d.Train.Len(), d.Test.Len())
	fmt.Println("client 3 is of group", d.Groups[3])
	// Output:
	// mixture of 2 groups 600 150
	// client 3 is of group 1
}

// The optimality gap at the start, when all weights are 0.
func ExampleLeastSquares() {
	d, optimum, err := datasets.LeastSquares{Features: 3, Heterogeneity: 0.5}.Make()
	if err != nil {
		panic(err)
	}
	gap, err := optimum.Gap(make([]float32, 4))
	fmt.Println(d.Name, d.Shape, len(optimum.W), "parameters", gap > 0.1, err)
	// Output: least squares [3] 4 parameters true <nil>
}

func ExampleLogistic() {
	d, optimum, err := datasets.Logistic{Features: 3, Classes: 3, L2: 0.01}.Make()
	if err != nil {
		panic(err)
	}
	fmt.Println(d.Name, d.Shape, d.Classes, "classes,", len(optimum.W), "parameters")
	// Output: logistic [3] 3 classes, 12 parameters
}

// A loader that looks in one folder and never downloads.
func ExampleLoader() {
	l := datasets.Loader{Cache: "/nowhere", Data: "/nowhere", Offline: true}
	_, err := l.CIFAR10(context.Background())
	fmt.Println(err)
	// Output:
	// datasets: cifar-10: no cifar-10-binary.tar.gz (nor cifar-10-batches-bin):
	// 	/nowhere/cifar-10: not found
	// 	/nowhere/cifar-10: not found
	// 	download: not allowed (Offline)
	// put the files into one of these folders, or set FEDKIT_DATA to a folder with them in its subfolder cifar-10
}
