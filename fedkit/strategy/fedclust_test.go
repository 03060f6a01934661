package strategy_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

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
		if best < 0 || distance(x, centers[k]) < distance(x, centers[best]) {
			best = k
		}
	}
	return best
}

func distance(a, b []float64) (sum float64) {
	for j := range a {
		sum += (a[j] - b[j]) * (a[j] - b[j])
	}
	return sum
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
	if !slices.Equal(got.Of, c.of) || !slices.Equal(r.Clusters, c.of) {
		t.Fatalf("round %d: clusters %v, recorded %v, want %v", r.Round, got.Of, r.Clusters, c.of)
	}
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
		initial := startOf(t, fed, seed)
		now := clusters{[][]float64{initial, initial, initial}, slices.Repeat([]int{-1}, fed.Size())}
		if s.MultiStart {
			starts := expect.Value(fed.Models(k, seed))(t)
			now.models = host(t, starts)
			for i, client := range fedkit.Random(seed, "clusters", 0).Perm(fed.Size()) {
				now.of[client] = i % k
			}
		}
		var means [][]float64 // of the uploads in round 1 of the paper's form
		joined := 0
		for h, err := range fedkit.Rounds(t.Context(), fed, &s, fedkit.Options{Rounds: rounds, Seed: seed}) {
			expect.OK(t, err)
			r := h.Last()
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
				if len(S) != fed.Size() {
					t.Fatalf("%d clients in the first round, want all", len(S))
				}
				labels = c.group(x)
				for _, group := range members(labels, 1+slices.Max(labels)) {
					means = append(means, meanOf(x, group, nil))
					if len(means) > 3 {
						now.models = append(now.models, initial)
					}
				}
				now.models = now.models[:len(means)]
				copy(now.of, labels)
				if len(means) < 2 || len(means) > 8 {
					t.Fatalf("%d clusters: the height is no test", len(means))
				}
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
				if !same {
					t.Fatalf("round %d: clients %v had clusters %v, and have %v; they were divided into %v", r.Round, S, now.of, s.State.Of, labels)
				}
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
			if means == nil || r.Round > 1 {
				now.average(S, w, n)
			}
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
		if s.Every == 3 && joined == 0 {
			t.Error("no client joined between two groupings: the seed is no test")
		}
	}
}

// The paper's form sends the last layer of all clients once; then the cohort's whole models travel.
func TestFedClustBytes(t *testing.T) {
	fed := rivals(t, model.MLP(3), 8, 8, 8, 8)
	for _, c := range []struct {
		s     strategy.FedClust
		first int64
	}{
		{strategy.FedClust{Once: true}, 4 * 4},
		{strategy.FedClust{Once: true, Layers: []string{"dense1"}}, 4 * 12},
		{strategy.FedClust{K: 2, Layers: []string{"dense2"}}, 2 * 16},
	} {
		s := c.s
		s.Fraction, s.Local = 0.5, standard
		h := run(t, fed, &s, fedkit.Options{Rounds: 2})
		if got, want := h.Rounds[0].BytesUp, 4*c.first; got != want {
			t.Errorf("%v, Once %v: %d bytes up in the first round, want %d", s.Layers, s.Once, got, want)
		}
		if got, want := h.Rounds[0].BytesDown, int64(4*16*len(h.Rounds[0].Results)); got != want {
			t.Errorf("%v, Once %v: %d bytes down in the first round, want whole models, %d", s.Layers, s.Once, got, want)
		}
		if got, want := h.Rounds[1].BytesUp, int64(4*2*16); got != want {
			t.Errorf("%v, Once %v: %d bytes up in the second round, want %d", s.Layers, s.Once, got, want)
		}
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
			if got := cluster.Renumber(r.Clusters); !slices.Equal(got, cluster.Renumber(c.want[i])) {
				t.Errorf("k = %d, round %d: clusters %v, want %v", c.k, i+1, r.Clusters, c.want[i])
			}
			if r.Clustering.Count != 1+slices.Max(cluster.Renumber(c.want[i])) {
				t.Errorf("k = %d, round %d: %d clusters", c.k, i+1, r.Clustering.Count)
			}
		}
		if want := map[int]int{0: 2, 3: 3}[c.k]; s.State.Models.Rows() != want {
			t.Errorf("k = %d: %d models are left, want %d", c.k, s.State.Models.Rows(), want)
		}
	}
}

// finder finds the number of clusters itself.
type finder struct{ cluster.Clusterer }

func (finder) SelectsK() bool { return true }

// A client whose updates are not finite has no cluster. It is served the mean of the models, and affects no other client.
func TestClusteredSkips(t *testing.T) {
	fed := rivals(t, model.MLP(), even...).Intercept(poison(2))
	for name, s := range map[string]fedkit.Strategy{
		"FedClust":        &strategy.FedClust{K: 2, Local: standard},
		"FedClust, once":  &strategy.FedClust{K: 2, Once: true, Local: standard},
		"FedClust, alone": &strategy.FedClust{K: 6, Every: 2, Local: standard},
		"FeSEM":           &strategy.FeSEM{Local: standard},
		"Fed-PRISM":       &strategy.FedPRISM{K: 2, Every: 1, Local: standard},
	} {
		last := run(t, fed, s, fedkit.Options{Rounds: 3, NotFinite: fedkit.Skip}).Last()
		for i, c := range last.Clusters {
			if (c < 0) != (i == 2) {
				t.Errorf("%s: clusters %v, want none for client 2", name, last.Clusters)
				break
			}
		}
		for i, score := range last.Scores {
			if !(score.Loss < 1e6) {
				t.Errorf("%s: client %d has a loss of %v", name, i, score.Loss)
			}
		}
	}
}

// With two clients per round and five clusters, some clusters have never had a client. Their models are not served.
func TestClusteredWithFewClients(t *testing.T) {
	fed := rivals(t, model.MLP(), even...)
	initial := startOf(t, fed, 1)
	for name, s := range map[string]fedkit.Strategy{
		"FedClust": &strategy.FedClust{K: 5, Every: 2, Fraction: 1. / 3, Local: standard},
		"FeSEM":    &strategy.FeSEM{K: 5, Fraction: 1. / 3, Local: standard},
	} {
		run(t, fed, s, fedkit.Options{Rounds: 2, Seed: 1})
		sv := expect.Value(fedkit.Served(t.Context(), fed, s))(t)
		models := host(t, sv.Models)
		for i, k := range sv.Assign {
			if agree(models[k], initial) {
				t.Errorf("%s: client %d, in cluster %d, is served the initial model", name, i, sv.Clusters[i])
			}
		}
	}
}
