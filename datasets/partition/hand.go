package partition

import (
	"math"
	"math/rand/v2"
)

// hand is one part of a data set while it is partitioned, class by class.
type hand struct {
	undealt [][]int   // rows of each class, shuffled; [C]
	held    [][][]int // rows of class c that client i holds: held[c][i]; [C, M]
	size    []int     // rows that client i holds; [M]
}

// newHand sorts the rows by class and shuffles each class; none is assigned yet.
func newHand(labels []int32, classes, clients int, src rand.Source) *hand {
	h := &hand{undealt: make([][]int, classes), held: make([][][]int, classes), size: make([]int, clients)}
	for row, c := range labels {
		h.undealt[c] = append(h.undealt[c], row)
	}
	rng := rand.New(src)
	for c, rows := range h.undealt {
		rng.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		h.held[c] = make([][]int, clients)
	}
	return h
}

// deal splits the rows of class c by the shares p, [M]: client i gets those from Σ_{j<i} p_j to Σ_{j≤i} p_j, rounded to
// whole rows.
func (h *hand) deal(c int, p []float64) {
	rows := h.undealt[c]
	h.undealt[c] = nil
	from, sum := 0, 0.0
	for i := range p {
		sum += p[i]
		to := min(int(math.Round(sum*float64(len(rows)))), len(rows))
		if i == len(p)-1 {
			to = len(rows)
		}
		h.held[c][i] = rows[from:to:to] // an append must not reach the next client's rows
		h.size[i] += to - from
		from = to
	}
}

// all returns the rows of every client, class after class, [M].
func (h *hand) all() [][]int {
	all := make([][]int, len(h.size))
	for i, n := range h.size {
		all[i] = make([]int, 0, n)
		for _, held := range h.held {
			all[i] = append(all[i], held[i]...)
		}
	}
	return all
}
