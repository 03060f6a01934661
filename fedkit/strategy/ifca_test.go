package strategy_test

import (
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
)

// A client gets k models to choose from. The one it trains is then there already, and one comes back.
func TestIFCABytes(t *testing.T) {
	const k = 3
	fed := quadratic(t, 4, 4, 4, 4)
	for _, gradients := range []bool{false, true} {
		h, err := fedkit.Run(t.Context(), fed, &strategy.IFCA{K: k, Fraction: 0.5, Local: standard, Gradients: gradients}, fedkit.Options{Rounds: 1})
		if err != nil {
			t.Fatal(err)
		}
		model := int64(4 * fed.Task.Dim())
		if r := h.Last(); r.BytesDown != 2*k*model || r.BytesUp != 2*model {
			t.Errorf("gradients %v: %d bytes down and %d up, want %d and %d", gradients, r.BytesDown, r.BytesUp, 2*k*model, 2*model)
		}
	}
}
