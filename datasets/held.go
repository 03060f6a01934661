package datasets

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit/config"
)

// checkShare refuses a share of test rows outside [0, 1), and one that is set although a file has those rows.
func checkShare(what string, share float64, file string) error {
	switch {
	case !(share >= 0 && share < 1):
		return fmt.Errorf("datasets: %s: Share = %v: must be in (0, 1), or 0 for the default of %v", what, share, config.Defaults(CSV{}).Share)
	case share > 0 && file != "":
		return fmt.Errorf("datasets: %s: Share = %v: must be 0 if a file has the test rows, here %s", what, share, file)
	}
	return nil
}

// holdBack moves a random share of the training rows to the test part, stratified by owner and, if each has one, by label, plus or minus
// one row. Both parts keep the order of the rows.
func (d *Dataset) holdBack(share float64, seed uint64) error {
	all, n := d.Train, d.Train.Len()
	if held := math.Round(share * float64(n)); held < 1 || held >= float64(n) {
		return fmt.Errorf("datasets: %s: Share = %v of %d rows: must leave at least one row for training and one for testing", d.Name, share, n)
	}
	var train, test []int
	for row, held := range all.held(share, seed) {
		if held {
			test = append(test, row)
		} else {
			train = append(train, row)
		}
	}
	d.Train, d.Test = all.rows(train, d.Features()), all.rows(test, d.Features())
	return nil
}

// held marks the rows for testing.
func (s *Split) held(share float64, seed uint64) []bool {
	rows, one := random(seed, "test rows", 0).Perm(s.Len()), s.Labels
	if s.width() > 1 {
		one = nil
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Or(compareAt(s.Owner, a, b), compareAt(one, a, b)) })
	marked := make([]bool, len(rows))
	for k, row := range rows {
		marked[row] = math.Round(share*float64(k+1)) > math.Round(share*float64(k))
	}
	return marked
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
