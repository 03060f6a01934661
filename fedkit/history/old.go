package history

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/lines"
)

// columns is how records were written before what a client did became a row: a list for each figure, in the order of
// Selected.
type columns struct {
	Selected   []int   `json:"selected"`
	Steps      []int   `json:"steps"`
	TrainLoss  []Float `json:"train_loss"`
	Divergence []Float `json:"divergence"`
	Mu         []Float `json:"mu"`
	Similarity []Float `json:"similarity"`
	Skipped    []int   `json:"skipped"`
	Local      []Score `json:"local"`
	Assign     []int   `json:"assign"`
}

// UnmarshalJSON reads a history, also one whose configuration is called options.
func (h *History) UnmarshalJSON(b []byte) error {
	both := struct {
		*plainHistory
		Options *config.Config `json:"options"`
	}{plainHistory: (*plainHistory)(h)}
	err := lines.Strict(b, &both)
	if both.Options != nil {
		h.Config = both.Options
	}
	return err
}

// UnmarshalJSON reads a record, also in the old form.
func (r *Record) UnmarshalJSON(b []byte) error {
	both := struct {
		*plainRecord
		columns
	}{plainRecord: (*plainRecord)(r)}
	if err := lines.Strict(b, &both); err != nil {
		return err
	}
	if err := r.take(both.columns); err != nil {
		return err
	}
	for i := range r.Solves {
		r.Solves[i].Round = r.Round
	}
	return nil
}

// take turns columns into rows.
func (r *Record) take(old columns) error {
	n := len(old.Selected)
	fits := func(v []Float) bool { return v == nil || len(v) == n }
	if len(old.Steps) != n || len(old.TrainLoss) != n || !fits(old.Divergence) || !fits(old.Mu) || !fits(old.Similarity) {
		return fmt.Errorf("round %d: %d clients but %d steps, %d losses, %d divergences, %d μ, %d similarities",
			r.Round, n, len(old.Steps), len(old.TrainLoss), len(old.Divergence), len(old.Mu), len(old.Similarity))
	}
	at := func(v []Float, i int) Float {
		if v == nil {
			return 0
		}
		return v[i]
	}
	for i, c := range old.Selected {
		r.Solves = append(r.Solves, Solve{Client: c, Steps: old.Steps[i], Loss: old.TrainLoss[i], Drift: at(old.Divergence, i),
			Mu: at(old.Mu, i), Similarity: at(old.Similarity, i), Skipped: slices.Contains(old.Skipped, c)})
	}
	if old.Local != nil {
		r.Scores = old.Local
	}
	if old.Assign != nil {
		r.Clusters = old.Assign
	}
	return nil
}
