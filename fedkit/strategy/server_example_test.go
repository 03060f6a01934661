package strategy_test

import (
	"fmt"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/strategy"
)

// The larger β is, the less the first updates move the model.
func ExampleFedAvgM() {
	for _, beta := range []float64{0.5, 0.9} {
		h := after(10, digits(), &strategy.FedAvgM{Fraction: 0.5, Server: server.Momentum{Beta: beta}, Local: short})
		fmt.Printf("β = %v: more than half right after ten rounds: %v\n", beta, h.Accuracy() > 0.5)
	}
	// Output:
	// β = 0.5: more than half right after ten rounds: true
	// β = 0.9: more than half right after ten rounds: false
}

// Steps shrink as squared updates accumulate. The paper's experiments have no momentum.
func ExampleFedAdagrad() {
	for _, rate := range []float64{0.01, 0.1} {
		h := after(15, digits(), &strategy.FedAdagrad{Fraction: 0.5, Server: server.Adagrad{LR: rate, Beta1: fedkit.Zero}, Local: short})
		fmt.Printf("η = %v: more than 70 %% right: %v\n", rate, h.Accuracy() > 0.7)
	}
	// Output:
	// η = 0.01: more than 70 % right: false
	// η = 0.1: more than 70 % right: true
}

// Both forms of Adam. Reddi's has no bias correction, and Epsilon is the paper's τ.
func ExampleFedAdam() {
	for _, o := range []server.Adam{{LR: 0.1}, {LR: 0.1, Form: server.Reddi, Epsilon: 0.001}} {
		h := after(15, digits(), &strategy.FedAdam{Fraction: 0.5, Server: o, Local: short})
		fmt.Printf("%v: more than 70 %% right: %v\n", o.Form, h.Accuracy() > 0.7)
	}
	// Output:
	// Corrected: more than 70 % right: true
	// Reddi: more than 70 % right: true
}

// The server's η is tuned by trial: here for Yogi, whose steps are about as long as Adam's.
func ExampleFedYogi() {
	for _, rate := range []float64{0.01, 0.1} {
		h := after(15, digits(), &strategy.FedYogi{Fraction: 0.5, Server: server.Yogi{LR: rate}, Local: short})
		fmt.Printf("η = %v: more than 70 %% right: %v\n", rate, h.Accuracy() > 0.7)
	}
	// Output:
	// η = 0.01: more than 70 % right: false
	// η = 0.1: more than 70 % right: true
}
