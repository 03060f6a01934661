package attack_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

// Under the race detector the plugin's destructors abort when the process exits normally.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

var local = fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}

func digits(t testing.TB) *fedkit.Federation {
	t.Helper()
	return expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 10, Seed: 1}, model.MLP(16)))(t)
}

func on(t testing.TB, fed *fedkit.Federation, share float64, a attack.Attack, seed uint64) *fedkit.Federation {
	t.Helper()
	return expect.Value(attack.Apply(fed, share, a, seed))(t)
}

// arrivals runs rounds of FedAvg and returns what arrived in the last one.
func arrivals(t testing.TB, fed *fedkit.Federation, rounds, workers int, seed uint64) (sent [][]float32) {
	t.Helper()
	eye := fedkit.AggregatorFunc(func(m *fedkit.Matrix, w []float64) *fedkit.Matrix {
		v := expect.Value(m.Host())(t)
		sent = slices.Collect(slices.Chunk(v, m.Cols()))
		return m.Mean(w)
	})
	s := &strategy.FedAvg{Local: local, Aggregator: eye}
	expect.Value(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: rounds, EvalEvery: rounds, Concurrency: workers, Seed: seed}))(t)
	return sent
}

// start is what clients start from in the first round.
func start(t testing.TB, fed *fedkit.Federation, seed uint64) []float32 {
	t.Helper()
	var x []float32
	s := &strategy.FedAvg{Local: local, Selector: fedkit.SelectorFunc(func(r *fedkit.Round, n int) []int {
		x = expect.Value(r.Models(1).Host())(t)
		return r.AllClients()
	})}
	expect.Value(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 1, Seed: seed}))(t)
	return x
}

func TestWhatArrives(t *testing.T) {
	fed := digits(t)
	x := start(t, fed, 4)
	honest := arrivals(t, fed, 1, 1, 4)
	attackers, err := attack.Attackers(10, 0.3, 7)
	expect.Must(t, err == nil && len(attackers) == 3, "attackers %v, %v", attackers, err)
	for _, c := range []struct {
		a      attack.Attack
		factor float64
	}{{attack.SignFlip{}, -1}, {attack.SignFlip{Scale: 2.5}, -2.5}, {attack.Scaled{}, 10}, {attack.Scaled{Factor: 0.5}, 0.5}} {
		sent := arrivals(t, on(t, fed, 0.3, c.a, 7), 1, 1, 4)
		for i := range sent {
			if !slices.Contains(attackers, i) {
				expect.That(t, slices.Equal(sent[i], honest[i]), "%v: what client %d sent did not arrive unchanged", c.a, i)
				continue
			}
			for j := range sent[i] {
				want := float64(x[j]) + c.factor*float64(honest[i][j]-x[j])
				expect.Must(t, math.Abs(float64(sent[i][j])-want) <= 1e-6*(1+math.Abs(want)),
					"%v: parameter %d of client %d is %v, want %v", c.a, j, i, sent[i][j], want)
			}
		}
	}

	// Noise has mean 0 and the requested standard deviation, and differs for every client and round.
	sent := arrivals(t, on(t, fed, 0.3, attack.Gaussian{Sigma: 0.2}, 7), 1, 1, 4)
	var first []float64
	for _, i := range attackers {
		sum, squares := 0.0, 0.0
		noise := make([]float64, len(x))
		for j := range x {
			noise[j] = float64(sent[i][j] - honest[i][j])
			sum, squares = sum+noise[j], squares+noise[j]*noise[j]
		}
		d := float64(len(x))
		expect.That(t, math.Abs(sum/d) <= 4*0.2/math.Sqrt(d) && math.Abs(math.Sqrt(squares/d)-0.2) <= 4*0.2/math.Sqrt(2*d),
			"client %d: noise of mean %v and standard deviation %v, want 0 and 0.2", i, sum/d, math.Sqrt(squares/d))
		expect.That(t, !slices.Equal(noise, first), "two clients have the same noise")
		first = noise
	}
}

