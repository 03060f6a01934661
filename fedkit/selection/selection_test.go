package selection_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

// federation has m clients with the same least-squares problem, but the last one's targets have the opposite sign.
func federation(t testing.TB, m int) *fedkit.Federation {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(m), 7))
	d := &datasets.Dataset{Name: "least squares", Shape: []int{2}}
	clients := make(partition.Given, m)
	for i := range clients {
		for j := range 9 {
			part, rows := &d.Train, &clients[i].Train
			if j == 8 {
				part, rows = &d.Test, &clients[i].Test
			}
			*rows = append(*rows, part.Len())
			x, y := float32(rng.NormFloat64()), float32(rng.NormFloat64())
			target := 2*x - y + 0.1*float32(rng.NormFloat64())
			if i == m-1 {
				target = -target
			}
			part.Floats, part.Targets = append(part.Floats, x, y), append(part.Targets, target)
		}
	}
	return expect.Value(fedkit.New(d, clients, model.MLP()))(t)
}

// run runs FedAvg with n clients per round.
func run(t testing.TB, fed *fedkit.Federation, s fedkit.Selector, n int, o fedkit.Options) *fedkit.History {
	t.Helper()
	o.EvalEvery = max(o.EvalEvery, o.Rounds)
	return expect.Value(fedkit.Run(context.Background(), fed, fedavg(fed, s, n), o))(t)
}

func fedavg(fed *fedkit.Federation, s fedkit.Selector, n int) *strategy.FedAvg {
	return &strategy.FedAvg{Selector: s, Fraction: float64(n) / float64(fed.Size()), Local: fedkit.Local{Batch: 4, LR: 0.05}}
}

// watched shows every choice of a rule, in the rule's order.
type watched struct {
	fedkit.Selector
	look func(r *fedkit.Round, n int, chosen []int)
}

func (w watched) Select(r *fedkit.Round, n int) []int {
	chosen := w.Selector.Select(r, n)
	w.look(r, n, chosen)
	return chosen
}

// greedy always chooses the first clients.
var greedy = fedkit.SelectorFunc(func(r *fedkit.Round, n int) []int { return r.AllClients()[:n] })

func selected(h *fedkit.History) (all [][]int) {
	for _, r := range h.Rounds {
		all = append(all, r.Clients())
	}
	return all
}

var labels = []int{0, 1, 1, -1, 2, 0, 0, 1, 0}

// rules has one of each kind, for 6 clients.
var rules = map[string]fedkit.Selector{
	"random":        selection.Random{},
	"diversity":     selection.Diversity{},
	"loss":          selection.Diversity{By: selection.Loss, Temperature: 3},
	"hybrid":        selection.Hybrid{},
	"published":     selection.Explore{Then: selection.Hybrid{AsPublished: true}},
	"explore":       selection.Explore{},
	"dissimilarity": selection.Explore{Rate: 0.3, Then: selection.Hybrid{By: selection.Dissimilarity}},
	"annealed":      selection.Explore{Then: selection.Annealed{Rounds: 10, Then: selection.Hybrid{HighRatio: 0.7}}},
	"by cluster":    selection.ByCluster{Labels: []int{0, 1, 1, -1, 2, 0}},
	"bandwidth":     selection.Fair{Wait: 8, Then: selection.Bandwidth{Seconds: []float64{3, 1, 4, 1, 5, 9}}},
	"fair":          selection.Fair{Wait: 6, Then: selection.Explore{Then: selection.Diversity{}}},
}

