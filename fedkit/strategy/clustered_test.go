package strategy_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

// Brute-force references for clustered algorithms.

// meanOf returns the weighted mean of some rows.
func meanOf(x [][]float64, at []int, weights []float64) []float64 {
	mean, sum := make([]float64, len(x[0])), 0.0
	for _, i := range at {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		floats.AddScaled(mean, w, x[i])
		sum += w
	}
	floats.Scale(1/sum, mean)
	return mean
}

// members returns the members of each of k groups.
func members(labels []int, k int) [][]int {
	m := make([][]int, k)
	for i, c := range labels {
		m[c] = append(m[c], i)
	}
	return m
}

// bestKMeans tries all ways to divide points into k groups, and returns the one with the least sum of squares.
func bestKMeans(x [][]float64, k int) (best []int) {
	labels, least := make([]int, len(x)), math.Inf(1)
	for {
		sum := 0.0
		for _, group := range members(labels, k) {
			for _, i := range group {
				sum += math.Pow(floats.Distance(x[i], meanOf(x, group, nil), 2), 2)
			}
		}
		if sum < least {
			best, least = slices.Clone(labels), sum
		}
		at := 0
		for ; at < len(x) && labels[at] == k-1; at++ {
			labels[at] = 0
		}
		if at == len(x) {
			return best
		}
		labels[at]++
	}
}

// merged merges the two nearest groups until k are left, or all are farther apart than height. It computes every distance
// from the points.
func merged(x [][]float64, k int, height float64, apart func(x [][]float64, a, b []int) float64) []int {
	var groups [][]int
	for i := range x {
		groups = append(groups, []int{i})
	}
	for len(groups) > k {
		a, b, least := 0, 0, math.Inf(1)
		for i := range groups {
			for j := range i {
				if d := apart(x, groups[i], groups[j]); d < least {
					a, b, least = j, i, d
				}
			}
		}
		if least > height {
			break
		}
		groups[a] = append(groups[a], groups[b]...)
		groups = slices.Delete(groups, b, b+1)
	}
	labels := make([]int, len(x))
	for c, group := range groups {
		for _, i := range group {
			labels[i] = c
		}
	}
	return labels
}

// ward, average and single are linkages.
func ward(x [][]float64, a, b []int) float64 {
	na, nb := float64(len(a)), float64(len(b))
	return math.Sqrt(2*na*nb/(na+nb)) * floats.Distance(meanOf(x, a, nil), meanOf(x, b, nil), 2)
}

func average(x [][]float64, a, b []int) (mean float64) {
	for _, i := range a {
		for _, j := range b {
			mean += floats.Distance(x[i], x[j], 2) / float64(len(a)*len(b))
		}
	}
	return mean
}

func single(x [][]float64, a, b []int) float64 {
	least := math.Inf(1)
	for _, i := range a {
		for _, j := range b {
			least = min(least, floats.Distance(x[i], x[j], 2))
		}
	}
	return least
}

// namings returns the permutations with the greatest total overlap[old][new], as old names by new group.
func namings(overlap [][]float64) (best [][]int) {
	most := math.Inf(-1)
	var try func(name []int)
	try = func(name []int) {
		if len(name) < len(overlap) {
			for old := range overlap {
				if !slices.Contains(name, old) {
					try(append(slices.Clone(name), old))
				}
			}
			return
		}
		total := 0.0
		for c, old := range name {
			total += overlap[old][c]
		}
		if total > most+1e-9 {
			best, most = nil, total
		}
		if total > most-1e-9 {
			best = append(best, name)
		}
	}
	try(nil)
	return best
}

