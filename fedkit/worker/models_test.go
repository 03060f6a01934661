package worker_test

import (
	"bytes"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/notebooks/examples"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	mlmodel "github.com/gomlx/gomlx/ml/model"
)

// own is a model as in a notebook cell: a GoMLX function with its own convolution, variables and random bits.
func own(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
	x = layers.Convolution(scope.In("filters"), graph.Reshape(x, -1, 8, 8, 1)).Channels(4).KernelSize(3).Strides(2).Done()
	x = layers.DropoutStatic(scope, graph.Tanh(graph.Reshape(x, x.Shape().Dimensions[0], -1)), 0.5)
	return layers.Dense(scope.In("out"), x, true, 10)
}

// Models with convolutions, variables and random bits, or with their own objective and metrics, validation rows and data of the server
// are the same on workers, which know none of them.
func TestEveryModel(t *testing.T) {
	expect.Long(t, "many runs")
	w, l := local(t, 1), fedkit.Local{Batch: 16, LR: 0.1}
	device, hardware, err := w.Device() // which tell stored runs apart
	expect.OK(t, err)
	expect.That(t, device == xla.Device() && hardware == xla.Hardware(), "workers are %q on %q, this process %q on %q", device, hardware, xla.Device(), xla.Hardware())
	for name, c := range map[string]struct {
		fedkit.Model
		fedkit.Strategy
	}{
		"own":          {model.GoMLX("own", own), &strategy.FedRep{Fraction: 0.5, Local: l}},
		"convolutions": {model.EMNISTCNN(), &strategy.FedAvg{Fraction: 0.25, Local: l}},
		"objective":    {model.MLP(16), &examples.MOON{Fraction: 0.5, Local: l}},
		"mixture":      {model.MLP(16), &examples.FedEM{Fraction: 0.5, Local: l}},
		"server":       {model.MLP(16), &examples.FedDF{Fraction: 0.5, Local: l, Distill: l}},
		"validation":   {model.MLP(16), &examples.FedFomo{Fraction: 0.5, Local: l}},
	} {
		fed, err := fedkit.New(datasets.Digits(), partition.Validation{Of: partition.Dirichlet{Clients: 24, Alpha: 1}}, c.Model)
		if err == nil && name == "server" {
			fed, err = fed.WithServer(fedkit.Server{Draw: 100})
		}
		expect.OK(t, err)
		var want []byte
		for _, o := range []fedkit.Options{{}, {Workers: w}, {Concurrency: 1}, {Concurrency: 8}} {
			s := expect.Value(fedkit.Clone(c.Strategy))(t)
			o.Rounds, o.Seed, o.Metrics = 2, 3, []fedkit.Metric{metric.MacroF1{}}
			got := expect.Value(fedtest.Outcome(s, expect.Value(fedkit.Run(t.Context(), fed, s, o))(t)))(t)
			expect.That(t, want == nil || bytes.Equal(got, want), "%s: other bytes with workers %v, %d in flight", name, o.Workers, o.Concurrency)
			want = got
		}
	}
}