// Every rule is held to what users' selectors are, on devices that are off at times too. It chooses others from round to round and with
// another seed, and in an asynchronous round among those that are on and idle: who else is chosen is an error.
func TestEveryRule(t *testing.T) {
	fed := federation(t, 6)
	timed := expect.Value(fed.WithDevices(sim.Devices{PerExample: sim.LogNormal{Median: 0.1, Sigma: 1}, OnFor: sim.Uniform{Low: 3, High: 9}, OffFor: sim.Uniform{Low: 1, High: 9}, Seed: 2}))(t)
	for name, rule := range rules {
		expect.OK(t, fedtest.TestSelector(rule))
		all := selected(run(t, fed, rule, 3, fedkit.Options{Rounds: 12, Seed: 1}))
		expect.That(t, slices.ContainsFunc(all, func(s []int) bool { return !slices.Equal(s, all[0]) }), "%s: the same clients in every round", name)
		other := selected(run(t, fed, rule, 3, fedkit.Options{Rounds: 12, Seed: 2}))
		expect.That(t, name == "bandwidth" || !reflect.DeepEqual(other, all), "%s: another seed chooses the same clients", name)
		if _, ok := rule.(selection.Fair); ok { // its bounds are for synchronous rounds
			continue
		}
		s := &strategy.FedBuff{Concurrency: 4, K: 2, Selector: rule, Local: fedkit.Local{Batch: 4, LR: 0.05}}
		_, err := fedkit.Run(context.Background(), timed, s, fedkit.Options{Rounds: 30, EvalEvery: 30})
		expect.That(t, err == nil, "%s: %v", name, err)
	}
}

func TestRandomIsTheDefault(t *testing.T) {
	fed := federation(t, 9)
	o := fedkit.Options{Rounds: 10, Seed: 3}
	if a, b := selected(run(t, fed, selection.Random{}, 4, o)), selected(run(t, fed, nil, 4, o)); !reflect.DeepEqual(a, b) {
		t.Errorf("%v, without a Selector %v", a, b)
	}
}

// ranked returns the clients by a figure of their last round, largest first. Those that never took part come before all
// others.
func ranked(r *fedkit.Round, figure func(fedkit.ClientResult) fedkit.Float) (order []int, unknown int) {
	figures := make([]float64, r.Clients())
	for c := range figures {
		if past := r.Past(c); len(past) > 0 {
			figures[c] = float64(figure(past[len(past)-1]))
		} else {
			unknown, figures[c] = unknown+1, math.Inf(1)
		}
	}
	order = r.AllClients()
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(figures[b], figures[a]) })
	return order, unknown
}

// Without noise, diversity chooses the clients with the largest figure, after those that never took part.
func TestDiversityTakesTheTop(t *testing.T) {
	fed := federation(t, 9)
	for by, figure := range map[selection.By]func(fedkit.ClientResult) fedkit.Float{
		selection.Drift:         func(s fedkit.ClientResult) fedkit.Float { return s.Drift },
		selection.Loss:          func(s fedkit.ClientResult) fedkit.Float { return s.Loss },
		selection.Dissimilarity: func(s fedkit.ClientResult) fedkit.Float { return -s.Similarity },
	} {
		ranks := 0
		rule := watched{selection.Diversity{Temperature: fedkit.Zero, By: by}, func(r *fedkit.Round, n int, chosen []int) {
			want, unknown := ranked(r, figure)
			if unknown < n {
				ranks++
			}
			for i, c := range chosen {
				expect.That(t, (i >= unknown || r.T <= 1 || len(r.Past(c)) <= 0) && (i < unknown || c == want[i]),
					"%v, round %d: chose %v, the order is %v, %d of them unknown", by, r.T, chosen, want, unknown)
			}
		}}
		run(t, fed, rule, 4, fedkit.Options{Rounds: 20})
		expect.That(t, ranks == 18, "%v: %d rounds were by rank, want all but two", by, ranks)
	}
}

// The client with the opposite targets has the least similar update, so Dissimilarity chooses it, through any wrapper.
func TestDissimilarityFindsTheOutlier(t *testing.T) {
	fed := federation(t, 9)
	diversity := selection.Diversity{Temperature: fedkit.Zero, By: selection.Dissimilarity}
	for name, rule := range map[string]fedkit.Selector{
		"diversity": diversity,
		"hybrid":    selection.Hybrid{HighRatio: 1, Temperature: fedkit.Zero, By: selection.Dissimilarity},
		"wrapped":   selection.Fair{Then: selection.Explore{Rate: fedkit.Zero, Then: diversity}},
		"annealed":  selection.Annealed{From: 1e-9, To: 1e-9, Then: diversity},
	} {
		for seed := range uint64(3) {
			h := run(t, fed, after{rule}, 2, fedkit.Options{Rounds: 3, Seed: seed})
			last := h.Last()
			expect.That(t, slices.Contains(last.Clients(), 8) && last.Results[0].Similarity != 0,
				"%s: %v does not include the outlier, 8; %+v", name, last.Clients(), last.Results)
		}
	}
	h := run(t, fed, selection.Explore{}, 2, fedkit.Options{Rounds: 3})
	expect.That(t, h.Rounds[2].Results[0].Similarity == 0, "similarity is computed for a rule that does not use it")
}

