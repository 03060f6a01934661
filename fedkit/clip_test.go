package fedkit

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/engine"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// taught is a loss with everything that an Objective can have: the task's own, a teacher's outputs, a number per client, and the mean
// of the batch's examples.
type taught struct{}

func (taught) Loss(b *Batch) *graph.Node {
	far := graph.ReduceSum(graph.Square(graph.Sub(b.Out, b.Forward(b.Model("teacher")))), -1) // [C, B]
	n := graph.MaxScalar(graph.ReduceAndKeep(b.Used, graph.ReduceSum, -1), 1)
	b.Report(b.Loss(b.Out))
	return graph.Add(b.Loss(b.Out), graph.Mul(b.Extra("weight"), graph.Div(graph.Mul(far, n), n)))
}

// nothing is a loss whose gradient is 0.
type nothing struct{}

func (nothing) Loss(b *Batch) *graph.Node { return graph.StopGradient(b.Loss(b.Out)) }

// Without noise, clipping to a norm that no gradient has is plain SGD, with an Objective and partial batches too.
func TestClippingNothingIsSGD(t *testing.T) {
	fed, o := toy(t, 3, 17, 8, 1, 12, 5)
	d := o.Dim()
	job := Job{Clients: sequence(6), Start: randomMatrix(5, 6, d), Local: Local{Epochs: 2, Batch: 4, LR: 0.1}, Objective: taught{},
		Extra: map[string]*Matrix{"teacher": randomMatrix(6, 6, d), "weight": NewMatrix([]float32{0, 0.1, 0.2, 0.3, 0.4, 0.5}, 6, 1)}}
	for name, objective := range map[string]Objective{"the task's loss": nil, "an objective": taught{}} {
		job.Objective, job.Local.ClipExamples = objective, 0
		plain := solve(t, fed, 2, job, 1, 1)
		job.Local.ClipExamples = 1e6
		clipped := solve(t, fed, 2, job, 1, 1)
		want, got := rowsOf(t, plain.Models), rowsOf(t, clipped.Models)
		for i := range want {
			if apart := floats.Distance(want[i], got[i], math.Inf(1)); apart > 1e-6 {
				t.Errorf("%s, client %d: %v from plain SGD", name, i, apart)
			}
			if a, b := float64(plain.Results[i].Loss), float64(clipped.Results[i].Loss); math.Abs(a-b) > 1e-6*(1+a) {
				t.Errorf("%s, client %d: loss %v, want %v", name, i, b, a)
			}
		}
	}
}

// The noise of a step is −η z C N(0, I) / n, anew for every client, round and step, whichever clients train beside it and on however many
// workers.
func TestNoiseOfClippedGradients(t *testing.T) {
	const eta, z, c = 0.5, 1.5, 2.0
	sizes := slices.Repeat([]int{3, 4}, 20) // 4 examples, or 3 and a row that fills the batch
	fed, o := toy(t, sizes...)
	job := Job{Clients: sequence(len(sizes)), Start: Zeros(1, o.Dim()), Local: Local{Steps: 1, Batch: 4, LR: eta, ClipExamples: c, Noise: z}, Objective: nothing{}}
	normal := func(u *Updates) (noise []float64) {
		for i, row := range rowsOf(t, u.Delta()) {
			noise = append(noise, floats.ScaleTo(row, -float64(len(fed.Clients[u.Results[i].Client].Train))/(eta*z*c), row)...)
		}
		return noise
	}
	first := solve(t, fed, 1, job, 1, 1)
	noise := normal(first)
	again := normal(solve(t, fed, 2, job, 1, 1))
	if !slices.Equal(noise, again) {
		t.Error("another number of workers draws other noise")
	}
	two := job
	two.Local.Steps = 2
	two.Start = job.Start
	second := normal(solve(t, fed, 1, two, 1, 1))
	floats.Sub(second, noise)
	other := normal(solve(t, fed, 1, job, 1, 2))
	seed := normal(solve(t, fed, 1, job, 2, 1))
	call := func(j Job) []float64 {
		return normal(expect.Value(j.solve(context.Background(), fed, engine.Here(1), 1, 1, 2, nil))(t))
	}
	reused := job
	reused.ReuseBatches = 1
	if !slices.Equal(call(reused), call(job)) || slices.Equal(call(reused), noise) {
		t.Error("another call of a round does not draw noise of its own, whichever batches it has")
	}
	half := len(noise) / 2
	for name, pair := range map[string][2][]float64{"steps": {noise, second}, "rounds": {noise, other}, "seeds": {noise, seed}, "clients": {noise[:half], noise[half:]}} {
		if r := stat.Correlation(pair[0], pair[1], nil); math.Abs(r) > 4/math.Sqrt(float64(len(pair[0]))) {
			t.Errorf("the noise of two %s has a correlation of %v", name, r)
		}
	}
	all := slices.Concat(noise, second, other, seed)
	mean, variance := stat.MeanVariance(all, nil)
	if n := math.Sqrt(float64(len(all))); math.Abs(mean) > 4/n || math.Abs(variance-1) > 4*math.Sqrt2/n || math.Abs(stat.ExKurtosis(all, nil)) > 4*math.Sqrt(24)/n {
		t.Errorf("%d numbers of mean %v, variance %v and excess kurtosis %v, want those of N(0, 1)", len(all), mean, variance, stat.ExKurtosis(all, nil))
	}
	job.Clients = []int{7}
	if alone := normal(solve(t, fed, 1, job, 1, 1)); floats.Distance(alone, noise[7*o.Dim():8*o.Dim()], math.Inf(1)) > 1e-5 {
		t.Error("client 7 draws other noise when it trains alone")
	}
	e := expect.Value(fed.engine())(t)
	fed.lazy.Engine = e.WithWidth(engine.Width{Even: 3, Uneven: 3, Memory: 1 << 20})
	job.Clients = sequence(len(sizes))
	if narrow := normal(solve(t, fed, 1, job, 1, 1)); floats.Distance(narrow, noise, math.Inf(1)) > 1e-5 {
		t.Error("clients draw other noise when fewer train side by side")
	}
}

// What has no gradients of single examples is refused by name.
func TestClippingRefusals(t *testing.T) {
	fed, _ := toy(t, 3, 4)
	with := func(change func(*Task)) *Federation {
		task, other := *fed.Task, *fed
		task.Params = slices.Clone(task.Params)
		change(&task)
		other.Task = &task
		return &other
	}
	clip := Local{Batch: 4, LR: 1, ClipExamples: 1}
	for want, c := range map[string]struct {
		fed   *Federation
		local Local
	}{
		"Noise = 1: must be 0 without ClipExamples":  {fed, Local{Batch: 4, LR: 1, Noise: 1}},
		"ClipExamples = -1: must be":                 {fed, Local{Batch: 4, LR: 1, ClipExamples: -1}},
		"ClipExamples = 1: must be 0 for toy: GoMLX": {with(func(t *Task) { t.Train = func(*Training) func() *graph.Node { return nil } }), clip},
		"ClipExamples = 1: must be 0 for toy: ":      {with(func(t *Task) { t.Params[1].Running = true }), clip},
		"Batch = 4: must be":                         {with(func(t *Task) { t.Params[0].Shape = []int{1 << 40} }), clip},
	} {
		if err := Check(c.local, c.fed, 1); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
