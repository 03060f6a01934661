package datasets_test

import (
	"fmt"

	"fedkit.example/datasets"
)

func ExampleDigits() {
	d := datasets.Digits()
	fmt.Println(d.Name, d.Shape, d.Classes, "classes")
	fmt.Println(d.Train.Len(), "rows to train on,", d.Test.Len(), "to test")

	fmt.Println("a", d.Train.Labels[0])
	picture := d.Train.Row(0, nil)
	for y := range 8 {
		for x := range 8 {
			fmt.Print([]string{".", "+", "#"}[int(2*picture[8*y+x])])
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
