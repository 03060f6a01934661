package strategy_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedkit.example/datasets"
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

// meanOf returns the weighted mean of some rows; nil for all, and for equal weights.
func meanOf(x [][]float64, at []int, weights []float64) []float64 {
	mean, sum := make([]float64, len(x[0])), 0.0
	for i := range x {
		w := 1.0
		if at != nil && !slices.Contains(at, i) {
			continue
		} else if weights != nil {
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
	return s.plain(round, 1, s.of[client], start)
}

// tests returns the loss of a model on a client's test examples.
func (s numbered) tests(client int, w []float64) float64 {
	x, y := rowsOf(&s.fed.Data.Test, s.fed.Clients[s.of[client]].Test)
	loss, _ := s.net.Gradient(w, x, y)
	return loss
}

// trains returns the loss of a model on a client's training examples.
func (s numbered) trains(client int, w []float64) float64 {
	x, y := rowsOf(&s.fed.Data.Train, s.fed.Clients[s.of[client]].Train)
	loss, _ := s.net.Gradient(w, x, y)
	return loss
}

// sameLosses compares scores with the losses of models, by client.
func (s numbered) sameLosses(t *testing.T, what string, got []fedkit.Score, models [][]float64) {
	t.Helper()
	expect.Must(t, len(got) == len(models), "%s: %d scores, want %d", what, len(got), len(models))
	for i, w := range models {
		loss := s.tests(i, w)
		expect.That(t, math.Abs(float64(got[i].Loss)-loss) <= 1e-4*(1e-3+loss),
			"%s: client %d is served a model of loss %v, want %v", what, i, got[i].Loss, loss)
	}
}

// Fed-PRISM in plain Go, over rounds of partial participation: the sums, the features, the clusters and their numbers, the
// weights, each client's α, the served models, and unseen clients.
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
		{strategy.FedPRISM{AlphaStep: 0.3, Center: true, Temperature: 0.1, Clusterer: cluster.Agglomerative{}}, func(x [][]float64) []int { return merged(x, k, math.Inf(1), ward) }},
		{strategy.FedPRISM{AlphaStep: 0.05, Average: true, M: 2, Clusterer: cluster.Agglomerative{Linkage: cluster.Average}},
			func(x [][]float64) []int { return merged(x, k, math.Inf(1), average) }},
	} {
		s := c.s
		s.Every, s.Fraction, s.Local = 2, 0.6, l
		name := fmt.Sprintf("%+v, ±%v", c.s.Clusterer, c.s.AlphaStep)
		fed, o, unseen := replay(t, l, seed)
		alpha, m, temperature := cmp.Or(s.Alpha, 0.5), cmp.Or(s.M, k), cmp.Or(s.Temperature, 1)
		start := starts(t, fed, seed, 1)[0]
		global, own := slices.Clone(start), [][]float64{slices.Clone(start), slices.Clone(start), slices.Clone(start)}
		W, alphas, up, down := make([][]float64, fed.Size()), slices.Repeat([]float64{alpha}, fed.Size()), 0, 0
		for i := range W {
			W[i] = []float64{1. / 3, 1. / 3, 1. / 3}
		}
		mixture := func(w []float64, alpha float64) []float64 {
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
		for r := range each(t, fed, &s, fedkit.Options{Rounds: rounds, Seed: seed}) {
			S := r.Clients()
			var models, deltas [][]float64
			for _, i := range S {
				from := mixture(W[i], alphas[i])
				w := o.trained(r.Round, i, from)
				models = append(models, w)
				deltas = append(deltas, floats.SubTo(make([]float64, len(w)), w, from))
				if s.AlphaStep > 0 && r.Round > 3 { // until then all models are the same
					gap := o.trains(i, mixture(W[i], 0)) - o.trains(i, global)
					expect.Must(t, math.Abs(gap) > 1e-6, "%s, round %d, client %d: the losses are %v apart: the test shows nothing", name, r.Round, i, gap)
					if gap > 0 {
						alphas[i], up = min(1, alphas[i]+s.AlphaStep), up+1
					} else {
						alphas[i], down = max(0, alphas[i]-s.AlphaStep), down+1
					}
				}
			}
			if s.Average { // what is added below
				global = make([]float64, len(global))
				deltas = models
				for c := range own {
					if slices.ContainsFunc(S, func(i int) bool { return W[i][c] > 0 }) {
						own[c] = make([]float64, len(global))
					}
				}
			}
			floats.Add(global, meanOf(deltas, nil, nil))
			for c := range own {
				weights := make([]float64, len(S))
				for at, i := range S {
					weights[at] = W[i][c]
				}
				if floats.Sum(weights) > 0 {
					floats.Add(own[c], meanOf(deltas, nil, weights))
				}
			}
			if r.Round%2 == 0 {
				x := models
				if s.Updates {
					x = deltas
				}
				mean = meanOf(x, nil, nil)
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
			if s.AlphaStep > 0 {
				mean := floats.Sum(alphas) / float64(len(alphas))
				expect.Must(t, agree(s.State.Alpha, alphas) && math.Abs(float64(r.Notes["mean α"])-mean) < 1e-12,
					"%s, round %d: α is %v, in the mean %v, want %v", name, r.Round, s.State.Alpha, r.Notes["mean α"], alphas)
			} else {
				expect.Must(t, s.State.Alpha == nil && r.Notes == nil, "%s: a fixed α is noted: %v, %v", name, s.State.Alpha, r.Notes)
			}
			var serve, unseenFrom [][]float64
			for i, w := range s.State.W {
				expect.Must(t, agree(w, W[i]), "%s, round %d: client %d has the weights %v, want %v", name, r.Round, i, w, W[i])
				serve = append(serve, mixture(W[i], alphas[i]))
			}
			o.sameLosses(t, name, r.Scores, serve)
			for i := range fed.Unseen.Clients {
				from := mixture([]float64{1. / 3, 1. / 3, 1. / 3}, alpha)
				if centroids != nil {
					w := unseen.trained(r.Round, i, from)
					if s.Updates {
						floats.Sub(w, from)
					}
					from = mixture(soft(w), alpha)
				}
				unseenFrom = append(unseenFrom, from)
			}
			unseen.sameLosses(t, name+", unseen clients", r.Unseen, unseenFrom)
		}
		expect.That(t, s.AlphaStep == 0 || up > 0 && down > 0, "%s: α grew %d times and shrank %d times: the test shows nothing", name, up, down)
	}
}

// clusters are models and their clients, in plain Go.
type clusters struct {
	models [][]float64
	of     []int
}

// own returns the model of a cluster, or for −1 the mean of those in use.
func (c clusters) own(of int) []float64 {
	if of >= 0 {
		return c.models[of]
	}
	used := c.used()
	if len(used) == 0 {
		return c.models[0]
	}
	return meanOf(c.models, used, nil)
}

func (c clusters) used() (used []int) {
	for k := range c.models {
		if slices.Contains(c.of, k) {
			used = append(used, k)
		}
	}
	return used
}

// nearest returns the cluster in use whose center is nearest to x.
func (c clusters) nearest(x []float64, centers [][]float64) int {
	best := -1
	for _, k := range c.used() {
		if best < 0 || floats.Distance(x, centers[k], 2) < floats.Distance(x, centers[best], 2) {
			best = k
		}
	}
	return best
}

// average sets the models to the means of the clients' uploads.
func (c clusters) average(clients []int, w [][]float64, weights []float64) {
	for k := range c.models {
		var own []int
		for at, i := range clients {
			if c.of[i] == k {
				own = append(own, at)
			}
		}
		if own != nil {
			c.models[k] = meanOf(w, own, weights)
		}
	}
}

// same compares with what an algorithm keeps and what it served.
func (c clusters) same(t *testing.T, got strategy.Clustered, o numbered, r *fedkit.Record) {
	t.Helper()
	expect.Must(t, slices.Equal(got.Of, c.of) && slices.Equal(r.Clusters, c.of),
		"round %d: clusters %v, recorded %v, want %v", r.Round, got.Of, r.Clusters, c.of)
	sameRows(t, got.Models, c.models, "round %d: models", r.Round)
	var serve [][]float64
	for _, k := range c.of {
		serve = append(serve, c.own(k))
	}
	o.sameLosses(t, "FedClust or FeSEM", r.Scores, serve)
}

// FedClust in plain Go, both forms, with partial participation.
func TestFedClustAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, seed, k = 7, 5, 3
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.05}
	all := math.Inf(1)
	for _, c := range []struct {
		s        strategy.FedClust
		from, to int // the weights that are compared
		group    func(x [][]float64) []int
	}{
		{strategy.FedClust{K: k, Every: 3, Layers: []string{"dense2"}, Clusterer: cluster.KMeans{}}, 12, 16, func(x [][]float64) []int { return bestKMeans(x, k) }},
		{strategy.FedClust{K: k}, 0, 16, func(x [][]float64) []int { return merged(x, k, all, ward) }},
		{strategy.FedClust{K: k, MultiStart: true, Layers: []string{"dense1/weights", "dense2/biases"}, Every: 2}, 0, 16, func(x [][]float64) []int { return merged(x, k, all, ward) }},
		{strategy.FedClust{Once: true, Clusterer: cluster.Agglomerative{Linkage: cluster.Average, Height: 0.35}}, 12, 16,
			func(x [][]float64) []int { return merged(x, 1, 0.35, average) }},
		{strategy.FedClust{Once: true, K: k, Layers: []string{"dense1"}}, 0, 12, func(x [][]float64) []int { return merged(x, k, all, ward) }},
	} {
		s := c.s
		s.Fraction, s.Local = 0.6, l
		fed, o, unseen := replay(t, l, seed)
		features := func(w []float64) []float64 {
			x := slices.Clone(w[c.from:c.to])
			if s.MultiStart { // without the biases of the first layer and the weights of the second
				x = append(x[:9], x[15])
			}
			return x
		}
		initial := starts(t, fed, seed, 1)[0]
		now := clusters{[][]float64{initial, initial, initial}, slices.Repeat([]int{-1}, fed.Size())}
		if s.MultiStart {
			now.models = starts(t, fed, seed, k)
			for i, client := range fedkit.Random(seed, "clusters", 0).Perm(fed.Size()) {
				now.of[client] = i % k
			}
		}
		var means [][]float64 // of the uploads in round 1 of the paper's form
		joined := 0
		for r := range each(t, fed, &s, fedkit.Options{Rounds: rounds, Seed: seed}) {
			S := r.Clients()
			var w, x [][]float64
			var n []float64
			for _, i := range S {
				w = append(w, o.trained(r.Round, i, now.own(now.of[i])))
				x = append(x, features(w[len(w)-1]))
				n = append(n, float64(len(fed.Clients[i].Train)))
			}
			var labels []int
			switch {
			case s.Once && r.Round == 1:
				expect.Must(t, len(S) == fed.Size(), "%d clients in the first round, want all", len(S))
				labels = c.group(x)
				for _, group := range members(labels, 1+slices.Max(labels)) {
					means = append(means, meanOf(x, group, nil))
					if len(means) > 3 {
						now.models = append(now.models, initial)
					}
				}
				now.models = now.models[:len(means)]
				copy(now.of, labels)
				expect.Must(t, len(means) >= 2 && len(means) <= 8, "%d clusters: the height is no test", len(means))
			case !s.Once && (r.Round-1)%max(s.Every, 1) == 0:
				labels = c.group(x)
				overlap, others := make([][]float64, k), make([]bool, k)
				for i, of := range now.of {
					if of >= 0 && !slices.Contains(S, i) {
						others[of] = true
					}
				}
				for old := range overlap {
					overlap[old] = make([]float64, k)
					for at, i := range S {
						if now.of[i] == old {
							overlap[old][labels[at]] += 100
						}
					}
					for c := range 1 + slices.Max(labels) {
						if !others[old] { // a number not in use is better
							overlap[old][c]++
						}
					}
				}
				same := false
				for _, naming := range namings(overlap) { // any of equally good numberings
					next := slices.Clone(now.of)
					for at, i := range S {
						next[i] = naming[labels[at]]
					}
					if same = slices.Equal(next, s.State.Of); same {
						now.of = next
						break
					}
				}
				expect.Must(t, same,
					"round %d: clients %v had clusters %v, and have %v; they were divided into %v", r.Round, S, now.of, s.State.Of, labels)
			default:
				next := slices.Clone(now.of)
				for at, i := range S {
					if now.of[i] < 0 {
						var centers [][]float64
						for _, m := range now.models {
							centers = append(centers, features(m))
						}
						next[i] = now.nearest(x[at], centers)
						joined++
					}
				}
				now.of = next
			}
			sent := 16 // the paper's form sends the named layers of all clients once
			if means == nil || r.Round > 1 {
				now.average(S, w, n)
			} else {
				sent = c.to - c.from
			}
			travel(t, r, 4*16*len(S), 4*sent*len(S))
			now.same(t, s.State.Clustered, o, r)
			// Unseen clients.
			var serve [][]float64
			for i := range fed.Unseen.Clients {
				start, centers := now.own(-1), means
				if s.Once {
					start = initial
				} else {
					for _, m := range now.models {
						centers = append(centers, features(m))
					}
				}
				serve = append(serve, now.own(now.nearest(features(unseen.trained(r.Round, i, start)), centers)))
			}
			unseen.sameLosses(t, "unseen clients", r.Unseen, serve)
		}
		expect.That(t, s.Every != 3 || joined != 0, "no client joined between two groupings: the seed is no test")
	}
}

