package fedtest

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
)

// host is federated averaging, in which parts are tested.
type host struct {
	Fraction   float64
	Selector   fedkit.Selector
	Local      fedkit.Local
	Aggregator fedkit.Aggregator
	Server     fedkit.ServerOptimizer
	State      struct {
		X      *fedkit.Matrix
		Memory []*fedkit.Matrix
	}
}

var local = fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}

// Start implements fedkit.Strategy.
func (h *host) Start(r *fedkit.Round) error {
	h.State.X = r.Models(1)
	return r.Err()
}

// Round implements fedkit.Strategy.
func (h *host) Round(r *fedkit.Round) error {
	u := r.Train(fedkit.Job{Clients: r.Select(h.Selector, h.Fraction), Start: h.State.X, Local: h.Local})
	var to *fedkit.Matrix
	if h.Aggregator != nil {
		to = h.Aggregator.Aggregate(u.Models, u.Examples())
	} else {
		to = u.Models.Mean(u.Examples())
	}
	if h.Server != nil {
		step, memory := r.ServerStep(h.Server, to.Sub(h.State.X), h.State.Memory)
		to, h.State.Memory = h.State.X.Add(step), memory
	}
	h.State.X = to
	return r.Err()
}

// Serve implements fedkit.Strategy.
func (h *host) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: h.State.X} }

// labeled is a problem of classes, whose six clients have unequal shares of them.
var labeled = sync.OnceValues(func() (*fedkit.Federation, error) {
	d, err := datasets.GaussianMixture{Clients: 6, Groups: 1, Rows: 24, TestRows: 10, Features: 5}.Make()
	if err != nil {
		return nil, err
	}
	return fedkit.New(d, partition.Dirichlet{Clients: 6, Alpha: 0.5, Seed: 1}, model.MLP())
})

// TestSelector tests a selector with federated averaging on six clients that differ in their labels and numbers of examples,
// and returns an error for everything that does not hold:
//
//   - it chooses different clients, at least one, whether one, three or all are wanted;
//   - the same seed gives the same clients, again and in a run that was interrupted and resumed: it keeps nothing, and draws
//     from the round's generators alone;
//   - the same on devices that are off, late or drop out.
func TestSelector(s fedkit.Selector) error {
	of := func(fraction float64) *host { return &host{Fraction: fraction, Selector: s, Local: local} }
	return hold(s, []trial[fedkit.Selector]{
		{"chooses", func(fedkit.Selector) error {
			fed, err := labeled()
			for _, n := range []float64{1, 3, 6} {
				if err == nil {
					_, err = eight(fed, of(n/6), fedkit.Options{})
				}
			}
			return err
		}},
		{"bytes", func(fedkit.Selector) error {
			fed, err := labeled()
			if err != nil {
				return err
			}
			return again(fed, of(0.5))
		}},
		{"clock", func(fedkit.Selector) error {
			fed, err := labeled()
			if err != nil {
				return err
			}
			return Suite{}.late(fed, of(0.5))
		}},
	})
}

// TestAggregator tests an aggregator, and returns an error for everything that does not hold:
//
//   - of rows that all agree it returns that row, [1, d];
//   - the order of the clients does not matter;
//   - it works without weights, as aggregate.NearestMix calls it, and leaves those that it is given as they are;
//   - federated averaging with it learns on Quadratic, with the same bytes for the same seed, and nothing is compiled after
//     the first round.
func TestAggregator(a fedkit.Aggregator) error {
	if err := hold(a, []trial[fedkit.Aggregator]{{"agreement", agreement}, {"order", order}, {"weights", weights}}); err != nil {
		return err
	}
	h := &host{Aggregator: a, Local: local}
	return hold(a, []trial[fedkit.Aggregator]{
		{"learns", func(fedkit.Aggregator) error { return Suite{Loss: 0.1}.learns(h) }},
		{"bytes", func(fedkit.Aggregator) error { return Suite{}.sameBytes(h) }},
		{"compilations", func(fedkit.Aggregator) error { return Suite{}.compiles(h) }},
	})
}

// rows are what seven clients sent, [7, 5], and their numbers of examples.
func rows() (u *fedkit.Matrix, examples []float64) {
	rng, values := fedkit.Random(1, "rows"), make([]float32, 7*5)
	for i := range values {
		values[i] = float32(rng.NormFloat64())
	}
	return fedkit.NewMatrix(values, 7, 5), []float64{20, 31, 8, 24, 17, 40, 12}
}

func agreement(a fedkit.Aggregator) error {
	u, examples := rows()
	want := u.Take(2)
	return near("rows that agree", a.Aggregate(want.Repeat(7), examples), want)
}

func order(a fedkit.Aggregator) error {
	u, examples := rows()
	want := a.Aggregate(u, slices.Clone(examples))
	slices.Reverse(examples)
	return near("the clients in another order", a.Aggregate(u.Take(6, 5, 4, 3, 2, 1, 0), examples), want)
}

func weights(a fedkit.Aggregator) error {
	u, examples := rows()
	was := slices.Clone(examples)
	if err := a.Aggregate(u, examples).Err(); err != nil {
		return err
	}
	if !slices.Equal(was, examples) {
		return fmt.Errorf("it changed the weights from %v to %v", was, examples)
	}
	if err := caught(func() error { return a.Aggregate(u, nil).Err() }); err != nil {
		return fmt.Errorf("without weights: %w", err)
	}
	return nil
}

