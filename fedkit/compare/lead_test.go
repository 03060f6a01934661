package compare

import (
	"slices"
	"testing"

	"fedkit.example/fedkit/history"
)

// A lead is positive if the first is better, seed by seed, and a panel without runs has none.
func TestLead(t *testing.T) {
	x := Panel{"x", slices.Concat(method("A", 0.9, 0.7, 0.8), method("B", 0.4, 0.6), method("C", 0.1))}
	bad := Panel{"bad", []*history.History{nil}}
	for what, c := range map[string]struct {
		got  []Setting
		want []float64
	}{
		"accuracy": {Lead(Quantity{}, "A", "B", x, bad), []float64{0.5, 0.1}},
		"loss":     {Lead(Loss, "B", "A", x, bad), []float64{-0.5, -0.1}},
		"saved":    {Saved(Loss, "A", "B", x, bad), []float64{0.833333333333, 0.25}}, // 1 − 0.1/0.6, 1 − 0.3/0.4
		"nobody":   {Lead(Accuracy, "A", "D", x, bad), nil},
		"never":    {Lead(RoundsTo(0.5), "A", "B", x, bad), []float64{nan, 0}},
	} {
		if len(c.got) != 2 || c.got[0].Name != "x" || c.got[1].Name != "bad" || c.got[1].Here != nil {
			t.Errorf("%s: %v", what, c.got)
		}
		if got := c.got[0].Here; !slices.EqualFunc(got, c.want, func(a, b float64) bool { return a == b || a != a && b != b }) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
	// The second seed of A is at 0.7 in round 2, as B is; B's first is never at 0.5.
	tab := Claims{{What: "A", In: Lead(RoundsTo(0.5), "A", "B", x)}}.Table()
	if got := cells(t, tab, "A", "n", "verdict"); !slices.Equal(got, []string{"1/2", "too few runs"}) {
		t.Errorf("%q", got)
	}
}