// scripted clusters and selects clients by a script per round.
type scripted struct{ clients, labels [][]int }

func (s scripted) Select(r *fedkit.Round, _ int) []int { return s.clients[r.T-1] }

func (s scripted) by(round *int) cluster.Clusterer {
	return cluster.Func(func(*cluster.Points, int, *rand.Rand) ([]int, error) { return s.labels[*round], nil })
}

// Clusters keep their numbers, take free ones, appear and vanish.
func TestFedClustMatchesClusters(t *testing.T) {
	fed := quadratic(t, even...)
	script := scripted{
		clients: [][]int{{0, 1, 2, 3}, {2, 3, 4, 5}, {0, 1, 2, 3, 4, 5}, {0, 1, 5}},
		labels:  [][]int{{0, 0, 1, 1}, {1, 1, 0, 0}, {0, 0, 1, 1, 1, 2}, {0, 0, 0}},
	}
	for _, c := range []struct {
		k    int
		want [][]int // by round
	}{
		{0, [][]int{{0, 0, 1, 1, -1, -1}, {0, 0, 1, 1, 2, 2}, {0, 0, 1, 1, 1, 2}, {0, 0, 1, 1, 1, 0}}},
		{3, [][]int{{0, 0, 1, 1, -1, -1}, {0, 0, 1, 1, 2, 2}, {0, 0, 1, 1, 1, 2}, {0, 0, 1, 1, 1, 0}}},
	} {
		round := -1
		s := &strategy.FedClust{K: c.k, Selector: fedkit.SelectorFunc(func(r *fedkit.Round, n int) []int {
			round = r.T - 1
			return script.Select(r, n)
		}), Clusterer: finder{script.by(&round)}, Local: standard}
		for i, r := range run(t, fed, s, fedkit.Options{Rounds: 4}).Rounds {
			got := cluster.Renumber(r.Clusters)
			expect.That(t, slices.Equal(got, cluster.Renumber(c.want[i])), "k = %d, round %d: clusters %v, want %v", c.k, i+1, r.Clusters, c.want[i])
			expect.That(t, r.Clustering.Count == 1+slices.Max(cluster.Renumber(c.want[i])),
				"k = %d, round %d: %d clusters", c.k, i+1, r.Clustering.Count)
		}
		want := map[int]int{0: 2, 3: 3}[c.k]
		expect.That(t, s.State.Models.Rows() == want, "k = %d: %d models are left, want %d", c.k, s.State.Models.Rows(), want)
	}
}

