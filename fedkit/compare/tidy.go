package compare

import (
	"fmt"
	"slices"

	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/table"
)

// Tidy returns quantities of runs as one long table for programs such as pandas: a line for each value, with the columns run, the labels
// of a study, seed, round, quantity and value. A quantity that is no number of rounds has its line in the last round.
//
//	err := compare.Tidy([]compare.Quantity{compare.Accuracy, drift}, hs...).Save("runs.csv")
//
// Errors: no history, a nil one, histories that cannot be compared.
func Tidy(quantities []Quantity, h ...*history.History) *table.Table {
	return table.Make("compare: tidy", func(t *table.Table) error {
		runs, b, err := compared(Runs, h)
		if err != nil {
			return err
		}
		var keys []string
		for _, r := range runs {
			for _, l := range r.History.Labels {
				if l.Key != "name" && !slices.Contains(keys, l.Key) {
					keys = append(keys, l.Key)
				}
			}
		}
		line := func(run string, label func(string) any, more ...any) {
			t.Data = append(t.Data, slices.Concat([]any{run}, each(keys, label), more))
		}
		line("run", func(key string) any { return key }, "seed", "round", "quantity", "value")
		for _, r := range runs {
			value := func(key string) any { v, _ := r.History.Value(key); return v }
			for _, q := range quantities {
				q := q.For(r)
				for _, v := range q.inRounds(r, b) {
					line(fmt.Sprint(value("name")), value, r.History.Seed, v.Round, q.Name, v.Of)
				}
			}
		}
		t.Lines = each(t.Data, func(line []any) []string { return each(line, func(v any) string { return fmt.Sprint(v) }) })
		return nil
	})
}

// inRounds returns the values of rounds, or the run's number in its last round.
func (q Quantity) inRounds(r *Run, b Basis) []Value {
	if q.ByRound != nil {
		return q.ByRound(r, b)
	}
	if last := r.History.Last(); last != nil {
		return []Value{{last.Round, q.Value(r, b)}}
	}
	return nil
}
