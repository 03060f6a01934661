package compare

import (
	"math"
	"testing"
)

// A claim may be a difference, which has one kind of minus in all columns.
func TestNegativeClaim(t *testing.T) {
	for _, l := range []Claim{
		{Theirs: -0.01, Ours: []float64{-0.221}, Unit: "%"},
		{Theirs: math.NaN(), Ours: []float64{-2, -4}},
	} {
		for _, text := range (Card{l}).Table().Lines[1] {
			if len(text) > 0 && text[0] == '-' {
				t.Errorf("%q starts with a hyphen, not a minus", text)
			}
		}
	}
}
