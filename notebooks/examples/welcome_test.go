package examples_test

import (
	"math"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/notebooks/examples"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/floats"
)

// host records what its strategy serves unseen clients.
type host struct {
	fedkit.Strategy
	served *fedkit.Serving `config:"-"`
}

func (h *host) Unwrap() fedkit.Strategy { return h.Strategy }

func (h *host) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	*h.served = h.Strategy.(fedkit.UnseenServer).ServeUnseen(r)
	return *h.served
}

// The models served to unseen clients, in float64, with full batches.
func TestWelcome(t *testing.T) {
	const steps, rate, seed = 4, 0.3, 4
	d := must.M1(datasets.GaussianMixture{Clients: 4, Groups: 1, Rows: 8, Features: inputs, Classes: classes, Separation: 1.5}.Make())
	deal := partition.Dirichlet{Clients: 4, Alpha: 0.5, Seed: 2, MinTrain: 3}
	fed, twins := must.M1(fedkit.New(d, deal, tiny)), must.M1(fedkit.New(d, deal, examples.Twin(tiny)))
	fed, twins = must.M1(fed.HoldOut(2, 1)), must.M1(twins.HoldOut(2, 1))
	l := fedkit.Local{Steps: steps, Batch: fedkit.FullBatch, LR: rate}
	o, dim := world{fed.Unseen, rate}, fed.Task.Dim()
	head := (inputs + 1) * hidden // its offset
	first := oracle.Double(must.M1(must.M1(fed.Models(1, seed)).Host()))

	ditto, apfl := &examples.Ditto{Local: l, Lambda: 0.5}, &examples.APFL{Local: l, Alpha: 0.3}
	envelope := &examples.PFedMe{Local: l, Rounds: 1, Lambda: 0.5}
	partial, rep := &examples.Partial{Local: l, Personal: []string{"dense2"}}, &strategy.FedRep{Local: l}
	ownHead := func(i int, x []float64) []float64 {
		h := o.descend(10*steps, first[head:], func(h []float64) float64 { return o.loss(i, slices.Concat(x[:head], h)) })
		return slices.Concat(x[:head], h)
	}
	for _, c := range []struct {
		s    fedkit.Strategy
		x    func() *fedkit.Matrix
		want func(i int, x []float64) []float64
	}{
		{ditto, func() *fedkit.Matrix { return ditto.State.X }, func(i int, x []float64) []float64 {
			return o.descend(steps, x, func(v []float64) float64 { return o.loss(i, v) + 0.5/2*math.Pow(floats.Distance(v, x, 2), 2) })
		}},
		{envelope, func() *fedkit.Matrix { return envelope.State.X }, func(i int, x []float64) []float64 {
			return o.descend(steps, x, func(v []float64) float64 { return o.loss(i, v) + 0.5/2*math.Pow(floats.Distance(v, x, 2), 2) })
		}},
		{apfl, func() *fedkit.Matrix { return apfl.State.X }, func(i int, x []float64) []float64 {
			mixed := func(v, w []float64) []float64 {
				return floats.AddScaledTo(make([]float64, dim), floats.ScaleTo(make([]float64, dim), 0.3, v), 0.7, w)
			}
			v, w := x, x
			for range steps {
				v = o.descend(1, v, func(v []float64) float64 { return o.loss(i, mixed(v, w)) })
				w = o.descend(1, w, func(w []float64) float64 { return o.loss(i, w) })
			}
			return mixed(v, x)
		}},
		{partial, func() *fedkit.Matrix { return partial.State.X }, ownHead},
		{rep, func() *fedkit.Matrix { return rep.State.X }, ownHead},
	} {
		in := fed
		if c.s == apfl {
			in = twins
		}
		s := &host{c.s, &fedkit.Serving{}}
		run(t, in, s, fedkit.Options{Rounds: 2, Seed: seed, EvalEvery: 2})
		x, served := oracle.Double(must.M1(c.x().Host())), s.served.Models.Take(s.served.Assign...)
		for i := range fed.Unseen.Size() {
			got, want := oracle.Double(must.M1(served.Take(i).Host()))[:dim], c.want(i, x[:dim])
			if !(floats.Distance(got, want, math.Inf(1)) <= 1e-4) {
				t.Errorf("%T: unseen client %d has the model %v, want %v", c.s, i, got, want)
			}
		}
	}
}
