package config_test

import (
	"encoding/json"
	"fmt"

	"fedkit.example/fedkit/config"
)

func Example() {
	was := config.Of(&FedAvg{Local: Local{Batch: 16, LR: 0.1}})
	is := config.Of(&FedAvg{Local: Local{Batch: 16, LR: 0.03}, Aggregator: Median{}})
	fmt.Println(is)
	for _, line := range config.Diff(was, is) {
		fmt.Println(line)
	}
	b, _ := json.Marshal(was)
	fmt.Printf("%s\n", b)
	// Output:
	// config_test.FedAvg{Aggregator: config_test.Median{}, Local: {Batch: 16, LR: 0.03}}
	// Aggregator: config_test.Median{}, was not set
	// Local.LR: 0.03, was 0.1
	// {"Local":{"Batch":16,"LR":0.1},"type":"config_test.FedAvg"}
}