// near compares two rows up to the rounding of float32.
func near(what string, got, want *fedkit.Matrix) error {
	if err := errors.Join(got.Err(), want.Err()); err != nil {
		return err
	}
	if got.Rows() != want.Rows() || got.Cols() != want.Cols() {
		return fmt.Errorf("%s: a matrix [%d, %d], want [%d, %d]", what, got.Rows(), got.Cols(), want.Rows(), want.Cols())
	}
	x, err := got.Host()
	y, also := want.Host()
	if err = errors.Join(err, also); err != nil {
		return err
	}
	for i := range x {
		if !(math.Abs(float64(x[i]-y[i])) <= 1e-4*(1+math.Abs(float64(y[i])))) {
			return fmt.Errorf("%s: value %d is %v, want %v", what, i, x[i], y[i])
		}
	}
	return nil
}

// TestServerOptimizer tests a server optimizer, and returns an error for everything that does not hold:
//
//   - for Δ [1, d] it returns a step [1, d], and the same one for the same Δ, memory and round;
//   - with it, 400 rounds of federated averaging learn on Quadratic;
//   - the same seed gives the same bytes, also in a run that was interrupted and resumed: it keeps everything in its memory;
//   - after the second round nothing is compiled.
func TestServerOptimizer(o fedkit.ServerOptimizer) error {
	h := &host{Server: o, Local: local}
	return hold(o, []trial[fedkit.ServerOptimizer]{
		{"step", sameStep},
		{"learns", func(fedkit.ServerOptimizer) error { return Suite{Loss: 0.5}.learns(h) }},
		{"bytes", func(fedkit.ServerOptimizer) error { return Suite{}.sameBytes(h) }},
		{"compilations", func(fedkit.ServerOptimizer) error { return Suite{Warmup: 2}.compiles(h) }},
	})
}

func sameStep(o fedkit.ServerOptimizer) error {
	u, _ := rows()
	delta, next := u.Take(0), u.Take(1)
	step, memory := o.Step(delta, nil, 1)
	if step.Err() == nil && (step.Rows() != 1 || step.Cols() != delta.Cols()) {
		return fmt.Errorf("the step is a matrix [%d, %d], want [1, %d]", step.Rows(), step.Cols(), delta.Cols())
	}
	first, _ := o.Step(next, memory, 2)
	second, _ := o.Step(next, memory, 2)
	return errors.Join(step.Err(), near("the same step again", second, first))
}

// TestMetric tests a metric, and returns an error for everything that does not hold:
//
//   - it has a name;
//   - it is the same number again, and for the same examples in another order;
//   - the weight of a fedkit.WeightedMetric is a number ≥ 0;
//   - one example, and a regression, which has no labels, do not make it panic: a figure that is not defined is NaN.
func TestMetric(m fedkit.Metric) error {
	return hold(m, []trial[fedkit.Metric]{
		{"name", func(fedkit.Metric) error {
			if m.String() == "" {
				return errors.New("the method String returns nothing")
			}
			return nil
		}},
		{"again", func(fedkit.Metric) error {
			want, got := m.Measure(predictions(40, false)), m.Measure(predictions(40, false))
			return sameFigure("measured again", got, want)
		}},
		{"order", func(fedkit.Metric) error {
			return sameFigure("the examples in another order", m.Measure(predictions(40, true)), m.Measure(predictions(40, false)))
		}},
		{"weight", func(fedkit.Metric) error {
			if w, is := m.(fedkit.WeightedMetric); is && !(w.Weight(predictions(40, false)) >= 0) {
				return errors.New("the method Weight returns no number ≥ 0")
			}
			return nil
		}},
		{"one example", func(fedkit.Metric) error { m.Measure(predictions(1, false)); return nil }},
		{"regression", func(fedkit.Metric) error {
			m.Measure(&fedkit.Predictions{Outputs: [][]float32{{1}, {2}}, Targets: []float32{1, 3}})
			return nil
		}},
	})
}

func sameFigure(what string, got, want float64) error {
	if math.Abs(got-want) <= 1e-9*(1+math.Abs(want)) || math.IsNaN(got) && math.IsNaN(want) {
		return nil
	}
	return fmt.Errorf("%s: %v, want %v", what, got, want)
}

// predictions are of n examples of ten classes, of which about half are right.
func predictions(n int, backwards bool) *fedkit.Predictions {
	rng, p := fedkit.Random(1, "predictions"), &fedkit.Predictions{}
	for range n {
		out, label := make([]float32, 10), rng.IntN(10)
		for c := range out {
			out[c] = float32(rng.NormFloat64())
		}
		out[label] += 1.5
		p.Outputs, p.Labels = append(p.Outputs, out), append(p.Labels, int32(label))
	}
	if backwards {
		slices.Reverse(p.Outputs)
		slices.Reverse(p.Labels)
	}
	return p
}

// TestDevices tests a rule of devices for n clients: it draws n devices that are in order, the same ones every time, and
// says what it is in a few words.
func TestDevices(rule sim.Rule, n int) error {
	return hold(rule, []trial[sim.Rule]{
		{"devices", func(sim.Rule) error {
			all, err := rule.Draw(n)
			if err == nil && len(all) != n {
				err = fmt.Errorf("it drew %d devices, want %d", len(all), n)
			}
			for i, d := range all {
				if bad := d.Check(); err == nil && bad != nil {
					err = fmt.Errorf("device %d: %w", i, bad)
				}
			}
			return err
		}},
		{"again", func(sim.Rule) error {
			a, err := rule.Draw(n)
			b, also := rule.Draw(n)
			if err = errors.Join(err, also); err == nil && !reflect.DeepEqual(a, b) {
				err = errors.New("it drew other devices the second time")
			}
			return err
		}},
		{"name", func(sim.Rule) error {
			if rule.String() == "" {
				return errors.New("the method String returns nothing")
			}
			return nil
		}},
	})
}