// finder finds the number of clusters itself.
type finder struct{ cluster.Clusterer }

func (finder) SelectsK() bool { return true }

// With two clients per round and five clusters, some clusters have never had a client. Their models are not served.
func TestClusteredWithFewClients(t *testing.T) {
	fed := rivals(t, model.MLP(), even...)
	initial := starts(t, fed, 1, 1)[0]
	for name, s := range map[string]fedkit.Strategy{
		"FedClust": &strategy.FedClust{K: 5, Every: 2, Fraction: 1. / 3, Local: standard},
		"FeSEM":    &strategy.FeSEM{K: 5, Fraction: 1. / 3, Local: standard},
	} {
		run(t, fed, s, fedkit.Options{Rounds: 2, Seed: 1})
		sv := expect.Value(fedkit.Served(t.Context(), fed, s))(t)
		models := host(t, sv.Models)
		for i, k := range sv.Assign {
			expect.That(t, !agree(models[k], initial), "%s: client %d, in cluster %d, is served the initial model", name, i, sv.Clusters[i])
		}
	}
}

// A client whose updates are not finite has no cluster where they are compared, and elsewhere keeps one. It is served a model, such as the
// mean of all, and affects no other client.
func TestClusteredSkips(t *testing.T) {
	fed := rivals(t, model.MLP(), even...).Intercept(poison(2))
	compared, chosen := []fedkit.Strategy{
		&strategy.FedClust{K: 2, Local: standard}, &strategy.FedClust{K: 2, Once: true, Local: standard}, &strategy.FedClust{K: 6, Every: 2, Local: standard},
		&strategy.FeSEM{Local: standard}, &strategy.FedPRISM{K: 2, Every: 1, Local: standard}, &strategy.AdaptiveClustering{SAProb: 1, Local: standard},
	}, []fedkit.Strategy{
		&strategy.IFCA{K: 2, Local: standard}, &strategy.OneShot{K: 2, Local: standard}, &strategy.LCFL{K: 2, Warmup: 1, Local: standard},
		&strategy.CFL{Eps1: 100, Eps2: fedkit.Zero, Local: standard},
	}
	for n, s := range append(compared, chosen...) {
		last := run(t, fed, s, fedkit.Options{Rounds: 3, NotFinite: fedkit.Skip}).Last()
		for i, c := range last.Clusters {
			expect.That(t, (c < 0) == (i == 2 && n < len(compared)) && last.Scores[i].Loss < 1e6,
				"%T: clusters %v, scores %v", s, last.Clusters, last.Scores)
		}
		most := slices.Max(last.Clusters)
		expect.That(t, most >= 1 && (n != 5 || most == 4), "%T: clusters %v", s, last.Clusters) // AdaptiveClustering: one each
	}
}

