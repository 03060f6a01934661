package datasets

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fedkit.example/datasets/internal/columns"
)

// checkShare refuses a field out of range, and a share of test rows that is set although a file has them.
func checkShare(what string, of any, share float64, file string) error {
	if err := inRange(what, of); err != nil {
		return err
	}
	if share > 0 && file != "" {
		return fmt.Errorf("datasets: %s: Share = %v: must be 0 if a file has the test rows, here %s", what, share, file)
	}
	return nil
}

// holdBack moves a random share of the training rows to the test part, stratified by owner and, if each has one, by label, plus or minus
// one row. A row of each label stays, unless unseen ones are allowed. Both parts keep the order of the rows.
func (d *Dataset) holdBack(share float64, seed uint64, unseen bool) error {
	all, n := d.Train, d.Train.Len()
	if held := math.Round(share * float64(n)); held < 1 || held >= float64(n) {
		return fmt.Errorf("datasets: %s: Share = %v of %d rows: must leave at least one row for training and one for testing", d.Name, share, n)
	}
	var train, test []int
	for row, held := range all.held(share, seed, unseen) {
		if held {
			test = append(test, row)
		} else {
			train = append(train, row)
		}
	}
	if test == nil {
		return fmt.Errorf("datasets: %s: Share = %v of %d rows: no two have the same label, and one of each must stay for training; is this the column of labels? UnseenLabels holds rows back all the same", d.Name, share, n)
	}
	d.Train, d.Test = all.rows(train, d.Features()), all.rows(test, d.Features())
	return nil
}

// held marks the rows for testing.
func (s *Split) held(share float64, seed uint64, unseen bool) []bool {
	rows, one := random(seed, "test rows", 0).Perm(s.Len()), s.Labels
	if s.width() > 1 {
		one = nil
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Or(compareAt(s.Owner, a, b), compareAt(one, a, b)) })
	marked, held, left := make([]bool, len(rows)), 0.0, map[int32]int{} // left: rows for training of each label
	for _, l := range one {
		left[l]++
	}
	for k := range 2 * len(rows) { // twice, for what could not be had where the last row of a label had to stay
		row := rows[k%len(rows)]
		due := math.Round(share*float64(min(k+1, len(rows)))) > held
		if due && !marked[row] && (one == nil || unseen || left[one[row]] > 1) {
			marked[row] = true
			held++
			if one != nil {
				left[one[row]]--
			}
		}
	}
	return marked
}

// checkSeen refuses labels that only test rows have, which no model can learn. nil names are the numbers.
func (d *Dataset) checkSeen(where string, names []string) error {
	seen, like, unseen, hint := map[int32]bool{}, map[string]string{}, []string(nil), ""
	for of, labels := range [][]int32{d.Train.Labels, d.Test.Labels} {
		for _, l := range labels {
			if seen[l] {
				continue
			}
			seen[l] = true
			name := fmt.Sprint(l)
			if names != nil {
				name = names[l]
			}
			plain := strings.ToLower(strings.TrimRight(name, "."))
			if of == 0 {
				like[plain] = name
				continue
			}
			if unseen = append(unseen, name); like[plain] != "" {
				hint = fmt.Sprintf(" (is %s the %s of training rows?)", columns.Quote(name), columns.Quote(like[plain]))
			}
		}
	}
	if unseen == nil {
		return nil
	}
	slices.Sort(unseen)
	return fmt.Errorf("datasets: %s: test rows have labels that no training row has, %s%s: must have none; Share without Test splits the training rows instead, UnseenLabels allows such labels",
		where, columns.List(unseen), hint)
}

// compareAt compares two entries of a list that may be nil.
func compareAt(list []int32, a, b int) int {
	if list == nil {
		return 0
	}
	return cmp.Compare(list[a], list[b])
}

// rows returns some rows, of f features.
func (s *Split) rows(rows []int, f int) Split {
	return Split{
		Bytes: pick(s.Bytes, rows, f), Scale: s.Scale, Shift: s.Shift, Floats: pick(s.Floats, rows, f),
		Labels: pick(s.Labels, rows, s.width()), Targets: pick(s.Targets, rows, s.width()), Width: s.Width, Owner: pick(s.Owner, rows, 1),
	}
}

// pick returns rows of f values each, nil of nil.
func pick[T any](from []T, rows []int, f int) []T {
	if from == nil {
		return nil
	}
	to := make([]T, 0, len(rows)*f)
	for _, row := range rows {
		to = append(to, from[row*f:(row+1)*f]...)
	}
	return to
}
