package fedtest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/sim"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/janpfeifer/must"
)

// fedkit's own parts are held to what users' parts are; selectors in their package.
func TestOwnParts(t *testing.T) {
	expect.Long(t, "one run after the other")
	for _, a := range []fedkit.Aggregator{aggregate.Krum{}, aggregate.NearestMix{}} {
		expect.OK(t, fedtest.TestAggregator(a))
	}
	for _, o := range []fedkit.ServerOptimizer{server.Adagrad{}, server.AMSGrad{}} {
		expect.OK(t, fedtest.TestServerOptimizer(o))
	}
	for _, c := range []cluster.Clusterer{
		cluster.KMeans{}, cluster.Agglomerative{}, cluster.Agglomerative{Linkage: cluster.Single, Height: 1}, cluster.Spectral{}, cluster.BestSilhouette{},
	} {
		expect.OK(t, fedtest.TestClusterer(c))
	}
	for _, m := range append(metric.PerClass(2), metric.MacroF1{}, metric.ExpectedCalibrationError{}, metric.TokenAccuracy{}) {
		expect.OK(t, fedtest.TestMetric(m))
	}
	for _, r := range []sim.Rule{
		sim.Devices{PerExample: sim.LogNormal{Median: 1, Sigma: 1}, Drop: sim.Constant(0.1)}, sim.Given{{}, {Up: 1}}, sim.Mixed{Classes: []sim.Class{{Share: 1, Of: sim.Devices{}}}},
	} {
		expect.OK(t, fedtest.TestDevices(r, 2))
	}
}

// turns is a selector that counts its calls, which a resumed run does not.
type turns struct{ calls int }

func (s *turns) Select(r *fedkit.Round, n int) []int {
	s.calls++
	return append(r.AllClients()[s.calls%6:], r.AllClients()...)[:n]
}

// Each flaw of a selector is found.
func TestSelectorFlaws(t *testing.T) {
	expect.Error(t, "*fedtest_test.turns: bytes: the bytes differ")(fedtest.TestSelector(&turns{}))
	expect.Error(t, "bytes: the bytes differ")(fedtest.TestSelector(fedkit.SelectorFunc(func(r *fedkit.Round, n int) []int { return rand.Perm(r.Clients())[:n] })))
	expect.Error(t, "chooses: fedkit: host: round 1: select: invalid: Selector = [0 0")(fedtest.TestSelector(fedkit.SelectorFunc(func(_ *fedkit.Round, n int) []int { return make([]int, n) })))
	expect.Error(t, "clock: fedkit: host: round 1: select: the selector chose no client")(fedtest.TestSelector(fedkit.SelectorFunc(all)))
}

// all chooses nobody unless every device is on.
func all(r *fedkit.Round, n int) []int {
	if len(r.Candidates()) < r.Clients() {
		return nil
	}
	return r.AllClients()[:n]
}

// Each flaw of an aggregator is found.
func TestAggregatorFlaws(t *testing.T) {
	for want, f := range map[string]fedkit.AggregatorFunc{
		"agreement: rows that agree: value 0":              func(u *fedkit.Matrix, w []float64) *fedkit.Matrix { return u.Mean(w).Scale(1.1) },
		"agreement: rows that agree: a matrix [7, 5]":      func(u *fedkit.Matrix, _ []float64) *fedkit.Matrix { return u },
		"order: the clients in another order":              func(u *fedkit.Matrix, _ []float64) *fedkit.Matrix { return u.Take(0) },
		"without weights: panic: runtime error: index out": func(u *fedkit.Matrix, w []float64) *fedkit.Matrix { return u.Mean(w).Scale(1 + 0*w[0]) },
		"weights: it changed the weights": func(u *fedkit.Matrix, w []float64) *fedkit.Matrix {
			slices.Sort(w)
			return u.Mean(nil)
		},
		"bytes: the bytes differ": func(u *fedkit.Matrix, w []float64) *fedkit.Matrix { return u.Mean(w).Scale(1 + 1e-6*rand.Float64()) },
	} {
		expect.Outcome(t, want)(fedtest.TestAggregator(f))
	}
}

// private is a server optimizer that keeps its memory to itself, or does not step at all.
type private struct {
	still bool
	last  *fedkit.Matrix
}

func (o *private) Step(delta *fedkit.Matrix, _ []*fedkit.Matrix, t int) (*fedkit.Matrix, []*fedkit.Matrix) {
	if o.still {
		return delta.Scale(0), nil
	}
	if t > 1 {
		delta = delta.Add(o.last.Scale(0.5))
	}
	o.last = delta
	return delta, nil
}

// Each flaw of a server optimizer is found.
func TestServerOptimizerFlaws(t *testing.T) {
	err := fedtest.TestServerOptimizer(&private{})
	expect.Error(t, "step: the same step again")(err)
	expect.Error(t, "bytes: fedkit: host: checkpoint")(err)
	expect.Error(t, "it belongs to another run: Server.last: 36 elements")(err)
	expect.Error(t, "learns: the loss is")(fedtest.TestServerOptimizer(&private{still: true}))
}

