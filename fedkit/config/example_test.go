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

func ExampleVary() {
	median := config.Of(&FedAvg{Local: Local{Batch: 16, LR: 0.1}, Aggregator: Median{}})
	krum := config.Of(&FedAvg{Local: Local{Batch: 16, LR: 0.03}, Aggregator: &Krum{F: 2}})
	mean := config.Of(&FedAvg{Local: Local{Batch: 16, LR: 0.1}})
	for _, d := range config.Vary(median, krum, mean) {
		fmt.Printf("%s: %q\n", d.Path, d.Values)
	}
	// Output:
	// Aggregator: ["config_test.Median{}" "config_test.Krum{F: 2}" "not set"]
	// Local.LR: ["0.1" "0.03" "0.1"]
}