// Algorithm 1 in plain Go, with partial participation.
func TestFeSEMAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, seed, k = 8, 7, 2
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.05}
	moved := 0
	for _, random := range []bool{false, true} {
		s := strategy.FeSEM{K: k, Random: random, Fraction: 0.6, Local: l}
		fed, o, unseen := replay(t, l, seed)
		initial := starts(t, fed, seed, 1)[0]
		now := clusters{[][]float64{initial, initial}, slices.Repeat([]int{-1}, fed.Size())}
		for r := range each(t, fed, &s, fedkit.Options{Rounds: rounds, Seed: seed}) {
			S := r.Clients()
			var w [][]float64
			for _, i := range S {
				w = append(w, o.trained(r.Round, i, now.own(now.of[i])))
			}
			if r.Round == 1 {
				got := make([]int, len(S)) // whose numbers are free
				for at, i := range S {
					got[at] = s.State.Of[i]
				}
				want := bestKMeans(w, k)
				if random {
					if want = slices.Clone(got); len(S) != 6 || len(members(got, k)[0]) != 3 {
						t.Errorf("the first clusters are %v: want two of equal size", got)
					}
				}
				expect.Must(t, sameGroups(got, want), "the first clusters are %v, want %v", got, want)
				for at, i := range S {
					now.of[i] = got[at]
				}
			} else {
				next := slices.Clone(now.of)
				for at, i := range S {
					next[i] = 0
					for c := range k {
						if floats.Distance(w[at], now.models[c], 2) < floats.Distance(w[at], now.models[next[i]], 2) {
							next[i] = c
						}
					}
					if now.of[i] >= 0 && next[i] != now.of[i] {
						moved++
					}
				}
				now.of = next
			}
			now.average(S, w, nil)
			now.same(t, s.State.Clustered, o, r)
			var serve [][]float64
			for i := range fed.Unseen.Clients {
				serve = append(serve, now.own(now.nearest(unseen.trained(r.Round, i, now.own(-1)), now.models)))
			}
			unseen.sameLosses(t, "unseen clients", r.Unseen, serve)
		}
	}
	expect.That(t, moved != 0, "no client changed its cluster: the seed is no test")
}