// after applies a rule after two rounds with everyone.
type after struct{ Then fedkit.Selector }

func (w after) Select(r *fedkit.Round, n int) []int {
	if r.T <= 2 {
		return r.AllClients()
	}
	return w.Then.Select(r, n)
}

// ⌊ρ·n⌋ of the clients come from the high half and the rest from the low half.
func TestHybridHalves(t *testing.T) {
	fed := federation(t, 20)
	for _, c := range []struct {
		n         int
		ratio     float64
		high, low int
	}{{6, 0, 3, 3}, {5, 0.5, 2, 3}, {7, 0.29, 2, 5}, {8, 1, 8, 0}, {8, 0.1, 0, 8}, {10, 0.7, 7, 3}} {
		full := 0
		rule := watched{selection.Hybrid{HighRatio: c.ratio, Temperature: 5}, func(r *fedkit.Round, n int, chosen []int) {
			order, unknown := ranked(r, func(s fedkit.ClientResult) fedkit.Float { return s.Drift })
			if unknown > 10 {
				return // which of them are in the high half is random
			}
			full++
			high := 0
			for _, i := range chosen {
				if slices.Contains(order[:10], i) {
					high++
				}
			}
			expect.That(t, high == c.high, "ρ = %v, n = %d: %d from the high half, want %d", c.ratio, n, high, c.high)
		}}
		run(t, fed, rule, c.n, fedkit.Options{Rounds: 20, Seed: 1})
		expect.That(t, full >= 12, "n = %d: only %d rounds with a known median", c.n, full)
	}
}

// As the published code draws: max(1, ⌊ρ·n⌋) of the clients that took part come from the high half, the rest from the low half, and
// all pairs of a half are equally likely.
func TestHybridAsPublished(t *testing.T) {
	for _, c := range []struct {
		m, n, rounds int
		ratio        float64
		high         int
	}{{20, 1, 60, 0.5, 1}, {20, 8, 30, 0.1, 1}, {20, 6, 30, fedkit.Zero, 1}, {20, 7, 30, 0.29, 2}, {10, 5, 800, 0, 2}} {
		full, pairs := 0, map[[2]int]int{} // of places in the ranking, both in one half
		rule := watched{selection.Hybrid{HighRatio: c.ratio, AsPublished: true}, func(r *fedkit.Round, n int, chosen []int) {
			order, unknown := ranked(r, func(s fedkit.ClientResult) fedkit.Float { return s.Drift })
			if order = order[unknown:]; len(order) <= n {
				return
			}
			full++
			var places []int
			for _, i := range chosen {
				places = append(places, slices.Index(order, i))
			}
			slices.Sort(places)
			low := slices.IndexFunc(append(places, len(order)), func(at int) bool { return at >= len(order)/2 })
			expect.That(t, places[0] >= 0 && len(places) == n && low == max(c.high, n-(len(order)+1)/2), // if the low half is too small, others fill the gaps
				"ρ = %v, n = %d: places %v of %d clients that took part, want %d from the high half", c.ratio, n, places, len(order), c.high)
			for i, a := range places {
				for j, b := range places[i+1:] {
					if len(order) == c.m && (i+1+j < low || i >= low) {
						pairs[[2]int{a, b}]++
					}
				}
			}
		}}
		run(t, federation(t, c.m), selection.Explore{Then: rule}, c.n, fedkit.Options{Rounds: c.rounds, Seed: 1})
		expect.That(t, full > c.rounds/2, "n = %d: only %d rounds by rank", c.n, full)
		for pair, times := range pairs {
			// Two of five: 1 in 10. Three of five: 3 in 10 have both. Five standard deviations are at most 0.09.
			want := 0.1
			if pair[0] >= 5 {
				want = 0.3
			}
			expect.That(t, c.rounds < 800 || math.Abs(float64(times)/float64(full)-want) < 0.09, "%v in %d of %d rounds", pair, times, full)
		}
		expect.That(t, c.rounds < 800 || len(pairs) == 20, "%d pairs of ten ranks, want 20", len(pairs))
	}
}

