package compare

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
)

func TestRank(t *testing.T) {
	seeds := slices.Concat(method("A", 0.9, 0.8, 0.7), method("B", 0.5, 0.85, 0.5), method("C", 0.5, 0.1, 0.4))
	r, err := Rank(Quantity{}, seeds)
	expect.OK(t, err)
	// By hand: ranks of A are 1, 2, 1, those of B 2.5, 1, 2 and those of C 2.5, 3, 3.
	if !slices.Equal(r.Methods, []string{"A", "B", "C"}) || r.Blocks != 3 || !near(r.Ranks, []float64{4. / 3, 5.5 / 3, 8.5 / 3}) {
		t.Errorf("%+v", r)
	}
	if !slices.Equal(r.Cliques, [][2]int{{0, 2}}) { // CD is 2.34·√(12/18) = 1.91
		t.Errorf("CD %v, cliques %v", r.CD, r.Cliques)
	}
	r, err = Rank(Loss, slices.Concat(method("A", 0.9), method("B", 0.5)), slices.Concat(method("B", 0.5, 0.4), method("A", 0.9)))
	if err != nil || !slices.Equal(r.Methods, []string{"A", "B"}) || !near(r.Ranks, []float64{1, 2}) || r.Blocks != 2 {
		t.Errorf("two problems: %+v, %v", r, err)
	}
	for says, problems := range map[string][][]*history.History{
		"no problem given":                                              nil,
		"problem 1: no history given":                                   {nil},
		"ranks need at least 2 blocks and 2 methods":                    {method("A", 0.9)},
		"problem 2: its runs are A; C, and those of the first are A; B": {slices.Concat(method("A", 0.9), method("B", 0.5)), slices.Concat(method("A", 0.9), method("C", 0.5))},
		"problem 2: its runs are A, and those of the first are A; B":    {slices.Concat(method("A", 0.9), method("B", 0.5)), method("A", 0.9)},
		"block 2 has NaN":                                               {slices.Concat(method("A", 0.9), method("B", 0.5)), slices.Concat([]*history.History{scored(ran("A", 0.9), 0, []float64{1}, []int{1})}, method("B", math.Inf(1)))},
	} {
		if _, err := Rank(Accuracy, problems...); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

// Runs that differ in the seed of a part pair with a run that has no such part, but only one of them does.
func TestRankCountsEachRunOnce(t *testing.T) {
	a := func(part uint64) *history.History {
		h := ran("A", 0.9)
		h.Config = config.Of(FedAvg{Selector: Softmax{2, part}})
		return h
	}
	if r, err := Rank(Accuracy, []*history.History{a(7), a(8), ran("B", 0.5)}); err == nil {
		t.Errorf("%d blocks of 1 run of B", r.Blocks)
	}
}

func TestCliques(t *testing.T) {
	for _, c := range []struct {
		ranks []float64
		cd    float64
		want  [][2]int
	}{
		{[]float64{1, 2, 3}, 0.5, nil},
		{[]float64{1, 1.5, 3}, 1, [][2]int{{0, 1}}},
		{[]float64{1, 2, 3, 3.5}, 1.5, [][2]int{{0, 1}, {1, 2}, {2, 3}}},
		{[]float64{1, 2, 3}, 5, [][2]int{{0, 2}}},
		{[]float64{1, 2, 2.1, 4}, 2, [][2]int{{0, 2}, {2, 3}}},
	} {
		if got := cliques(c.ranks, c.cd); !slices.Equal(got, c.want) {
			t.Errorf("%v, %v: %v, want %v", c.ranks, c.cd, got, c.want)
		}
	}
}
