package model_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"github.com/gomlx/gomlx/core/graph"
)

// sparse is MLP(32) with dropout in front of its last layer.
func sparse(rate float64) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		t, err := model.MLP(32)(d)
		t.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
			hidden := model.ReLU(model.Dense(model.Flatten(x), p[0], p[1]))
			return model.Dense(model.Dropout(hidden, rate), p[2], p[3])
		}
		return t, err
	}
}

// masked is the model w·dropout(1), with two masks one after the other: see drawsAnew.
func masked(n int, rate float64) fedkit.Model {
	return func(*datasets.Dataset) (*fedkit.Task, error) {
		return &fedkit.Task{Name: "mask", Params: []fedkit.Param{{Name: "w", Shape: []int{2, n}}}, Forward: func(p []*graph.Node, x *graph.Node) *graph.Node {
			x = graph.Stack([]*graph.Node{model.Dropout(x, rate), model.Dropout(x, rate)}, 2) // [C, B, 2, n]
			return graph.ReduceSum(graph.Mul(x, graph.InsertAxes(p[0], 1)), 2, 3)
		}}, nil
	}
}

// Dropout is active in training only, and draws anew for each client, call, round and step. Which clients train beside one changes
// nothing, and the same seed gives the same.
func TestDropout(t *testing.T) {
	const n = 64
	dropoutInTraining(t, digits(t, sparse(0.5)), digits(t, sparse(0)))
	data, rule := ones(2, n)
	drawsAnew(t, 2*n, federation(t, data, rule, masked(n, 0.5)))
}

// The numbers that stay are 1/(1−rate) times what they were, a share of 1−rate. Each layer has a mask of its own, and so has each client,
// alone or beside others, and each example, also if its gradient is clipped.
func TestMasksOfDropout(t *testing.T) {
	const n, clients, rate = 4097, 3, 0.3
	data, rule := ones(2*clients, n)
	given := slices.Clone(rule.(partition.Given))[:clients]
	for i := range given {
		given[i].Train = []int{2 * i, 2*i + 1}
	}
	fed := federation(t, data, given, masked(n, rate))
	job := fedkit.Job{Clients: []int{0, 1, 2}, Local: fedkit.Local{Steps: 1, Batch: 2, LR: 1}, Start: fedkit.Zeros(1, 2*n)}
	train := func() []float32 { return host(t, expect.Value(fed.Train(t.Context(), job, 1))(t).Models) }
	together := train()
	job.Local.ClipExamples = 1e6
	clipped := train()
	job.Local.ClipExamples, job.Clients = 0, []int{1}
	close32(t, "client 1 alone", train(), together[2*n:4*n], 1e-6)
	for name, w := range map[string][]float32{"plain": together, "clipped": clipped} {
		kept := map[string]int{} // by how many of the two examples have the number
		for i, v := range w {    // −∇w is the mean over the examples of what stayed
			k := math.Round(float64(v) * 2 * (1 - rate))
			if math.Abs(float64(v)-k/(2*(1-rate))) > 1e-6 {
				t.Fatalf("%s: number %d is %v, want 0, 1 or 2 times %v", name, i, v, 0.5/(1-rate))
			}
			kept[fmt.Sprint(i/n, " ", k)]++
		}
		for block := range 2 * clients {
			for k, share := range []float64{rate * rate, 2 * rate * (1 - rate), (1 - rate) * (1 - rate)} {
				if got := float64(kept[fmt.Sprint(block, " ", k)]) / n; math.Abs(got-share) > 4*math.Sqrt(share*(1-share)/n) {
					t.Errorf("%s: client %d, mask %d: %d of two examples keep a number at a share of %v, want %v", name, block/2, block%2, k, got, share)
				}
			}
			if name == "plain" {
				for other := range block {
					a, b, both := w[block*n:(block+1)*n], w[other*n:(other+1)*n], 0.0
					for i := range a {
						both += (float64(a[i]) - 1) * (float64(b[i]) - 1) / n
					}
					if variance := rate / (1 - rate) / 2; math.Abs(both) > 4*variance/math.Sqrt(n) {
						t.Errorf("masks %d and %d have a covariance of %v", block, other, both)
					}
				}
			}
		}
	}
}

func TestDropoutRefuses(t *testing.T) {
	for _, rate := range []float64{-0.1, 1, math.NaN()} {
		refused(t, datasets.Digits(), sparse(rate), fmt.Sprintf("model.Dropout: rate = %v: must be in [0, 1)", rate))
	}
	flat := func(d *datasets.Dataset) (*fedkit.Task, error) {
		t, err := model.MLP()(d)
		t.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
			x = model.Flatten(x)
			d := x.Shape().Dimensions
			return model.Dense(graph.Reshape(model.Dropout(graph.Reshape(x, -1, d[2]), 0.5), d...), p[0], p[1])
		}
		return t, err
	}
	refused(t, datasets.Digits(), flat, "model.Dropout: x = (Float32)[6, 64]: must be [2, …]")
}
