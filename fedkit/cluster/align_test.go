package cluster_test

import (
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit/cluster"
)

func TestAlign(t *testing.T) {
	for _, c := range []struct {
		labels []int
		before [][]float64
		want   []int
	}{
		{[]int{1, 1, 0, 0}, [][]float64{{1, 0, 0}, {0.6, 0.4, 0}, {0, 0, 1}, {0, 0.1, 0.9}}, []int{0, 0, 2, 2}},
		{nil, nil, []int{}}, // more or fewer groups
		{[]int{0, 1}, nil, []int{0, 1}},
		{[]int{1, 0, 2}, [][]float64{{1, 0}, {0, 1}, {0, 1}}, []int{0, 1, 2}},
		{[]int{1, 1, -1}, [][]float64{{0, 0, 1}, {0, 0, 1}, {1, 0, 0}}, []int{2, 2, -1}},
	} {
		if got := cluster.Align(c.labels, c.before); !slices.Equal(got, c.want) {
			t.Errorf("%v after %v: %v, want %v", c.labels, c.before, got, c.want)
		}
	}
}

func TestFollow(t *testing.T) {
	for name, c := range map[string]struct{ labels, before, want []int }{
		"nothing":                       {nil, nil, []int{}},
		"the first time":                {[]int{4, 2, 4}, nil, []int{0, 1, 0}},
		"nobody had a group":            {[]int{4, 2, 4}, []int{-1, -1, -1}, []int{0, 1, 0}},
		"other names":                   {[]int{2, 2, 0, 0, 1}, []int{0, 0, 5, 5, 3}, []int{0, 0, 5, 5, 3}},
		"a group splits":                {[]int{0, 0, 1, 1, 1}, []int{0, 0, 0, 0, 0}, []int{1, 1, 0, 0, 0}},
		"groups merge":                  {[]int{0, 0, 0, 0, 0}, []int{0, 0, 1, 1, 1}, []int{1, 1, 1, 1, 1}},
		"a group shares no point":       {[]int{0, 0, 1, 1}, []int{0, 2, -1, -1}, []int{0, 0, 1, 1}},
		"one leaves, another comes":     {[]int{0, 0, 1, -1}, []int{7, 7, -1, 0}, []int{7, 7, 1, -1}},
		"new points":                    {[]int{1, 1, 0, 0}, []int{0, 0}, []int{0, 0, 1, 1}},
		"more together than each alone": {[]int{0, 0, 0, 1, 1, 1}, []int{0, 0, 1, 0, 0, 0}, []int{1, 1, 1, 0, 0, 0}},
	} {
		if got := cluster.Follow(c.labels, c.before); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestMatchOfDifferentNumbers(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		overlap [][]float64
		want    []int
	}{
		{nil, []int{}},
		{[][]float64{{}, {}}, []int{}},
		{[][]float64{{1, 3, 2}}, []int{-1, 0, -1}},
		{[][]float64{{1}, {3}, {2}}, []int{1}},
		{[][]float64{{1, 3, 2}, {1, 4, 1}}, []int{-1, 1, 0}},
		{[][]float64{{nan, 1}, {2, math.Inf(1)}}, []int{1, 0}},
		{[][]float64{{0, 5}, {1}}, []int{1, 0}},
	} {
		if got := cluster.Match(c.overlap); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.overlap, got, c.want)
		}
	}
}
