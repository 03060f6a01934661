package strategy_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
)

// The problem of the paper's theory (§4): the targets of client i are ⟨h_i, B x⟩, with two features B of twelve inputs
// shared by all, and their own h_i. With eight examples a client cannot find B alone, and one model for all gets h_i
// wrong. FedRep finds both.
func TestFedRepSharesTheBody(t *testing.T) {
	expect.Long(t, "a curve")
	const inputs, each = 12, 8
	rng := rand.New(rand.NewPCG(5, 2))
	normal := func(n int) (v []float64) {
		for range n {
			v = append(v, rng.NormFloat64())
		}
		return v
	}
	b1, b2 := normal(inputs), normal(inputs)
	d := &datasets.Dataset{Name: "shared features", Shape: []int{inputs}}
	var clients partition.Given
	for range 40 {
		var c partition.Client
		h := normal(2)
		for j := range 2 * each {
			part, rows := &d.Train, &c.Train
			if j >= each {
				part, rows = &d.Test, &c.Test
			}
			*rows = append(*rows, part.Len())
			x := normal(inputs)
			for _, v := range x {
				part.Floats = append(part.Floats, float32(v))
			}
			part.Targets = append(part.Targets, float32((h[0]*floats.Dot(b1, x)+h[1]*floats.Dot(b2, x))/math.Sqrt(inputs)))
		}
		clients = append(clients, c)
	}
	fed := expect.Value(fedkit.New(d, clients, func(*datasets.Dataset) (*fedkit.Task, error) {
		return &fedkit.Task{
			Name: "two linear layers",
			Params: []fedkit.Param{
				{Name: "body/weights", Shape: []int{inputs, 2}, Init: model.He(2 * inputs)}, {Name: "body/biases", Shape: []int{2}},
				{Name: "head/weights", Shape: []int{2, 1}, Init: model.He(4)}, {Name: "head/biases", Shape: []int{1}},
			},
			Forward: func(p []*graph.Node, x *graph.Node) *graph.Node {
				return model.Dense(model.Dense(x, p[0], p[1]), p[2], p[3])
			},
		}, nil
	}))(t)
	l := fedkit.Local{Batch: fedkit.FullBatch, LR: 0.1}
	loss := func(s fedkit.Strategy) float64 {
		return float64(run(t, fed, s, fedkit.Options{Rounds: 300, EvalEvery: 300}).Last().Mean().Loss)
	}
	rep, alone, avg := loss(&strategy.FedRep{HeadEpochs: 5, Local: l}), loss(&strategy.LocalOnly{Local: l}), loss(&strategy.FedAvg{Local: l})
	expect.That(t, rep <= 0.02*alone && rep <= 0.02*avg, "FedRep has a loss of %v on unseen examples, LocalOnly %v, FedAvg %v", rep, alone, avg)
}