// If fewer clients are known than wanted, all of them are chosen, and others at random.
func TestTooLittleHistory(t *testing.T) {
	fed := federation(t, 20)
	for _, rule := range []fedkit.Selector{selection.Diversity{}, selection.Hybrid{}} {
		h := run(t, fed, growing{rule}, 5, fedkit.Options{Rounds: 3})
		for i, r := range h.Rounds[1:] {
			for _, c := range h.Rounds[i].Clients() {
				expect.That(t, slices.Contains(r.Clients(), c),
					"%T, round %d: %v leaves out %d, one of the few with a history", rule, r.Round, r.Clients(), c)
			}
		}
	}
}

// growing asks for five more clients in each round.
type growing struct{ then fedkit.Selector }

func (g growing) Select(r *fedkit.Round, n int) []int { return g.then.Select(r, n*r.T) }

// The first rounds and a share ε of the later ones match a run without a Selector.
func TestExplore(t *testing.T) {
	fed := federation(t, 9)
	o := fedkit.Options{Rounds: 600, Seed: 4}
	plain := run(t, fed, nil, 3, o)
	for _, c := range []struct {
		rule selection.Explore
		cold int
		rate float64
	}{
		{selection.Explore{}, 2, 0.1},
		{selection.Explore{ColdStart: 20, Rate: 0.4}, 20, 0.4},
		{selection.Explore{ColdStart: 1, Rate: fedkit.Zero}, 1, 0},
		{selection.Explore{Rate: 1}, 2, 1},
	} {
		asked := map[int]bool{}
		c.rule.Then = watched{greedy, func(r *fedkit.Round, n int, chosen []int) { asked[r.T] = true }}
		h := run(t, fed, c.rule, 3, o)
		for i, r := range h.Rounds {
			expect.That(t, !asked[r.Round] || r.Round > c.cold && slices.Equal(r.Clients(), []int{0, 1, 2}), "round %d: %v", r.Round, r.Clients())
			expect.That(t, asked[r.Round] || slices.Equal(r.Clients(), plain.Rounds[i].Clients()),
				"round %d: %v, a random round has %v", r.Round, r.Clients(), plain.Rounds[i].Clients())
		}
		later := float64(o.Rounds - c.cold)
		explored, spread := later-float64(len(asked)), 3.3*math.Sqrt(later*c.rate*(1-c.rate)) // 99.9%
		expect.That(t, math.Abs(explored-c.rate*later) <= spread, "%+v: %v of %v later rounds are random", c.rule, explored, later)
	}
}

// Nobody waits longer than T, whatever the rule prefers, even if the bound is as tight as possible.
func TestFairWait(t *testing.T) {
	for _, c := range []struct{ m, n, wait int }{{13, 2, 6}, {12, 3, 3}, {12, 3, 8}, {10, 4, 2}, {7, 1, 6}, {5, 5, 1}} {
		fed := federation(t, c.m)
		for name, then := range map[string]fedkit.Selector{"greedy": greedy, "random": nil, "diversity": selection.Diversity{}} {
			h := run(t, fed, selection.Fair{Wait: c.wait, Then: then}, c.n, fedkit.Options{Rounds: 60, Seed: 2})
			last, theirs := make([]int, c.m), 0
			for _, r := range h.Rounds {
				expect.Must(t, len(r.Results) == c.n, "%+v: %d clients in round %d", c, len(r.Results), r.Round)
				for _, i := range r.Clients() {
					last[i] = r.Round
					if i < c.n {
						theirs++
					}
				}
				for i, at := range last {
					expect.Must(t, r.Round-at <= c.wait, "%+v, %s: client %d has waited since round %d, now round %d", c, name, i, at, r.Round)
				}
			}
			// The rule keeps every place that the bound does not need: here M − n clients are not the rule's own, each
			// in one of T + 1 rounds.
			own := 60*c.n - (c.m-c.n)*(60/(c.wait+1)+1)
			expect.That(t, name != "greedy" || theirs >= own, "%+v: %d places for the rule's own clients, want at least %d", c, theirs, own)
		}
	}
}