// With two clients per round and three clusters, one cluster is empty. The round's clients give it no weight, and
// others keep theirs.
func TestFedPRISMGivesEmptyClustersNoWeight(t *testing.T) {
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 6, Alpha: 0.5, Seed: 3}, model.LogisticRegression()))(t)
	for _, center := range []bool{false, true} {
		s := &strategy.FedPRISM{K: 3, Every: 1, Fraction: 1. / 3, Center: center, Local: fedkit.Local{Batch: 32, LR: 0.1}}
		h := run(t, fed, s, fedkit.Options{Rounds: 1, Seed: 2})
		in := map[int]bool{}
		for _, c := range h.Last().Clients() {
			in[c] = true
		}
		empty := map[int]int{} // how many clients give a cluster no weight
		for i, w := range s.State.W {
			expect.That(t, math.Abs(floats.Sum(w)-1) <= 1e-12, "client %d has weights %v", i, w)
			for c := range w {
				switch {
				case !in[i] && w[c] != 1./3:
					t.Errorf("client %d took no part, and has weights %v", i, w)
				case in[i] && w[c] == 0:
					empty[c]++
				}
			}
		}
		expect.That(t, len(in) == 2 && len(empty) == 1 && empty[0]+empty[1]+empty[2] == 2,
			"Center = %v: of two clients, %v give a cluster no weight: want one cluster and both; W = %v", center, empty, s.State.W)
	}
}
