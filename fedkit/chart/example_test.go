package chart_test

import (
	"fmt"

	"fedkit.example/fedkit/chart"
)

// A figure is a value: it is customized, then shown.
func ExampleCurves() {
	f := chart.Curves("Step sizes", "η", "test accuracy",
		chart.Series{Name: "FedAvg", X: []float64{1, 0.01, 0.1}, Y: []float64{0.62, 0.71, 0.93}})
	f.Note = "mean of three seeds"

	fmt.Println("points in the order of η:", f.Series[0].X, f.Series[0].Y)
	fmt.Println("logarithmic:", f.X.Log, f.Y.Log)
	fmt.Println("percentages:", f.X.Percent, f.Y.Percent)
	fmt.Println("error:", f.Err())
	// Output:
	// points in the order of η: [0.01 0.1 1] [0.71 0.93 0.62]
	// logarithmic: true false
	// percentages: false true
	// error: <nil>
}

func ExampleHistogram() {
	f := chart.Histogram("Who gains", "gain in accuracy", "clients",
		chart.Series{Name: "FedRep", X: []float64{-0.05, 0.05, 0.15, 0.25, 0.28}})
	for _, bar := range f.Series[0].Tip {
		fmt.Println(bar)
	}
	// Output:
	// −5.0 % to 0.0 %: 1
	// 5.0 % to 10.0 %: 1
	// 15.0 % to 20.0 %: 1
	// 25.0 % to 30.0 %: 2
}

// The Vega-Lite form goes to whatever reads it.
func ExampleFigure_VegaLite() {
	spec := chart.Curves("Loss", "round", "loss", chart.Series{Name: "FedAvg", X: []float64{1, 2}, Y: []float64{3, 2}}).VegaLite()
	fmt.Println(spec["$schema"])
	fmt.Println(spec["title"].(map[string]any)["text"], spec["width"], spec["height"])
	// Output:
	// https://vega.github.io/schema/vega-lite/v5.json
	// Loss 560 320
}