// By round t no client has taken part more than ⌈q·t⌉ times, and the rule's clients take part as often as allowed.
func TestFairQuota(t *testing.T) {
	for _, c := range []struct {
		m int
		q float64
	}{{10, 0.2}, {10, 0.3}, {10, 0.5}, {10, 1}, {3, 2. / 3}} { // with q = n/M everybody takes part equally often
		h := run(t, federation(t, c.m), selection.Fair{Quota: c.q, Then: greedy}, 2, fedkit.Options{Rounds: 50})
		times := make([]float64, c.m)
		for _, r := range h.Rounds {
			for _, i := range r.Clients() {
				times[i]++
			}
			most := math.Ceil(c.q * float64(r.Round))
			expect.Must(t, len(r.Results) == 2 && slices.Max(times) <= most,
				"%+v, round %d: %d clients, took part %v times, want at most %v", c, r.Round, len(r.Results), times, most)
		}
		expect.That(t, times[0] == math.Ceil(c.q*50), "%+v: the rule's first client took part %v times of %v", c, times[0], math.Ceil(c.q*50))
	}
}

func TestAnnealed(t *testing.T) {
	s := selection.Annealed{From: 8, To: 0.5, Rounds: 5}
	for i, want := range []float64{8, 4, 2, 1, 0.5, 0.5} {
		got := s.Temperature(i + 1)
		expect.That(t, math.Abs(got-want) <= 1e-12, "round %d: T = %v, want %v", i+1, got, want)
	}
	zero := selection.Annealed{}
	expect.That(t, zero.Temperature(1) == 10 && zero.Temperature(50) == 1,
		"the default runs from %v to %v", zero.Temperature(1), zero.Temperature(50))
	got := (selection.Annealed{From: 8, Rounds: 1}).Temperature(1)
	expect.That(t, got == 1, "T = %v for a single round", got)
	// With a practically constant temperature it is the plain rule.
	fed := federation(t, 9)
	o := fedkit.Options{Rounds: 10}
	a := run(t, fed, selection.Annealed{From: 2, To: 2, Then: selection.Hybrid{}}, 3, o)
	b := run(t, fed, selection.Hybrid{Temperature: 2}, 3, o)
	expect.That(t, reflect.DeepEqual(selected(a), selected(b)), "%v, want %v", selected(a), selected(b))
}

func TestPerCluster(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	first, times := map[int]int{}, make([]int, len(labels))
	for range 4000 {
		got := selection.PerCluster(labels, 3, rng)
		expect.Must(t, labels[got[0]]+labels[got[1]]+labels[got[2]] == 3 && !slices.Contains(got, 3),
			"%v does not have one client of each cluster in %v", got, labels)
		first[labels[got[0]]]++
		for _, i := range got {
			times[i]++
		}
	}
	for c, n := range first { // large clusters do not come first
		expect.That(t, math.Abs(float64(n)-4000/3.) <= 100, "cluster %d comes first in %d of 4000 choices", c, n) // 3.3 σ
	}
	for i, n := range times { // at random within a cluster
		size := map[int]float64{0: 4, 1: 3, 2: 1}[labels[i]]
		expect.That(t, size <= 1 || math.Abs(float64(n)-4000/size) <= 110, "client %d is chosen %d times of 4000, one of %v", i, n, size)
	}
	for n, want := range map[int][]int{2: {0, 1}, 3: {0, 1, 4}, 5: {0, 1, 4, 2, 5}, 20: {0, 1, 4, 2, 5, 6, 7, 8}, 0: nil} {
		got := selection.PerCluster(labels, n, nil)
		expect.That(t, slices.Equal(got, want), "the first %d: %v, want %v", n, got, want)
	}
}