// replay is a federation of ten clients that disagree, and two more that never take part, with a solver for each part.
func replay(t *testing.T, l fedkit.Local, seed uint64) (fed *fedkit.Federation, seen, unseen numbered) {
	t.Helper()
	all := rivals(t, model.MLP(3), 20, 31, 8, 24, 17, 40, 12, 26, 9, 15, 22, 18)
	fed = expect.Value(all.HoldOut(2, 4))(t)
	number := func(part *fedkit.Federation) (of numbered) {
		of.solver = solver{all, oracle.MLP{Sizes: []int{3, 3, 1}, Regression: true}, l, seed}
		for _, c := range part.Clients {
			of.of = append(of.of, slices.IndexFunc(all.Clients, func(b partition.Client) bool { return b.Train[0] == c.Train[0] }))
		}
		return of
	}
	return fed, number(fed), number(fed.Unseen)
}

// numbered is a solver for a part of a federation's clients, with the batches that they draw without hold-out clients.
type numbered struct {
	solver
	of []int
}

// trained is one local training of a client in a round.
func (s numbered) trained(round, client int, start []float64) []float64 {
	ones := slices.Repeat([]float64{1}, len(start))
	w, _ := s.train(round, 1, s.of[client], s.l.Epochs, start, ones, make([]float64, len(start)))
	return w
}

// tests returns the loss of a model on a client's test examples.
func (s numbered) tests(client int, w []float64) float64 {
	x, y := rowsOf(&s.fed.Data.Test, s.fed.Clients[s.of[client]].Test)
	loss, _ := s.net.Gradient(w, x, y)
	return loss
}

// sameLosses compares scores with the losses of models, by client.
func (s numbered) sameLosses(t *testing.T, what string, got []fedkit.Score, models [][]float64) {
	t.Helper()
	if len(got) != len(models) {
		t.Fatalf("%s: %d scores, want %d", what, len(got), len(models))
	}
	for i, w := range models {
		if loss := s.tests(i, w); math.Abs(float64(got[i].Loss)-loss) > 1e-4*(1e-3+loss) {
			t.Errorf("%s: client %d is served a model of loss %v, want %v", what, i, got[i].Loss, loss)
		}
	}
}

