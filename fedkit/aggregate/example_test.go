package aggregate_test

import (
	"fmt"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
)

// Four clients roughly agree; the fifth sends a wild row. The mean follows it; the robust rules do not.
func Example() {
	u := fedkit.NewMatrix([]float32{
		1, 2,
		1, 3,
		2, 2,
		2, 3,
		999, -990,
	}, 5, 2)
	for _, rule := range []fedkit.Aggregator{
		aggregate.Mean{}, aggregate.Median{}, aggregate.TrimmedMean{Share: 0.2}, aggregate.MultiKrum{F: 1},
	} {
		x, err := rule.Aggregate(u, nil).Host()
		fmt.Printf("%T %.1f %v\n", rule, x, err)
	}
	// Output:
	// aggregate.Mean [201.0 -196.0] <nil>
	// aggregate.Median [2.0 2.0] <nil>
	// aggregate.TrimmedMean [1.7 2.3] <nil>
	// aggregate.MultiKrum [1.5 2.5] <nil>
}

// Clients are usually weighted by their number of examples. Robust rules that count heads ignore the weights.
func ExampleMean() {
	u := fedkit.NewMatrix([]float32{0, 1}, 2, 1)
	examples := []float64{300, 100}
	mean, err := aggregate.Mean{}.Aggregate(u, examples).Host()
	fmt.Println(mean, err)
	median, err := aggregate.Median{}.Aggregate(u, examples).Host()
	fmt.Println(median, err)
	// Output:
	// [0.25] <nil>
	// [0.5] <nil>
}

// Krum needs n ≥ 2f+3 clients per round to withstand f attackers. More attackers are an error.
func ExampleKrum() {
	u := fedkit.NewMatrix([]float32{1, 1, 1, 1, 50, 50}, 6, 1)
	_, err := aggregate.Krum{F: 2}.Aggregate(u, nil).Host()
	fmt.Println("f = 2 of 6 is refused:", err != nil)
	x, err := aggregate.Krum{F: 1}.Aggregate(u, nil).Host()
	fmt.Println(x, err)
	// Output:
	// f = 2 of 6 is refused: true
	// [1] <nil>
}

// Four honest clients know one parameter each; the fifth attacks. The median drops what only one client knows. After
// mixing, every honest row holds a share of everything.
func ExampleNearestMix() {
	u := fedkit.NewMatrix([]float32{
		4, 0, 0, 0,
		0, 4, 0, 0,
		0, 0, 4, 0,
		0, 0, 0, 4,
		99, 99, 99, 99,
	}, 5, 4)
	median, err := aggregate.Median{}.Aggregate(u, nil).Host()
	fmt.Printf("median: %.1f %v\n", median, err)
	mixed, err := aggregate.NearestMix{F: 1, By: aggregate.Median{}}.Aggregate(u, nil).Host()
	fmt.Printf("mixed first: %.1f %v\n", mixed, err)
	// Output:
	// median: [0.0 0.0 0.0 0.0] <nil>
	// mixed first: [1.0 1.0 1.0 1.0] <nil>
}