// The same seed gives the same bytes for any number of workers; another seed gives different noise.
func TestAttacksAreDeterministic(t *testing.T) {
	fed := on(t, on(t, digits(t), 0.4, attack.Gaussian{}, 1), 0.2, attack.SignFlip{}, 2)
	a := arrivals(t, fed, 2, 1, 4)
	b := arrivals(t, fed, 2, 4, 4)
	c := arrivals(t, fed, 2, 1, 5)
	for i := range a {
		expect.That(t, slices.Equal(a[i], b[i]), "client %d: 4 workers give different bytes", i)
		expect.That(t, !slices.Equal(a[i], c[i]), "client %d: another seed gives the same bytes", i)
	}
}

func TestAttackers(t *testing.T) {
	small, _ := attack.Attackers(100, 0.1, 3)
	large, _ := attack.Attackers(100, 0.29, 3)
	other, _ := attack.Attackers(100, 0.29, 4)
	expect.That(t, len(small) == 10 && len(large) == 29 && slices.IsSorted(large) && !slices.Equal(large, other),
		"attackers %v, %v, %v", small, large, other)
	for _, c := range small {
		expect.That(t, slices.Contains(large, c), "%d is an attacker among 10, but not among 29", c)
	}
	for share, n := range map[float64]int{0: 0, 0.19: 1, 0.3: 3, 1: 10} {
		got, err := attack.Attackers(10, share, 1)
		expect.That(t, err == nil && len(got) == n, "share %v of 10: %v, %v; want %d", share, got, err, n)
	}
}

func TestLabels(t *testing.T) {
	fed := digits(t)
	before := slices.Clone(fed.Data.Train.Labels)
	attackers, _ := attack.Attackers(10, 0.2, 5)
	for _, c := range []struct {
		a    attack.Attack
		want func(int32) int32
	}{
		{attack.LabelFlip{}, func(y int32) int32 { return 9 - y }},
		{attack.OneLabel{Label: 3}, func(int32) int32 { return 3 }},
	} {
		bad := on(t, fed, 0.2, c.a, 5)
		for i, client := range bad.Clients {
			for _, row := range client.Train {
				want := before[row]
				if slices.Contains(attackers, i) {
					want = c.want(want)
				}
				got := bad.Data.Train.Labels[row]
				expect.Must(t, got == want, "%v: client %d: label %d became %d, want %d", c.a, i, before[row], got, want)
			}
		}
		expect.That(t, slices.Equal(bad.Data.Test.Labels, fed.Data.Test.Labels) && slices.Equal(fed.Data.Train.Labels, before),
			"%v changed test labels, or the federation it was given", c.a)
		want := fmt.Sprintf("; %v by clients %v of 10", c.a, attackers)
		expect.That(t, strings.HasSuffix(bad.Rule, want), "rule %q does not end in %q", bad.Rule, want)
	}
	twice := on(t, on(t, fed, 0.2, attack.LabelFlip{}, 5), 0.2, attack.LabelFlip{}, 5)
	expect.That(t, slices.Equal(twice.Data.Train.Labels, before), "flipping labels twice does not restore them")
}

