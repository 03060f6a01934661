package catalog_test

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/catalog"
	"fedkit.example/fedkit/strategy"
)

// Lowest selects the clients with the lowest numbers, from the first that it is given.
type Lowest struct {
	From int `range:"[0,inf)"` // the first client
}

// Select implements fedkit.Selector.
func (s Lowest) Select(r *fedkit.Round, n int) []int {
	rest := slices.DeleteFunc(r.Candidates(), func(c int) bool { return c < s.From })
	return rest[:n]
}

// A custom selector has a name in files and on command lines, like the shipped ones.
func ExampleRegister() {
	if err := catalog.Register(Lowest{}); err != nil {
		fmt.Println(err)
		return
	}
	s, err := catalog.Build[fedkit.Strategy]("FedAvg Fraction=0.1 Selector=Lowest Selector.From=5")
	fmt.Printf("%+v %v\n", s.(*strategy.FedAvg).Selector, err)
	_, err = catalog.Build[fedkit.Strategy]("FedAvg Selector=Lowest Selector.Form=5")
	fmt.Println(err)
	// Output:
	// {From:5} <nil>
	// invalid: Selector.Form = 5: must be an option of catalog_test.Lowest (did you mean From?): From
}
