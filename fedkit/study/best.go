package study

import (
	"fmt"
	"math"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/compare"
)

// Best returns the runs with the best value of a label or option, such as a rate: that with the best mean of a quantity over its
// runs (the zero Quantity is accuracy), the first of ties. The quantity is that on validation rows if all runs have such rows (see
// partition.Validation), and on says so. Otherwise it is that on test rows, and what the chosen runs then say of test rows is
// optimistic.
//
//	best, on, err := runs.Where("name", "FedAvg").Best("η", compare.LastRounds(10, compare.Accuracy))
//
// A value is not chosen if one of its runs failed or has no finite quantity. Errors: no run has the label or option, no value can be
// chosen, values have different numbers of runs, a history that cannot be loaded.
func (rs Runs) Best(key string, by compare.Quantity) (best Runs, on datasets.Part, err error) {
	if best, on, err = rs.best(key, by); err != nil {
		return nil, 0, fmt.Errorf("study: best %s: %w", key, err)
	}
	return best, on, nil
}

func (rs Runs) best(key string, by compare.Quantity) (best Runs, on datasets.Part, err error) {
	values := rs.Values(key)
	if len(values) == 0 {
		return nil, 0, fedkit.Invalid("key", fmt.Sprintf("%q", key), "a label or option of the runs")
	}
	some := slices.DeleteFunc(slices.Clone(rs), func(r *Run) bool { return r != nil && r.Error != "" })
	histories := make([]*fedkit.History, len(some))
	on = datasets.ValidationPart
	for i, r := range some {
		if histories[i], err = r.Light(); err != nil {
			return nil, 0, err
		}
		if !histories[i].Validated() {
			on = datasets.TestPart
		}
	}
	if on == datasets.ValidationPart {
		by = by.OnValidation()
	}
	figures := map[*Run]float64{}
	for i, v := range by.Of(histories...) { // on one basis
		figures[some[i]] = v
	}
	most, n := math.Inf(-1), len(rs.Where(key, values[0]))
	for _, value := range values {
		runs, mean := rs.Where(key, value), 0.0
		if len(runs) != n {
			return nil, 0, fedkit.Invalid("runs", fmt.Sprintf("%d with %s, and %d with %s", n, values[0], len(runs), value), "the same number for each value, such as one per seed")
		}
		for _, r := range runs {
			v, finished := figures[r]
			if !finished {
				v = math.NaN()
			}
			mean += v / float64(n)
		}
		if by.LowerIsBetter {
			mean = -mean
		}
		if mean > most && !math.IsInf(mean, 1) { // NaN is not
			best, most = runs, mean
		}
	}
	if best == nil {
		return nil, 0, fmt.Errorf("no value can be chosen: each has a run that failed, or whose %s is not finite", by.Axis())
	}
	return best, on, nil
}