func TestOnePerCluster(t *testing.T) {
	fed := federation(t, 9)
	o := fedkit.Options{Rounds: 30}
	seen := map[int]bool{}
	for _, s := range selected(run(t, fed, selection.OnePerCluster{Labels: labels}, 5, o)) {
		expect.Must(t, len(s) == 3 && labels[s[0]]+labels[s[1]]+labels[s[2]] == 3, "%v does not have one client of each cluster", s)
		for _, i := range s {
			seen[i] = true
		}
	}
	expect.That(t, len(seen) == 8, "%d of 8 clients in a cluster were ever chosen", len(seen))
	for _, s := range selected(run(t, fed, selection.OnePerCluster{Labels: labels, First: true}, 5, o)) {
		expect.Must(t, slices.Equal(s, []int{0, 1, 4}), "%v are not the first of each cluster", s)
	}
	// The clusters that a strategy serves: random before the first evaluation, one each after it.
	ifca := &strategy.IFCA{K: 2, Fraction: 0.7, Selector: selection.OnePerCluster{}, Local: fedkit.Local{Batch: 4, LR: 0.05}}
	h := expect.Value(fedkit.Run(context.Background(), fed, ifca, fedkit.Options{Rounds: 6}))(t)
	for i, r := range h.Rounds {
		expect.That(t, i != 0 || len(r.Results) == 6, "%d clients in the first round, want 6", len(r.Results))
		if i > 0 {
			clusters := map[int]bool{}
			for _, c := range h.Rounds[i-1].Clusters {
				clusters[c] = true
			}
			for _, c := range r.Clients() {
				delete(clusters, h.Rounds[i-1].Clusters[c])
			}
			expect.That(t, len(clusters) == 0, "round %d: %v leaves out a cluster of %v", r.Round, r.Clients(), h.Rounds[i-1].Clusters)
		}
	}
}

func TestBandwidth(t *testing.T) {
	fed := federation(t, 5)
	seconds := []float64{4, 1, math.Inf(1), 2, 8}
	for _, c := range []struct {
		deadline float64
		want     []int
	}{{0, []int{0, 1, 3}}, {3, []int{1, 3}}, {100, []int{0, 1, 3}}, {0.5, []int{1}}} {
		h := run(t, fed, selection.Bandwidth{Seconds: seconds, Deadline: c.deadline}, 3, fedkit.Options{Rounds: 2})
		expect.That(t, slices.Equal(h.Rounds[1].Clients(), c.want), "deadline %v: %v, want %v", c.deadline, h.Rounds[1].Clients(), c.want)
	}
	h := run(t, fed, selection.Bandwidth{Seconds: seconds}, 5, fedkit.Options{Rounds: 1})
	got := h.Rounds[0].Clients()
	expect.That(t, slices.Equal(got, []int{0, 1, 3, 4}), "%v: a client that is never available was chosen", got)
}

func TestOptionsThatAreRefused(t *testing.T) {
	fed := federation(t, 9)
	temperature := ": must be a number > 0 or +Inf, 0 for the default of 1, or fedkit.Zero"
	for want, s := range map[string]fedkit.Selector{
		"Selector.Temperature = -1" + temperature:                                                  selection.Diversity{Temperature: -1},
		"Selector.Temperature = NaN" + temperature:                                                 selection.Hybrid{Temperature: math.NaN()},
		"Selector.HighRatio = 1.5: must be in (0, 1], 0 for the default of 0.5, or fedkit.Zero":    selection.Hybrid{HighRatio: 1.5},
		"Selector.Then.By = 3: must be selection.Drift, selection.Dissimilarity or selection.Loss": selection.Explore{Then: selection.Diversity{By: 3}},
		"Selector.ColdStart = -2: must be at least 1, or 0 for the default of 2":                   selection.Explore{ColdStart: -2},
		"Selector.Rate = 2: must be in (0, 1], 0 for the default of 0.1, or fedkit.Zero":           selection.Explore{Rate: 2},
		"Selector.From = +Inf: must be a number > 0, or 0 for the default of 10":                   selection.Annealed{From: math.Inf(1)},
		"Selector.Then.To = -1: must be a number > 0, or 0 for the default of 1":                   selection.Fair{Then: selection.Annealed{To: -1}},
		"Selector.Rounds = -1: must be at least 1, or 0 for the default of 50":                     selection.Annealed{Rounds: -1},
		"Selector.Labels = 2 labels: must be 9, one per client, or nil":                            selection.OnePerCluster{Labels: []int{0, 1}},
		"Selector.Then.Labels = 1 labels: must be 9, one per client, or nil":                       selection.Explore{Then: selection.ByCluster{Labels: []int{0}}},
		"Selector.Wait = -1: must be at least 1, or 0 for no bound":                                selection.Fair{Wait: -1},
		"Selector.Quota = 1.1: must be in (0, 1], or 0 for no bound":                               selection.Fair{Quota: 1.1},
		"Selector.Seconds[1] = NaN: must be a time ≥ 0":                                            selection.Bandwidth{Seconds: []float64{1, math.NaN()}},
		"Selector.Seconds = +Inf for every client: must be finite for at least one":                selection.Bandwidth{Seconds: []float64{math.Inf(1)}},
		"Selector.Then.Seconds = 0 times: must be 9, one per client":                               selection.Fair{Then: selection.Bandwidth{}},
		"Selector.Deadline = -1: must be a number > 0, or 0 for none":                              selection.Bandwidth{Deadline: -1},
	} {
		_, err := fedkit.Run(context.Background(), fed, fedavg(fed, s, 3), fedkit.Options{Rounds: 1})
		expect.That(t, errors.Is(err, fedkit.ErrInvalid) && err.Error() == "fedkit: FedAvg: invalid: "+want,
			"error %v\nwant fedkit: FedAvg: invalid: %s", err, want)
	}
	// What also depends on the size of a round.
	for want, s := range map[string]fedkit.Selector{
		"Selector.Wait = 1: must be at least 2 if 3 of 9 clients take part per round": selection.Fair{Wait: 1},
		"Selector.Quota = 0.3: must be at least 3/9, the share of clients per round":  selection.Fair{Quota: 0.3},
	} {
		h, err := fedkit.Run(context.Background(), fed, fedavg(fed, s, 3), fedkit.Options{Rounds: 1})
		expect.That(t, errors.Is(err, fedkit.ErrInvalid) && err.Error() == "fedkit: FedAvg: invalid: "+want && h == nil,
			"error %v\nwant %s", err, want)
	}
	run(t, fed, selection.Fair{Wait: 2, Quota: 1. / 3}, 3, fedkit.Options{Rounds: 1})
	s := fmt.Sprint(selection.Dissimilarity, selection.By(7))
	expect.That(t, s == "dissimilarity By(7)", "%v", s)
}

