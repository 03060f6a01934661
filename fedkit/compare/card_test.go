package compare

import "testing"

// A number below zero has the minus sign that gaps and differences have.
func TestCardWritesNegativeNumbers(t *testing.T) {
	lines := Card{
		{What: "lead", Theirs: 0.01, Ours: []float64{-0.02}, Unit: "%"},
		{What: "sum", Theirs: -20000, Ours: []float64{-2, -4}},
	}.Table().Lines
	for i, want := range [][]string{{"1.0 %", "−2.0 %", "−3.0 %"}, {"−20000", "−3 ± 12.71", "+19997"}} {
		for j, cell := range want {
			if got := lines[i+1][j+2]; got != cell {
				t.Errorf("%s, %s: got %q, want %q", lines[i+1][0], lines[0][j+2], got, cell)
			}
		}
	}
}
