package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"fedkit.example/fedkit/stats"
	"fedkit.example/fedkit/table"
)

// Card is a reproduction card: what a source reports, what came out here, and why they differ. It ends a notebook.
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
	Unit   string    // "%": shares in [0, 1], whose gap is in points; "points": differences of such; else it follows the numbers: "s", "rounds"
	Why    string    // what the gap comes from
}

// Show shows the card as a table.
func (c Card) Show() { c.Table().Show() }

// Table returns the card as a table. Our number is the mean over seeds ± half of its 95 % confidence interval (see
// stats.Interval), and the gap is that mean minus the source's number. If one of ours is missing, because a run did not reach a
// target, it says how many there are.
//
// Errors: an empty card.
func (c Card) Table() *table.Table {
	return table.Make("compare: card", func(t *table.Table) error {
		if len(c) == 0 {
			return fmt.Errorf("no line")
		}
		t.Lines = [][]string{{"", "source", "reported", "here", "gap", "why"}}
		t.Left = []int{1, 5}
		t.Data = [][]any{{"what", "source", "reported", "here", "here ±", "seeds", "gap", "unit", "why"}}
		for _, l := range c {
			ours := finites(l.Ours)
			mean, half := stats.Interval(ours)
			here := l.write(mean, half)
			if len(ours) < len(l.Ours) {
				here += fmt.Sprintf(" (%d/%d)", len(ours), len(l.Ours))
			}
			t.Lines = append(t.Lines, []string{l.What, l.Source, l.write(l.Theirs, math.NaN()), here, l.gap(mean - l.Theirs), l.Why})
			t.Data = append(t.Data, []any{l.What, l.Source, l.Theirs, mean, half, float64(len(ours)), mean - l.Theirs, l.Unit, l.Why})
		}
		t.Note = "here: mean over seeds ± 95 % confidence interval; gap: here minus reported"
		return nil
	})
}

// write writes a number ± half of its interval, if it has one, with the unit.
func (l Claim) write(v, half float64) string {
	if !finite(v) {
		return "–"
	}
	if l.Unit == "%" || l.Unit == "points" {
		v, half = 100*v, 100*half
	}
	text := decimal(v, l.digits(v, 3))
	if finite(half) && half != 0 {
		digits := l.digits(half, 2)
		text = decimal(v, digits) + " ± " + decimal(half, digits)
	}
	return strings.TrimSpace(text + " " + l.Unit)
}

// gap writes a difference with its sign.
func (l Claim) gap(v float64) string {
	if l.Unit == "%" {
		l.Unit = "points"
	}
	return l.signed(v, math.NaN())
}

// signed is write with a sign before positive numbers too.
func (l Claim) signed(v, half float64) string {
	text := l.write(v, half)
	if v > 0 && !zero(l.write(v, math.NaN())) {
		text = "+" + text
	}
	return text
}

// zero reports whether a number is written as 0, and so without a sign.
func zero(text string) bool { return !strings.ContainsAny(text, "123456789") }

// digits returns the number of decimals: one for shares, else enough for some significant digits.
func (l Claim) digits(v float64, some int) int {
	switch {
	case l.Unit == "%" || l.Unit == "points":
		return 1
	case v == math.Trunc(v):
		return 0
	}
	return max(0, some-1-int(math.Floor(math.Log10(math.Abs(v)))))
}

// decimal writes a number with a true minus sign. A number that is not 0 is not written as 0.
func decimal(v float64, digits int) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', digits, 64)
	if digits > 6 {
		text = strconv.FormatFloat(math.Abs(v), 'g', 3, 64)
	}
	if v < 0 && !zero(text) {
		text = "−" + text
	}
	return text
}

func finites(v []float64) (kept []float64) {
	for _, x := range v {
		if finite(x) {
			kept = append(kept, x)
		}
	}
	return kept
}
