// Package precision converts between float32 and float64.
package precision

// Double returns values as float64.
func Double(v []float32) []float64 { return convert[float64](v) }

// Single returns values rounded to float32.
func Single(v []float64) []float32 { return convert[float32](v) }

func convert[To, From float32 | float64](v []From) []To {
	w := make([]To, len(v))
	for i, x := range v {
		w[i] = To(x)
	}
	return w
}
