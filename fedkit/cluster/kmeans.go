package cluster

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/fault"
)

// KMeans minimizes the sum of squared distances to the groups' means (Lloyd's iterations from k-means++ starts, Arthur and
// Vassilvitskii 2007; the best of several starts is kept). No group is empty unless there are fewer points than groups. It uses
// coordinates if there are any, else the Gram matrix, for which libraries have no k-means.
//
// Errors: those of Clusterer, negative options.
type KMeans struct {
	Starts     int `range:"[1,inf)" default:"10"`  // random restarts; the best is kept
	Iterations int `range:"[1,inf)" default:"300"` // at most, per start
}

// Cluster implements Clusterer.
func (m KMeans) Cluster(p *Points, k int, rng *rand.Rand) ([]int, error) {
	if m.Starts > 1e6 {
		return nil, fault.Invalid("Starts", m.Starts, "at most 1000000")
	}
	if err := cmp.Or(config.CheckRanges(m), p.check(k)); err != nil {
		return nil, err
	}
	if rng == nil {
		rng = rand.New(rand.NewPCG(0, 0))
	}
	m = config.Defaults(m)
	s, starts := spaceOf(p), make([]lloyd, m.Starts)
	for i := range starts { // each has its own generator, so that they can run in parallel
		starts[i] = lloyd{space: s, k: min(k, p.Len()), rng: rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))}
	}
	parallel(len(starts), func(i int) { starts[i].run(m.Iterations) })
	best := slices.MinFunc(starts, func(a, b lloyd) int { return cmp.Compare(a.inertia, b.inertia) })
	return Renumber(best.labels), nil
}

// lloyd is one start of k-means.
type lloyd struct {
	space
	k       int
	rng     *rand.Rand
	labels  []int
	d       [][]float64 // distances from the groups' means, [n][k]
	inertia float64     // sum of squared distances from the points' own means
}

// run seeds the groups and reassigns points until none moves, or until the last iteration.
func (l *lloyd) run(iterations int) {
	l.seed()
	l.d = zeros(len(l.labels), l.k)
	measure := l.means(l.k)
	for measure(l.labels, l.d); iterations > 0 && l.move(); iterations-- {
		measure(l.labels, l.d)
	}
	for i, c := range l.labels {
		l.inertia += l.d[i][c] * l.d[i][c]
	}
}

// move assigns every point to the nearest mean, in a tie its own or else the lowest, and reports whether any point moved. An
// empty group gets the point farthest from its mean.
func (l *lloyd) move() (moved bool) {
	size := make([]int, l.k)
	for i, own := range l.labels {
		to := own
		for c, d := range l.d[i] {
			if d < l.d[i][to] {
				to = c
			}
		}
		moved = moved || to != own
		l.labels[i] = to
		size[to]++
	}
	for c := range l.k {
		if size[c] > 0 {
			continue
		}
		far := -1
		for i, own := range l.labels {
			if size[own] > 1 && (far < 0 || l.d[i][own] > l.d[far][l.labels[far]]) {
				far = i
			}
		}
		size[l.labels[far]]--
		l.labels[far] = c
		size[c]++
		moved = true
	}
	return moved
}

// seed draws k points (greedy k-means++): the first uniformly, each next one with a probability proportional to its squared
// distance from those chosen before, the best of 2 + ⌊ln k⌋ candidates. Every point joins the nearest of them, and each of them
// its own group.
func (l *lloyd) seed() {
	n := len(l.lengths)
	nearest, trial, best := make([]float64, n), make([]float64, n), make([]float64, n)
	l.labels = make([]int, n)
	at := l.rng.IntN(n)
	left := l.from(at, nil, nearest)
	for c := 1; c < l.k; c++ {
		least := math.Inf(1)
		for range 2 + int(math.Log(float64(l.k))) {
			drawn := draw(nearest, l.rng.Float64()*left)
			if sum := l.from(drawn, nearest, trial); sum < least {
				at, least = drawn, sum
				best, trial = trial, best
			}
		}
		for i, d := range best {
			if d < nearest[i] {
				l.labels[i] = c
			}
		}
		l.labels[at] = c
		nearest, best, left = best, nearest, least
	}
}

// from sets to[i] to the squared distance of points i and j, or to before[i] if that is less, and returns the sum.
func (l *lloyd) from(j int, before, to []float64) (sum float64) {
	l.products(j, to)
	for i, product := range to {
		d := max(0, l.lengths[i]-2*product+l.lengths[j])
		if before != nil {
			d = min(d, before[i])
		}
		to[i] = d
		sum += d
	}
	return sum
}

// draw returns the first i with left < v_0 + … + v_i, or the last index: sampling by the cumulative sum.
func draw(v []float64, left float64) int {
	i := 0
	for ; i < len(v)-1 && left >= v[i]; i++ {
		left -= v[i]
	}
	return i
}