// What only a round can show.
func TestFairRefusesARound(t *testing.T) {
	fed := federation(t, 9)
	twice := fedkit.SelectorFunc(func(*fedkit.Round, int) []int { return []int{0, 0} })
	for want, s := range map[string]fedkit.Selector{
		"round 1: select: invalid: Fair.Then = [0 0]: must be a choice of different clients in [0, 9)": selection.Fair{Then: twice},
		"round 3: select: invalid: Fair.Quota = 0.4: must be higher, since nobody may take part in round 3: " +
			"the strategy trains more clients than it selects": after{selection.Fair{Quota: 0.4}},
	} {
		_, err := fedkit.Run(context.Background(), fed, fedavg(fed, s, 3), fedkit.Options{Rounds: 3})
		expect.That(t, errors.Is(err, fedkit.ErrInvalid) && err.Error() == "fedkit: FedAvg: "+want, "error %v\nwant %s", err, want)
	}
}

// After two random rounds, half of the clients chosen differ a lot from the global model and half differ little. Now and
// then a round is random, and nobody waits longer than 5 rounds.
func Example() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 20, Alpha: 0.3, Seed: 1}, model.MLP(32)))
	avg := &strategy.FedAvg{
		Fraction: 0.25,
		Selector: selection.Fair{Wait: 5, Then: selection.Explore{Then: selection.Hybrid{}}},
		Local:    fedkit.Local{Batch: 16, LR: 0.1},
	}
	h := must.M1(fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: 12}))
	times := map[int]int{}
	for _, r := range h.Rounds {
		for _, c := range r.Clients() {
			times[c]++
		}
	}
	fmt.Println(len(times), "of 20 clients took part")
	// Output: 20 of 20 clients took part
}

// A custom rule is a function of what is known about the clients.
func Example_func() {
	largest := fedkit.SelectorFunc(func(r *fedkit.Round, n int) []int {
		best := 0
		for _, c := range r.AllClients() {
			if len(r.Fed.Clients[c].Train) > len(r.Fed.Clients[best].Train) {
				best = c
			}
		}
		return []int{best}
	})
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 5, Alpha: 1}, model.LogisticRegression()))
	h := must.M1(fedkit.Run(context.Background(), fed, &strategy.FedAvg{Selector: selection.Explore{Then: largest}}, fedkit.Options{Rounds: 3}))
	fmt.Println(len(h.Last().Results), "client in the last round")
	// Output: 1 client in the last round
}
