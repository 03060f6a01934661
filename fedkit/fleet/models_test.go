package fleet_test

import (
	"bytes"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/examples"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	mlmodel "github.com/gomlx/gomlx/ml/model"
)

// withDropout is a model as in a notebook cell: a GoMLX function with its own variables and random bits.
func withDropout(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
	x = graph.Reshape(x, x.Shape().Dimensions[0], -1)
	x = graph.Tanh(layers.Dense(scope.In("hidden"), x, true, 32))
	x = layers.DropoutStatic(scope, x, 0.5)
	return layers.Dense(scope.In("out"), x, true, 10)
}

// large is the digits with every pixel four times, [16, 16, 1].
func large() *datasets.Dataset {
	d := *datasets.Digits()
	d.Name, d.Shape = "large digits", []int{16, 16, 1}
	for _, s := range []*datasets.Split{&d.Train, &d.Test} {
		var pixels []uint8
		for i := range s.Len() {
			for at := range 16 * 16 {
				pixels = append(pixels, s.Bytes[64*i+at/32*8+at%16/2])
			}
		}
		s.Bytes = pixels
	}
	return &d
}

// twice is the digits with two labels each: the digit and, if it is odd, its half.
func twice() *datasets.Dataset {
	d := *datasets.Digits()
	d.Name = "digits and halves"
	for _, s := range []*datasets.Split{&d.Train, &d.Test} {
		var labels []int32
		for _, y := range s.Labels {
			half := int32(-1)
			if y%2 == 1 {
				half = y / 2
			}
			labels = append(labels, y, half)
		}
		s.Labels, s.Width = labels, 2
	}
	return &d
}

// Models with convolutions, with variables and random bits, or with their own objective and metrics, validation rows and several
// labels per example are the same on a fleet: a worker knows none of them.
func TestEveryModel(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	f, small := local(t, 2), datasets.Digits()
	l := fedkit.Local{Batch: 16, LR: 0.1}
	for name, c := range map[string]struct {
		data *datasets.Dataset
		fedkit.Model
		fedkit.Strategy
	}{
		"convolutions": {large(), model.LeNet(), &strategy.FedAvg{Fraction: 0.5, Local: l}},
		"dropout":      {small, model.GoMLX("dropout", withDropout), &strategy.FedRep{Fraction: 0.5, Local: l}},
		"objective":    {small, model.MLP(16), &examples.MOON{Fraction: 0.5, Local: l}},
		"distillation": {small, model.MLP(16), &examples.Distill{Fraction: 0.5, Local: l}},
		"mixture":      {small, model.MLP(16), &examples.FedEM{Fraction: 0.5, Local: l}},
		"features":     {small, model.MLP(16), &examples.FedProto{Fraction: 0.5, Local: l, Layer: "dense1"}},
		"server":       {small, model.MLP(16), &examples.FedDF{Fraction: 0.5, Local: l, Distill: l}},
		"momentum":     {small, model.MLP(), &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1, Optimizer: fedkit.Momentum{Beta: 0.9}}}},
		"validation":   {twice(), model.MLP(16), &examples.FedFomo{Fraction: 0.5, Local: l}},
	} {
		var rule partition.Rule = partition.Dirichlet{Clients: 24, Alpha: 1}
		if name == "validation" {
			rule = partition.Validation{Of: partition.ByTarget{Of: rule}}
		}
		fed, err := fedkit.New(c.data, rule, c.Model)
		if err == nil && name == "server" {
			fed, err = fed.WithServer(fedkit.Server{Draw: 100})
		}
		if err != nil {
			t.Fatal(name, err)
		}
		var both [][]byte
		for _, on := range []fedkit.Machines{nil, f} {
			s, err := fedkit.Clone(c.Strategy)
			if err != nil {
				t.Fatal(name, err)
			}
			h, err := fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 2, Seed: 3, Metrics: []fedkit.Metric{metric.MacroF1{}}, Fleet: on})
			if err != nil {
				t.Fatal(name, err)
			}
			outcome, err := fedtest.Outcome(s, h)
			if err != nil {
				t.Fatal(name, err)
			}
			both = append(both, outcome)
		}
		if !bytes.Equal(both[0], both[1]) {
			t.Errorf("%s: other bytes than without a fleet", name)
		}
	}
}