// Fed-PRISM in plain Go, over rounds of partial participation: the sums, the features, the clusters and their numbers, the
// weights, the served models, and unseen clients.
func TestFedPRISMAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, seed, k = 7, 5, 3
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.05}
	for _, c := range []struct {
		s     strategy.FedPRISM
		group func(x [][]float64) []int
	}{
		{strategy.FedPRISM{M: 2, Center: true, Temperature: 0.3}, func(x [][]float64) []int { return bestKMeans(x, k) }},
		{strategy.FedPRISM{Alpha: 0.2, Clusterer: cluster.Agglomerative{}}, func(x [][]float64) []int { return merged(x, k, math.Inf(1), ward) }},
		{strategy.FedPRISM{Updates: true, Temperature: 0.5, Clusterer: cluster.Agglomerative{Linkage: cluster.Average}},
			func(x [][]float64) []int { return merged(x, k, math.Inf(1), average) }},
		{strategy.FedPRISM{M: 1, Updates: true, Center: true, Alpha: fedkit.Zero, Clusterer: cluster.Agglomerative{Linkage: cluster.Single}},
			func(x [][]float64) []int { return merged(x, k, math.Inf(1), single) }},
	} {
		s := c.s
		s.Every, s.Fraction, s.Local = 2, 0.6, l
		name := fmt.Sprintf("%+v", c.s.Clusterer)
		fed, o, unseen := replay(t, l, seed)
		alpha, m, temperature := s.Alpha, s.M, s.Temperature
		if alpha == 0 {
			alpha = 0.5
		} else if alpha == fedkit.Zero {
			alpha = 0
		}
		if m == 0 {
			m = k
		}
		if temperature == 0 {
			temperature = 1
		}
		start := startOf(t, fed, seed)
		global, own := slices.Clone(start), [][]float64{slices.Clone(start), slices.Clone(start), slices.Clone(start)}
		W := make([][]float64, fed.Size())
		for i := range W {
			W[i] = []float64{1. / 3, 1. / 3, 1. / 3}
		}
		mixture := func(w []float64) []float64 {
			mix := make([]float64, len(global))
			floats.AddScaled(mix, alpha, global)
			for c := range own {
				floats.AddScaled(mix, (1-alpha)*w[c], own[c])
			}
			return mix
		}
		var centroids [][]float64 // nil for an empty cluster
		var mean []float64
		soft := func(x []float64) []float64 {
			cos, order := make([]float64, k), []int{}
			for c := range centroids {
				if centroids[c] == nil {
					continue
				}
				a, b := slices.Clone(x), slices.Clone(centroids[c])
				if s.Center {
					floats.Sub(a, mean)
					floats.Sub(b, mean)
				}
				cos[c] = similarity(a, b)
				order = append(order, c)
			}
			slices.SortFunc(order, func(a, b int) int { return cmp.Compare(cos[b], cos[a]) })
			w, sum := make([]float64, k), 0.0
			for _, c := range order[:min(m, len(order))] {
				w[c] = math.Exp(cos[c] / temperature)
				sum += w[c]
			}
			floats.Scale(1/sum, w)
			return w
		}
		for h, err := range fedkit.Rounds(t.Context(), fed, &s, fedkit.Options{Rounds: rounds, Seed: seed}) {
			expect.OK(t, err)
			r := h.Last()
			S := r.Clients()
			var models, deltas [][]float64
			for _, i := range S {
				from := mixture(W[i])
				w := o.trained(r.Round, i, from)
				models = append(models, w)
				deltas = append(deltas, floats.SubTo(make([]float64, len(w)), w, from))
			}
			everyone := make([]int, len(S))
			for i := range everyone {
				everyone[i] = i
			}
			floats.Add(global, meanOf(deltas, everyone, nil))
			for c := range own {
				weights := make([]float64, len(S))
				for at, i := range S {
					weights[at] = W[i][c]
				}
				if floats.Sum(weights) > 0 {
					floats.Add(own[c], meanOf(deltas, everyone, weights))
				}
			}
			if r.Round%2 == 0 {
				x := models
				if s.Updates {
					x = deltas
				}
				mean = meanOf(x, everyone, nil)
				labels := c.group(x)
				overlap := make([][]float64, k)
				for old := range overlap {
					overlap[old] = make([]float64, k)
					for at, i := range S {
						overlap[old][labels[at]] += W[i][old]
					}
				}
				best, least := [][]float64(nil), math.Inf(1) // among equally good numberings, the one that was taken
				var taken [][]float64
				for _, naming := range namings(overlap) {
					centroids = make([][]float64, k)
					for c, group := range members(labels, k) {
						if len(group) > 0 {
							centroids[naming[c]] = meanOf(x, group, nil)
						}
					}
					var all [][]float64
					gap := 0.0
					for at, i := range S {
						all = append(all, soft(x[at]))
						gap += floats.Distance(all[at], s.State.W[i], 2)
					}
					if gap < least {
						best, least, taken = all, gap, centroids
					}
				}
				centroids = taken
				for at, i := range S {
					W[i] = best[at]
				}
			}
			sameRows(t, s.State.Models, append([][]float64{global}, own...), "%s, round %d: models", name, r.Round)
			var serve, unseenFrom [][]float64
			for i, w := range s.State.W {
				if !agree(w, W[i]) {
					t.Fatalf("%s, round %d: client %d has the weights %v, want %v", name, r.Round, i, w, W[i])
				}
				serve = append(serve, mixture(W[i]))
			}
			o.sameLosses(t, name, r.Scores, serve)
			for i := range fed.Unseen.Clients {
				from := mixture([]float64{1. / 3, 1. / 3, 1. / 3})
				if centroids != nil {
					w := unseen.trained(r.Round, i, from)
					if s.Updates {
						floats.Sub(w, from)
					}
					from = mixture(soft(w))
				}
				unseenFrom = append(unseenFrom, from)
			}
			unseen.sameLosses(t, name+", unseen clients", r.Unseen, unseenFrom)
		}
	}
}
