package strategy_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

// weighted returns a copy of a strategy with a Weighting; nil without that option.
func weighted(s fedkit.Strategy, by strategy.Weighting) fedkit.Strategy {
	v := reflect.New(reflect.TypeOf(s).Elem())
	v.Elem().Set(reflect.ValueOf(s).Elem())
	f := v.Elem().FieldByName("Weighting")
	if !f.IsValid() {
		return nil
	}
	f.Set(reflect.ValueOf(&by).Elem())
	return v.Interface().(fedkit.Strategy)
}

func bySize(s fedkit.ClientResult) float64 { return 3 * float64(s.Examples) }

func alike(w float64) strategy.Weighting {
	return strategy.WeightingFunc(func(fedkit.ClientResult) float64 { return w })
}

// Every strategy with a weighted mean has the option. Its default is the one that its comment names, and a custom weighting is as
// good as a built-in one.
func TestWeightings(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	without := []string{
		"FedMedian", // a median has no weights
		"FedAsync",  // one result at a time
		"FedSplit",  // weights are in the objectives, and x is the plain mean of z
		"LocalOnly", // no mean
	}
	equally := []string{"SCAFFOLD", "CCFL", "FedBuff", "FedPRISM", "IFCA", "LCFL", "FeSEM", "FedAC", "AdaptiveClustering"} // by default
	same, different := quadratic(t, even...), quadratic(t, uneven...)
	moved := map[string]bool{}
	for name, s := range all() {
		kind, _, _ := strings.Cut(name, ",")
		if weighted(s, nil) == nil {
			expect.That(t, slices.Contains(without, kind), "%s has no Weighting", name)
			continue
		}
		outcome := func(fed *fedkit.Federation, by strategy.Weighting) []byte {
			s := weighted(s, by)
			b := expect.Value(fedtest.Outcome(s, run(t, on(fed, s), s, fedkit.Options{Rounds: 3, EvalEvery: 3, Seed: 5})))(t)
			return b
		}
		usual, equal, examples := outcome(different, nil), outcome(different, strategy.Equal{}), outcome(different, strategy.ByExamples{})
		custom := outcome(different, strategy.WeightingFunc(bySize))
		expect.That(t, bytes.Equal(custom, examples), "%s: a custom weighting by examples differs from ByExamples", name)
		if slices.Contains(equally, kind) {
			examples, equal = equal, examples
		}
		if moved[kind] = moved[kind] || !bytes.Equal(equal, examples); !bytes.Equal(usual, examples) {
			t.Errorf("%s: the default is another than documented", name)
		}
		expect.That(t, bytes.Equal(outcome(same, strategy.Equal{}), outcome(same, strategy.ByExamples{})),
			"%s: Equal and ByExamples differ on clients of one size", name)
		_, err := fedkit.Run(context.Background(), on(same, s), weighted(s, alike(math.NaN())), fedkit.Options{Rounds: 3})
		want := "invalid: Weighting of client "
		expect.That(t, errors.Is(err, fedkit.ErrInvalid) && strings.Contains(err.Error(), want),
			"%s: error %v, want one with %q", name, err, want)
	}
	for kind, m := range moved {
		expect.That(t, m || kind == "FedOpt", "%s: weights change nothing", kind) // there with a median
	}
}

func TestWeightsThatAreRefused(t *testing.T) {
	for want, w := range map[string]float64{
		"Weighting of client 0 = -1: must be a finite number ≥ 0":   -1,
		"Weighting of client 0 = +Inf: must be a finite number ≥ 0": math.Inf(1),
		"sum of Weighting = 0: must be a finite number > 0":         0,
		"sum of Weighting = +Inf: must be a finite number > 0":      math.MaxFloat64,
	} {
		_, err := fedkit.Run(context.Background(), quadratic(t, even...), &strategy.FedAvg{Local: standard, Weighting: alike(w)}, fedkit.Options{Rounds: 1})
		expect.That(t, errors.Is(err, fedkit.ErrInvalid) && strings.HasSuffix(err.Error(), "invalid: "+want), "error %v, want %s", err, want)
	}
	first := strategy.WeightingFunc(func(s fedkit.ClientResult) float64 { return float64(1 - min(1, s.Client)) })
	_, err := fedkit.Run(context.Background(), quadratic(t, even...), &strategy.FedAC{K: 3, Fixed: true, Local: standard, Weighting: first}, fedkit.Options{Rounds: 1})
	expect.That(t, err != nil && strings.Contains(err.Error(), "invalid: sum of Weighting in cluster "), "error %v", err)
	s := &strategy.AdaptiveClustering{AsPublished: true, Weighting: strategy.Equal{}}
	if err := fedkit.Check(s, quadratic(t, even...), 6); err == nil || !strings.Contains(err.Error(), "Weighting = strategy.Equal: must be nil if AsPublished is set") {
		t.Errorf("error %v", err)
	}
}

// SCAFFOLD's c stays the weighted mean of all c_i, whoever takes part.
func TestWeightedControlVariates(t *testing.T) {
	s := &strategy.SCAFFOLD{Fraction: 0.5, Weighting: strategy.ByExamples{}, Local: standard}
	run(t, quadratic(t, uneven...), s, fedkit.Options{Rounds: 5})
	mean := make([]float64, 5)
	for i, ci := range host(t, s.State.Ci) {
		floats.AddScaled(mean, float64(uneven[i])/140, ci)
	}
	c := host(t, s.State.C)[0]
	expect.That(t, agree(c, mean), "c is %v, want %v", c, mean)
}

// An Aggregator gets the weights, those of a function too.
func TestAggregatorsGetTheWeights(t *testing.T) {
	p, got := []float64{1, 0, 3, 2, 0.5, 0.25}, []float64(nil)
	s := &strategy.FedAvg{Local: standard, Weighting: strategy.WeightingFunc(func(s fedkit.ClientResult) float64 { return p[s.Client] }),
		Aggregator: fedkit.AggregatorFunc(func(u *fedkit.Matrix, weights []float64) *fedkit.Matrix { got = weights; return u.Mean(weights) })}
	run(t, quadratic(t, uneven...), s, fedkit.Options{Rounds: 1, Seed: 5})
	expect.That(t, slices.Equal(got, p), "weights %v, want %v", got, p)
	other := &strategy.FedAvg{Local: standard, Weighting: s.Weighting}
	run(t, quadratic(t, uneven...), other, fedkit.Options{Rounds: 1, Seed: 5})
	sameRows(t, other.X, host(t, s.X), "x without an aggregator")
}