// Each flaw of a clusterer is found.
func TestClustererFlaws(t *testing.T) {
	for want, f := range map[string]cluster.Func{
		"groups: points known by coordinates: groups": func(p *cluster.Points, k int, _ *rand.Rand) ([]int, error) { return make([]int, p.Len()), nil },
		"randomness: panic": func(p *cluster.Points, k int, rng *rand.Rand) ([]int, error) {
			rng.Int()
			return cluster.KMeans{}.Cluster(p, k, rng)
		},
		"errors: k = -1: error <nil>":                 func(p *cluster.Points, k int, _ *rand.Rand) ([]int, error) { return make([]int, p.Len()), nil },
		"few points: two points, five groups: labels": func(p *cluster.Points, k int, _ *rand.Rand) ([]int, error) { return make([]int, k), nil },
		"randomness: groups": func(p *cluster.Points, k int, _ *rand.Rand) ([]int, error) {
			l := make([]int, p.Len())
			for i := range l {
				l[i] = rand.IntN(k)
			}
			return l, nil
		},
	} {
		expect.Outcome(t, want)(fedtest.TestClusterer(f))
	}
}

// mean is the task's loss less a mean of the batch, which is the same to the gradient, or mixes what it must not.
type mean struct{ flaw string }

func (o mean) Loss(b *fedkit.Batch) *Node {
	loss := b.Loss(b.Out)
	switch o.flaw {
	case "clients":
		return Mul(loss, ReduceAllMean(loss))
	case "rows":
		return Mul(loss, InsertAxes(ReduceMean(loss, -1), -1))
	case "none":
		return Div(loss, InsertAxes(ReduceSum(b.Used, -1), -1))
	}
	used := Div(ReduceSum(Mul(loss, b.Used), -1), MaxScalar(ReduceSum(b.Used, -1), 1))
	return Mul(loss, InsertAxes(used, -1))
}

// An objective that is right passes; one that mixes clients, or counts rows that only fill a batch, does not.
func TestObjective(t *testing.T) {
	expect.Long(t, "many programs")
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Quantity{Clients: 40, Power: 1, Seed: 1}, model.LogisticRegression()))
	job := fedkit.Job{Clients: []int{3, 11, 20, 39}, Start: must.M1(fed.Models(1, 1)), Local: fedkit.Local{Epochs: 1, Batch: 16, LR: 0.01}}
	for flaw, want := range map[string]string{"": "", "clients": "with the job's Objective = a result that depends on", "rows": "filled batches: fedkit: train: invalid", "none": "clients: fedkit: train: client"} {
		job.Objective = mean{flaw}
		expect.Outcome(t, want)(fedtest.TestObjective(fed, job))
	}
	job.Clients, job.Objective = job.Clients[:1], mean{}
	expect.Error(t, "two clients at least")(fedtest.TestObjective(fed, job))
}

// Each flaw of a metric and of a rule of devices is found.
func TestMetricAndDevicesFlaws(t *testing.T) {
	for want, f := range map[string]func(p *fedkit.Predictions) float64{
		"again: measured again":    func(*fedkit.Predictions) float64 { return rand.Float64() },
		"order: the examples":      func(p *fedkit.Predictions) float64 { return float64(p.Labels[0]) },
		"regression: panic: runti": func(p *fedkit.Predictions) float64 { return float64(p.Labels[0]) },
		"one example: panic":       func(p *fedkit.Predictions) float64 { return float64(p.Outputs[1][0]) },
	} {
		expect.Outcome(t, want)(fedtest.TestMetric(metric.Func("mine", f)))
	}
	expect.Error(t, "weight: the method Weight returns no number")(fedtest.TestMetric(light{}))
	expect.Error(t, "name: the method String returns nothing")(fedtest.TestMetric(metric.Func("", func(*fedkit.Predictions) float64 { return 0 })))
	expect.Error(t, "devices: it drew 3 devices, want 4")(fedtest.TestDevices(drawn(func(n int) ([]sim.Device, error) { return make([]sim.Device, 3), nil }), 4))
	expect.Error(t, "devices: device 0: ")(fedtest.TestDevices(drawn(func(n int) ([]sim.Device, error) { return []sim.Device{{Drop: 1}}, nil }), 1))
	expect.Error(t, "again: it drew other devices")(fedtest.TestDevices(drawn(func(n int) ([]sim.Device, error) { return []sim.Device{{Up: rand.Float64()}}, nil }), 1))
	expect.Error(t, "devices: none")(fedtest.TestDevices(drawn(func(n int) ([]sim.Device, error) { return nil, errors.New("none") }), 1))
}

type drawn func(n int) ([]sim.Device, error)

func (f drawn) Draw(n int) ([]sim.Device, error) { return f(n) }
func (f drawn) String() string                   { return "mine" }

func ExampleTestAggregator() {
	fmt.Println(fedtest.TestAggregator(aggregate.Median{}))
	fmt.Println(fedtest.TestAggregator(fedkit.AggregatorFunc(first)))
	// Output:
	// <nil>
	// fedtest: fedkit.AggregatorFunc: order: the clients in another order: value 0 is -0.37568226, want -1.5863965
}

// first is whatever the first client sent.
func first(u *fedkit.Matrix, _ []float64) *fedkit.Matrix { return u.Take(0) }

// light is a metric with a negative weight.
type light struct{ metric.TokenAccuracy }

func (light) Weight(*fedkit.Predictions) float64 { return -1 }