// With three attackers in ten the mean fails, and the robust rules do not. Nothing compiles after the first round,
// although the attackers who take part change from round to round.
func TestRobustRulesWithstand(t *testing.T) {
	expect.Long(t, "one run after the other")
	clean := digits(t)
	accuracy := func(fed *fedkit.Federation, by fedkit.Aggregator) float64 {
		first, last := int64(0), (*fedkit.History)(nil)
		s := &strategy.FedAvg{Fraction: 0.9, Local: local, Aggregator: by}
		for h, err := range fedkit.Rounds(context.Background(), fed, s, fedkit.Options{Rounds: 15, Seed: 1}) {
			expect.OK(t, err)
			if last = h; len(h.Rounds) == 1 {
				first = xla.Compilations()
			}
		}
		n := xla.Compilations() - first
		expect.That(t, n == 0, "%s: %d programs were compiled after the first round, want 0", fed.Rule, n)
		return last.Accuracy()
	}
	want := accuracy(clean, aggregate.Mean{})
	for _, a := range []attack.Attack{attack.SignFlip{Scale: 5}, attack.Scaled{Factor: 100}, attack.Gaussian{Sigma: 5}} {
		bad := on(t, clean, 0.3, a, 2)
		if got := accuracy(bad, aggregate.Mean{}); got > want-0.2 {
			t.Errorf("%v: the mean has accuracy %v, without attackers %v", a, got, want)
		}
		for _, by := range []fedkit.Aggregator{aggregate.Median{}, aggregate.TrimmedMean{Share: 0.34}, aggregate.MultiKrum{}, aggregate.GeometricMedian{}} {
			got := accuracy(bad, by)
			expect.That(t, got >= want-0.1, "%v: %T has accuracy %v, the mean without attackers %v", a, by, got, want)
		}
	}
}

// Forged updates are checked like any others.
func TestForgeNaN(t *testing.T) {
	nan := attack.Forge{Name: "NaN", Send: func(u *fedkit.Updates, _ *rand.Rand) *fedkit.Matrix { return u.Models.Scale(math.NaN()) }}
	fed := on(t, digits(t), 0.1, nan, 0)
	who, _ := attack.Attackers(10, 0.1, 0)
	_, err := fedkit.Run(context.Background(), fed, &strategy.FedAvg{Local: local}, fedkit.Options{Rounds: 1})
	want := fmt.Sprintf("client %d returned an update that is not finite", who[0])
	expect.That(t, errors.Is(err, fedkit.ErrNotFinite) && strings.Contains(err.Error(), want), "error %v, want %s", err, want)
}

func TestRefused(t *testing.T) {
	fed := digits(t)
	for want, do := range map[string]func() (*fedkit.Federation, error){
		"federation = nil":               func() (*fedkit.Federation, error) { return attack.Apply(nil, 0.1, attack.SignFlip{}, 0) },
		"attack = nil":                   func() (*fedkit.Federation, error) { return attack.Apply(fed, 0.1, nil, 0) },
		"share = 1.1: must be in [0, 1]": func() (*fedkit.Federation, error) { return attack.Apply(fed, 1.1, attack.SignFlip{}, 0) },
		"share = NaN":                    func() (*fedkit.Federation, error) { return attack.Apply(fed, math.NaN(), attack.SignFlip{}, 0) },
		"SignFlip.Scale = -1: must be a number > 0, or 0 for the default of 1": func() (*fedkit.Federation, error) { return attack.Apply(fed, 0.1, attack.SignFlip{Scale: -1}, 0) },
		"Scaled.Factor = +Inf: must be a number > 0, or 0 for the default of 10": func() (*fedkit.Federation, error) {
			return attack.Apply(fed, 0.1, attack.Scaled{Factor: math.Inf(1)}, 0)
		},
		"Gaussian.Sigma = NaN":                                    func() (*fedkit.Federation, error) { return attack.Gaussian{Sigma: math.NaN()}.Apply(fed, nil) },
		"OneLabel.Label = 10: must be in [0, 10)":                 func() (*fedkit.Federation, error) { return attack.Apply(fed, 0.1, attack.OneLabel{Label: 10}, 0) },
		"Forge.Send = nil":                                        func() (*fedkit.Federation, error) { return attack.Forge{}.Apply(fed, nil) },
		"attackers = [3 3]: must be different clients in [0, 10)": func() (*fedkit.Federation, error) { return attack.SignFlip{}.Apply(fed, []int{3, 3}) },
		"attackers = [10]":                                        func() (*fedkit.Federation, error) { return attack.LabelFlip{}.Apply(fed, []int{10}) },
	} {
		expect.Refused(t, want)(do())
	}
	expect.Invalid(t)(attack.Attackers(0, 0.1, 0))
	targets := &datasets.Dataset{Name: "a line", Shape: []int{1}, Train: datasets.Split{Floats: []float32{1, 2}, Targets: []float32{1, 2}}, Test: datasets.Split{Floats: []float32{1, 2}, Targets: []float32{1, 2}}}
	line := expect.Value(fedkit.New(targets, partition.IID{Clients: 2}, model.MLP()))(t)
	expect.Error(t, "data = a line: must be labeled")(attack.Apply(line, 0.5, attack.LabelFlip{}, 0))
}

