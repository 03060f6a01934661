package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/stats"
)

// Ranking is the mean ranks of methods over blocks, problems or seeds: 1 is best (Demšar 2006, section 3.2.2).
type Ranking struct {
	Methods []string  // names of their groups, the best first
	Ranks   []float64 // mean over blocks; equal values share their mean rank
	Blocks  int       // N
	P       float64   // of Friedman's test that all methods are equal
	CD      float64   // critical difference: methods whose ranks are closer do not differ at the 5 % level
	Cliques [][2]int  // the first and the last method of each maximal set that does not differ; sets of one are left out
}

// Rank ranks the groups of runs by a quantity. Each problem is a list of histories, and all have groups of the same
// names. If there are several problems, each is a block with the mean over the runs of a group. Of a single one, each seed
// that all groups have is a block (of the run, and of the partition and parts as far as they have them).
//
// Errors: what Table refuses of a problem, fewer than two groups or blocks, a problem without one of the groups, a group
// without a finite value.
func Rank(q Quantity, problems ...[]*history.History) (*Ranking, error) {
	if len(problems) == 0 {
		return nil, errors.New("no problem given")
	}
	var methods []string
	var blocks [][]float64
	for i, h := range problems {
		runs, b, err := compared(Evaluated, h)
		gs := GroupRuns(runs)
		if methods == nil {
			methods = names(gs)
		}
		if err == nil {
			gs, err = inOrder(gs, methods)
		}
		if err != nil {
			return nil, fmt.Errorf("problem %d: %w", i+1, err)
		}
		if len(problems) == 1 {
			blocks = each(matched(gs...), func(seed []*Run) []float64 { return q.values(seed, b) })
			blocks = slices.DeleteFunc(blocks, func(v []float64) bool { return len(finites(v)) < len(v) })
		} else {
			blocks = append(blocks, each(gs, func(g *Group) float64 { return stat.Mean(finites(q.values(g.Runs, b)), nil) }))
		}
	}
	return rankBlocks(methods, blocks, q.LowerIsBetter)
}

// inOrder returns the groups in the order of their names here.
func inOrder(gs []*Group, order []string) ([]*Group, error) {
	sorted := each(order, func(name string) *Group { return named(gs, name) })
	if slices.Contains(sorted, nil) || len(gs) != len(order) {
		return nil, fmt.Errorf("its runs are %s, and those of the first are %s", strings.Join(names(gs), "; "), strings.Join(order, "; "))
	}
	return sorted, nil
}

// rankBlocks ranks methods by blocks of one value each.
func rankBlocks(methods []string, blocks [][]float64, less bool) (*Ranking, error) {
	if !less {
		blocks = each(blocks, func(b []float64) []float64 { return each(b, func(v float64) float64 { return -v }) })
	}
	p, mean, err := stats.Friedman(blocks)
	if err != nil {
		return nil, err
	}
	order := ascending(mean)
	r := &Ranking{Blocks: len(blocks), P: p, CD: stats.CriticalDifference(len(methods), len(blocks))}
	r.Methods, r.Ranks = each(order, func(i int) string { return methods[i] }), each(order, func(i int) float64 { return mean[i] })
	r.Cliques = cliques(r.Ranks, r.CD)
	return r, nil
}

// ascending returns the indices of values from the least to the greatest.
func ascending(v []float64) []int {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(v[i], v[j]) })
	return order
}

// cliques returns the maximal stretches of sorted ranks within cd.
func cliques(ranks []float64, cd float64) (all [][2]int) {
	end := 0
	for from := range ranks {
		to := from
		for to+1 < len(ranks) && ranks[to+1]-ranks[from] < cd {
			to++
		}
		if to > from && to > end {
			all, end = append(all, [2]int{from, to}), to
		}
	}
	return all
}
