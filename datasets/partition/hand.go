package partition

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
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

// handOut splits the rows of each class c by the share of each client i, and tops clients up to a least number: see topUp.
func handOut(labels []int32, classes, clients int, src rand.Source, share func(c, i int) float64, least int, logw func(c, i int) float64) *hand {
	h, p := newHand(labels, classes, clients, src), make([]float64, clients)
	for c := range classes {
		for i := range p {
			p[i] = share(c, i)
		}
		h.deal(c, p)
	}
	h.topUp(least, logw)
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

// topUp moves rows until every client holds at least the given number, for which there must be enough rows. A client's
// own label distribution is given by logw(c, i), the logarithm of its weight for class c. Its next row is of the class
// with the highest w_c/(held_c + ½) that another client can spare: Webster's method of apportioning seats, which keeps
// held closest to proportional to w. The row comes from the client that holds the most of that class.
func (h *hand) topUp(least int, logw func(c, i int) float64) {
	from := make([]donors, len(h.held)) // [C]
	for c := range from {
		from[c] = newDonors(h.held[c])
	}
	canSpare := func(i int) bool { return h.size[i] > least }
	for i := range h.size {
		for h.size[i] < least {
			best, bestScore, bestCount := -1, 0.0, 0
			for c := range from {
				count := from[c].most(canSpare)
				if count == 0 {
					continue
				}
				score := logw(c, i) - math.Log(float64(len(h.held[c][i]))+0.5)
				if best < 0 || score > bestScore || score == bestScore && count > bestCount {
					best, bestScore, bestCount = c, score, count
				}
			}
			if best < 0 {
				return // too few rows, which the rule's check has excluded
			}
			h.move(best, from[best].take(), i)
		}
	}
}

// move reassigns the last row of class c that one client holds to another.
func (h *hand) move(c, from, to int) {
	rows := h.held[c][from]
	last := len(rows) - 1
	h.held[c][to] = append(h.held[c][to], rows[last])
	h.held[c][from] = rows[:last]
	h.size[from]--
	h.size[to]++
}

// donors orders the clients by how many rows of one class they hold: donors[k] lists those with k. A client that cannot
// spare a row never can again, since no client is topped up beyond the minimum. So it is dropped when it is met, and all
// steps together take time proportional to clients and rows moved.
type donors [][]int

func newDonors(held [][]int) donors {
	longest := slices.MaxFunc(held, func(a, b []int) int { return cmp.Compare(len(a), len(b)) })
	d := make(donors, len(longest)+1)
	for i, rows := range held {
		d[len(rows)] = append(d[len(rows)], i)
	}
	return d
}

// most returns how many rows of the class the next donor holds, 0 if no client can spare one.
func (d *donors) most(canSpare func(i int) bool) int {
	for k := len(*d) - 1; k > 0; k = len(*d) - 1 {
		clients := (*d)[k]
		switch {
		case len(clients) == 0:
			*d = (*d)[:k]
		case !canSpare(clients[len(clients)-1]):
			(*d)[k] = clients[:len(clients)-1]
		default:
			return k
		}
	}
	return 0
}

// take returns the donor that most found, and counts it with one row less from now on.
func (d *donors) take() int {
	k := len(*d) - 1
	clients := (*d)[k]
	i := clients[len(clients)-1]
	(*d)[k] = clients[:len(clients)-1]
	(*d)[k-1] = append((*d)[k-1], i)
	return i
}
