package plot

import (
	"fmt"
	"testing"

	"fedkit.example/fedkit"
)

// From 1,000 histories of 1,000 rounds to the specification that a cell emits: at most 1 s. They are configurations, or 250 of four seeds,
// or 200 of five.
func BenchmarkManyCurves(b *testing.B) {
	for _, seeds := range []int{1, 4, 5} {
		var hs []*fedkit.History
		for i := range 1000 {
			hs = append(hs, synthetic(fmt.Sprint("method ", i/seeds), uint64(i%seeds), 1000, 1, 1, 0.5+0.0004*float64(i/seeds)))
		}
		b.Run(fmt.Sprint(seeds, " seeds"), func(b *testing.B) {
			for b.Loop() {
				if f := Accuracy(hs...); f.VegaLite() == nil {
					b.Fatal(f.Err())
				}
			}
		})
	}
}
