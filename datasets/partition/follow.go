package partition

import (
	"math"
	"math/rand/v2"

	"fedkit.example/datasets"
)

// follow deals the test rows out to clients that hold these training rows, [M]. Of class c, client i gets the share
// n_ic/n_c, rounded to whole rows, and at least the given number in all; see topUp. A class without training rows is
// shared equally. All rows are dealt.
func follow(d *datasets.Dataset, train [][]int, least int, src rand.Source) [][]int {
	h := newHand(d.Test.Labels, d.Classes, len(train), src)
	held := make([][]float64, d.Classes) // [C, M]
	for c := range held {
		held[c] = make([]float64, len(train))
	}
	class := make([]float64, d.Classes)
	for i, rows := range train {
		for _, row := range rows {
			held[d.Train.Labels[row]][i]++
			class[d.Train.Labels[row]]++
		}
	}
	p := make([]float64, len(train))
	for c, n := range class {
		for i := range p {
			p[i] = 1 / float64(len(p))
			if n > 0 {
				p[i] = held[c][i] / n
			}
		}
		h.deal(c, p)
	}
	h.topUp(least, func(c, i int) float64 { return math.Log(held[c][i]) })
	return h.all()
}
