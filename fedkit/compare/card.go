package compare

import (
	"fmt"
	"strings"

	"fedkit.example/fedkit/chart"
)

// Card is a reproduction card: what a source reports beside what came out here, and why they differ. It ends a notebook.
//
//	compare.Card{{
//		What: "rounds to 99 %, E = 5, IID", Source: "McMahan et al. 2017, Table 2", Theirs: 20,
//		Ours: compare.RoundsTo(0.99).Of(hs...), Why: "no hyperparameter search",
//	}}.Show()
type Card []Claim

// Claim is one line of a card.
type Claim struct {
	What   string    // the quantity, and under which conditions
	Source string    // paper and place: "McMahan et al. 2017, Table 1"
	Theirs float64   // the source's number; NaN if it has none
	Ours   []float64 // one number, or one per seed; values that are NaN are left out
	Unit   string    // "%": numbers are shares in [0, 1], and the gap is in points; else follows the numbers: "s", "rounds"
	Why    string    // what the gap comes from
}

// Show shows the card as a table.
func (c Card) Show() { c.Table().Show() }

// Table returns the card as a table. Our number is the mean over seeds ± half of its 95 % confidence interval (see
// Interval), and the gap is that mean less the source's number. If one of ours is missing, because a run did not reach a
// target, it says how many there are.
//
// Errors: an empty card.
func (c Card) Table() *chart.Table {
	return chart.Make("compare: card", func(t *chart.Table) error {
		if len(c) == 0 {
			return fmt.Errorf("no line")
		}
		t.Lines = [][]string{{"", "source", "reported", "here", "gap", "why"}}
		t.Left = []int{1, 5}
		t.Data = [][]any{{"what", "source", "reported", "here", "here ±", "seeds", "gap", "unit", "why"}}
		for _, l := range c {
			q := Quantity{Format: l.write}
			ours := finites(l.Ours)
			here := q.interval(ours)
			if len(ours) < len(l.Ours) {
				here.text += fmt.Sprintf(" (%d/%d)", len(ours), len(l.Ours))
			}
			mean, half := here.numbers[0], here.numbers[1]
			gap := q.signed(finites([]float64{mean - l.Theirs}))
			theirs := q.interval(finites([]float64{l.Theirs}))
			t.Lines = append(t.Lines, []string{l.What, l.Source, theirs.text, here.text, gap.text, l.Why})
			t.Data = append(t.Data, []any{l.What, l.Source, l.Theirs, mean, half, float64(len(ours)), mean - l.Theirs, l.Unit, l.Why})
		}
		t.Note = "here: mean over seeds ± 95 % confidence interval; gap: here less reported"
		return nil
	})
}

// write writes a number with the unit.
func (l Claim) write(v float64) string {
	if v < 0 {
		return "−" + l.write(-v) // as in differences
	}
	if l.Unit == "%" {
		return chart.Percent(v)
	}
	digits := 4
	if v >= 1e4 && v < 1e15 { // not 1.2e+05
		return strings.TrimSpace(fmt.Sprintf("%.0f %s", v, l.Unit))
	}
	return strings.TrimSpace(fmt.Sprintf("%.*g %s", digits, v, l.Unit))
}

func finites(v []float64) (kept []float64) {
	for _, x := range v {
		if finite(x) {
			kept = append(kept, x)
		}
	}
	return kept
}