// What stays on the client cannot be attacked: strategies that communicate nothing are unaffected, and FedRep's body is forged
// once, as it is sent.
func TestWhatStaysIsNotAttacked(t *testing.T) {
	honest := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 4, Seed: 1}, model.MLP(32)))(t)
	last := func(fed *fedkit.Federation, s fedkit.Strategy) *fedkit.Record {
		h := expect.Value(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 2, Seed: 3}))(t)
		return h.Last()
	}
	fed := expect.Value(attack.Apply(honest, 1, attack.Gaussian{Sigma: 0.1}, 1))(t)
	alone := &strategy.LocalOnly{}
	if got, want := last(fed, alone), last(honest, alone); !reflect.DeepEqual(got.Scores, want.Scores) {
		t.Errorf("models that never travel score %v under an attack, %v without", got.Mean(), want.Mean())
	}
	still := fedkit.Local{Batch: 32, LR: 1e-9}
	body := float64(64*32 + 32)
	for _, s := range last(fed, &strategy.FedRep{Local: still}).Results {
		sigma := float64(s.Drift) / math.Sqrt(body)
		expect.That(t, math.Abs(sigma-0.1) <= 0.01, "client %d's body has noise of σ = %.3f, want 0.1", s.Client, sigma)
	}
}

// Three of ten clients send their updates backwards and five times too large. The mean learns nothing; Krum does.
func ExampleApply() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 10, Seed: 1}, model.MLP(16)))
	bad := must.M1(attack.Apply(fed, 0.3, attack.SignFlip{Scale: 5}, 1))
	for _, by := range []fedkit.Aggregator{aggregate.Mean{}, aggregate.Krum{F: 3}} {
		avg := &strategy.FedAvg{Aggregator: by, Local: fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}}
		h := must.M1(fedkit.Run(context.Background(), bad, avg, fedkit.Options{Rounds: 20}))
		fmt.Printf("%T learns: %v\n", by, h.Accuracy() > 0.8)
	}
	// Output:
	// aggregate.Mean learns: false
	// aggregate.Krum learns: true
}

// The seed decides who attacks. A larger share keeps the attackers of a smaller one.
func ExampleAttackers() {
	few := must.M1(attack.Attackers(10, 0.1, 1))
	more := must.M1(attack.Attackers(10, 0.3, 1))
	fmt.Println(few, more)
	// Output: [8] [2 7 8]
}

// A second attack goes on top of the first: with the same seed, the same clients do both.
func ExampleApply_twice() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 10}, model.MLP(16)))
	flipped := must.M1(attack.Apply(fed, 0.2, attack.LabelFlip{}, 1))
	both := must.M1(attack.Apply(flipped, 0.2, attack.Scaled{Factor: 10}, 1))
	fmt.Println(both.Rule)
	// Output: 10 clients, IID; label flip by clients [7 8] of 10; update × 10 by clients [7 8] of 10
}

// A custom attack is a function of the honest updates. Here attackers return what they received: they do no work.
func ExampleForge() {
	lazy := attack.Forge{Name: "no work", Send: func(u *fedkit.Updates, _ *rand.Rand) *fedkit.Matrix {
		return u.Models.Sub(u.Delta())
	}}
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 10}, model.MLP(16)))
	bad := must.M1(attack.Apply(fed, 0.5, lazy, 1))
	accuracy := func(fed *fedkit.Federation) float64 {
		avg := &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1}}
		return must.M1(fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: 5})).Accuracy()
	}
	fmt.Println(lazy, "slows learning down:", accuracy(bad) < accuracy(fed)-0.05)
	// Output: no work slows learning down: true
}
