package compare

import (
	"math"
	"slices"
	"testing"
)

// A claim may be a difference, with the same minus sign in all columns.
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

// Numbers have as many digits as are significant, and their unit.
func TestClaims(t *testing.T) {
	for _, c := range []struct {
		l    Claim
		want []string // reported, here, gap
	}{
		{Claim{Theirs: 20, Ours: []float64{31, 42, 49}, Unit: "rounds"}, []string{"20 rounds", "41 ± 23 rounds", "+20.7 rounds"}},
		{Claim{Theirs: 0.97, Ours: []float64{0.91, 0.905, 0.915}, Unit: "%"}, []string{"97.0 %", "91.0 ± 1.2 %", "−6.0 points"}},
		{Claim{Theirs: 0.014, Ours: []float64{-0.002}, Unit: "points"}, []string{"1.4 points", "−0.2 points", "−1.6 points"}},
		{Claim{Theirs: 3, Ours: []float64{1.044, 1.1, 0.99}, Unit: "times"}, []string{"3 times", "1.04 ± 0.14 times", "−1.96 times"}},
		{Claim{Theirs: math.NaN(), Ours: []float64{-1.3e-8}}, []string{"–", "−1.3e-08", "–"}},
		{Claim{Theirs: 0, Ours: []float64{math.NaN(), 2}}, []string{"0", "2 (1/2)", "+2"}},
		{Claim{Theirs: 1, Ours: nil}, []string{"1", "–", "–"}},
		{Claim{Theirs: 100000, Ours: []float64{123456.7}}, []string{"100000", "123457", "+23457"}},
	} {
		if got := (Card{c.l}).Table().Lines[1][2:5]; !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
