package strategy_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
)

// FedRep in plain Go, with unequal clients and half of them per round.
func TestFedRepAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const rounds, seed = 8, 5
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.05}
	fed := rivals(t, model.MLP(3), uneven...)
	o := solver{fed, oracle.MLP{Sizes: []int{3, 3, 1}, Regression: true}, l, seed}
	d, split := 3*3+3+3+1, 3*3+3 // the last layer is the head
	head, body := make([]float64, d), make([]float64, d)
	for j := range d {
		if j < split {
			body[j] = 1
		} else {
			head[j] = 1
		}
	}
	x := starts(t, fed, seed, 1)[0]
	heads := make([][]float64, fed.Size())
	for i := range heads {
		heads[i] = x[split:]
	}
	s := &strategy.FedRep{HeadEpochs: 3, Local: l, Fraction: 0.5}
	for r := range each(t, fed, s, fedkit.Options{Rounds: rounds, Seed: seed}) {
		next, n := make([]float64, split), 0.0
		for at, i := range r.Clients() {
			w, before := o.train(r.Round, 1, i, 3, append(append([]float64(nil), x[:split]...), heads[i]...), head, nil)
			start := w
			w, steps := o.train(r.Round, 2, i, 1, start, body, nil)
			heads[i] = w[split:]
			size := float64(len(fed.Clients[i].Train))
			floats.AddScaled(next, size, w[:split])
			n += size
			if r.Results[at].Steps != before+steps {
				t.Errorf("round %d, client %d: %d steps, want %d", r.Round, i, r.Results[at].Steps, before+steps)
			}
			if drift := floats.Distance(w, start, 2); math.Abs(float64(r.Results[at].Drift)-drift) > 1e-6+1e-5*drift {
				t.Errorf("round %d, client %d: drift %v, want that of the body, %v", r.Round, i, r.Results[at].Drift, drift)
			}
		}
		floats.Scale(1/n, next)
		copy(x, next)
		sameRows(t, s.State.X.Columns(0, split), [][]float64{x[:split]}, "round %d: body", r.Round)
		sameRows(t, s.State.W.Columns(split, d), heads, "round %d: heads", r.Round)
		travel(t, r, 4*split*len(r.Results), 4*split*len(r.Results)) // the body alone
		if r.Global != nil {
			t.Error("there is no global model")
		}
		// Each client is served the body with its own head, whether it has participated or not.
		for i, c := range fed.Clients {
			in, y := rowsOf(&fed.Data.Test, c.Test)
			loss, _ := o.net.Gradient(append(append([]float64(nil), x[:split]...), heads[i]...), in, y)
			if got := float64(r.Scores[i].Loss); math.Abs(got-loss) > 1e-4*(1e-3+loss) {
				t.Errorf("round %d: client %d is served a model of loss %v, want %v", r.Round, i, got, loss)
			}
		}
	}
}

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
	if rep > 0.02*alone || rep > 0.02*avg {
		t.Errorf("FedRep has a loss of %v on unseen examples, LocalOnly %v, FedAvg %v", rep, alone, avg)
	}
}

// Heads by the names of layers and of parameters.
func TestFedRepKnowsTheLayers(t *testing.T) {
	fed := rivals(t, model.MLP(3), 8, 8)
	for _, c := range []struct {
		head []string
		want int64 // parameters of the body
	}{
		{nil, 12}, {[]string{"dense2"}, 12}, {[]string{"dense1"}, 4}, {[]string{"dense2/biases"}, 15},
		{[]string{"dense1/biases", "dense2"}, 9}, {[]string{}, 16},
	} {
		h := run(t, fed, &strategy.FedRep{Head: c.head, Local: standard}, fedkit.Options{Rounds: 2})
		if got := h.Last().BytesUp; got != 4*2*c.want {
			t.Errorf("head %v: %d bytes up, want %d", c.head, got, 4*2*c.want)
		}
	}
	expect.Invalid(t)(fedkit.Run(context.Background(), fed, &strategy.FedRep{Head: []string{"dense"}}, fedkit.Options{Rounds: 1}))
}
