package examples_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/examples"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A model that was trained on upright digits adapts to turned ones, for a sixth of its bytes.
func ExampleLoRA() {
	upright, m := &strategy.FedAvg{Fraction: 0.5, Local: short}, model.MLP(64)
	after(20, dealt(m), upright)
	turned := partition.Rotations{Of: partition.IID{Clients: 20, Seed: 1}, Degrees: []int{90}}
	fed := must.M1(fedkit.New(datasets.Digits(), turned, examples.LoRA(4, 8, m, must.M1(upright.X.Host()))))
	for _, rounds := range []int{1, 20} {
		h := after(rounds, fed, &strategy.FedAvg{Fraction: 0.5, Local: short})
		fmt.Printf("more than 80 %% right after %d rounds: %v\n", rounds, h.Accuracy() > 0.8)
	}
	fmt.Printf("%d bytes of %d travel\n", fed.Task.Bytes(), 4*must.M1(m(fed.Data)).Dim())
	// Output:
	// more than 80 % right after 1 rounds: false
	// more than 80 % right after 20 rounds: true
	// 3232 bytes of 19240 travel
}

// The server makes a model for each client, for FedAvg's bytes.
func ExamplePFedHN() {
	h := after(40, digits(), &examples.PFedHN{Fraction: 0.5, Local: short})
	fmt.Println("more than 80 % right:", h.Last().Mean().Accuracy > 0.8, "for", h.Last().BytesUp, "bytes per round")
	// Output: more than 80 % right: true for 48400 bytes per round
}

// merged is the given model's parameters with W = W₀ + (α/r) A B, of a row of LoRA's, in float64.
func merged(of, lora *fedkit.Task, row []float64, scale float64) []float64 {
	base, rest := append([]float64(nil), row[:of.Dim()]...), row[of.Dim():]
	added, at := lora.Params[len(of.Params):], 0
	for _, p := range of.Params {
		if n := p.Size(); len(added) > 0 && added[0].Name == p.Name+"/A" {
			a, b := added[0], added[1]
			var ab mat.Dense
			ab.Mul(mat.NewDense(a.Shape[0], a.Shape[1], rest[:a.Size()]), mat.NewDense(b.Shape[0], b.Shape[1], rest[a.Size():a.Size()+b.Size()]))
			floats.AddScaled(base[at:at+n], scale, ab.RawMatrix().Data)
			added, rest = added[2:], rest[a.Size()+b.Size():]
		}
		at += p.Size()
	}
	return base
}

// Untrained, LoRA predicts exactly as its base; trained, as the base with W = W₀ + (α/r) A B, and only A and B have moved. The mean
// of the clients' A times that of their B is not the mean of the products.
func TestLoRA(t *testing.T) {
	const r, alpha = 2, 2.
	plain := digits()
	base := must.M1(plain.Models(1, 5))
	fed := dealt(examples.LoRA(r, alpha, model.MLP(16), must.M1(base.Host())))
	d, d0 := fed.Task.Dim(), plain.Task.Dim()
	start := must.M1(fed.Models(1, 1))
	predict := func(fed *fedkit.Federation, x *fedkit.Matrix) []fedkit.Predictions {
		return expect.Value(fed.Predict(t.Context(), x, datasets.TestPart, []int{0, 1, 2, 3, 4}))(t)
	}
	far := func(a, b []fedkit.Predictions) (most float64) {
		for i, out := range a[0].Outputs {
			for c, v := range out {
				most = max(most, math.Abs(float64(v-b[0].Outputs[i][c])))
			}
		}
		return most
	}
	if off := far(predict(fed, start), predict(plain, base)); off != 0 {
		t.Errorf("untrained, it predicts %v away from its base", off)
	}
	u := expect.Value(fed.Train(t.Context(), fedkit.Job{Clients: []int{0, 1, 2, 3}, Start: start, Local: fedkit.Local{Epochs: 10, Batch: 16, LR: 0.1}}, 1))(t)
	values, before := precision.Double(must.M1(u.Models.Host())), precision.Double(must.M1(start.Host()))
	mean, apart := make([]float64, d0), make([]float64, d) // of the clients' W, and of A and B
	for i := range 4 {
		row := values[i*d : (i+1)*d]
		if !floats.Equal(row[:d0], before[:d0]) {
			t.Error("W₀ has moved")
		}
		floats.AddScaled(mean, 0.25, merged(plain.Task, fed.Task, row, alpha/r))
		floats.AddScaled(apart, 0.25, row)
	}
	one := fedkit.NewMatrix(precision.Single(merged(plain.Task, fed.Task, values[:d], alpha/r)), 1, d0)
	if off := far(predict(fed, u.Models.Take(0)), predict(plain, one)); !(off <= 1e-4) {
		t.Errorf("trained, it predicts %v away from W₀ + (α/r) A B", off)
	}
	off := floats.Distance(mean, merged(plain.Task, fed.Task, apart, alpha/r), 2) / floats.Distance(mean, before[:d0], 2)
	if !(off > 0.03 && off < 0.3) {
		t.Errorf("the product of means is %v of the change away from the mean of products, want about 0.07", off)
	}
	for name, m := range map[string]fedkit.Model{"r, α = 0, 1": examples.LoRA(0, 1, model.MLP(16), nil), "r, α = 1, 0": examples.LoRA(1, 0, model.MLP(16), nil),
		"model = none": examples.LoRA(1, 1, startsItself, nil), "base: parameters = 3": examples.LoRA(1, 1, model.MLP(16), make([]float32, 3))} {
		_, err := m(plain.Data)
		expect.Invalid(t, "LoRA's "+name)(nil, err)
	}
}

// What fedtest asks of a model, of one with running values.
func TestLoRAWithRunningValues(t *testing.T) {
	expect.Long(t, "many programs")
	expect.OK(t, fedtest.TestModel(examples.LoRA(2, 2, model.BatchNormMLP(8), nil)))
}

// startsItself is a model with Init.
func startsItself(*datasets.Dataset) (*fedkit.Task, error) {
	return &fedkit.Task{Name: "none", Init: func(*rand.Rand, []float32) error { return nil }}, nil
}

// hyper is PFedHN's hypernetwork in float64: the model of an embedding v, for U and c [(k+1)h], and W and b [(h+1)d].
func hyper(v, u, w []float64, h int) []float64 {
	layer := func(x, w []float64, out int) []float64 {
		y := make([]float64, out)
		for i, a := range append(append([]float64(nil), x...), 1) {
			floats.AddScaled(y, a, w[i*out:(i+1)*out])
		}
		return y
	}
	z := layer(v, u, h)
	for i := range z {
		z[i] = max(z[i], 0)
	}
	return layer(z, w, len(w)/(h+1))
}

// Four rounds of PFedHN against a replay whose gradients are central differences of θ_iᵀ Δ_i.
func TestPFedHNReplay(t *testing.T) {
	expect.Long(t, "arithmetic")
	d := must.M1(datasets.GaussianMixture{Clients: 3, Groups: 1, Rows: 6, Features: inputs, Classes: classes, Separation: 1.5}.Make())
	fed := must.M1(fedkit.New(d, partition.Dirichlet{Clients: 3, Alpha: 0.5, Seed: 2, MinTrain: 3}, tiny))
	const steps, rate, k, h, alpha, seed = 2, 0.3, 2, 4, 0.7, 4
	o := world{fed, rate}
	s := &examples.PFedHN{Local: fedkit.Local{Steps: steps, Batch: fedkit.FullBatch, LR: rate}, Embedding: k, Hidden: h, Alpha: alpha}
	host := func(m *fedkit.Matrix) []float64 { return precision.Double(must.M1(m.Host())) }
	var v, u, w []float64
	for now, err := range fedkit.Rounds(t.Context(), fed, s, fedkit.Options{Rounds: 4, Seed: seed}) {
		expect.OK(t, err)
		if len(now.Rounds) == 1 { // in which V and U stay, since W is 0
			v, u = host(s.State.V), host(s.State.U)
			w = append(make([]float64, h*fed.Task.Dim()), host(must.M1(fed.Models(1, seed)))...)
		}
		nextV, nextU, nextW := append([]float64(nil), v...), append([]float64(nil), u...), append([]float64(nil), w...)
		for i := range fed.Size() {
			own := v[i*k : (i+1)*k]
			theta := hyper(own, u, w, h)
			delta := floats.SubTo(make([]float64, len(theta)), o.descend(steps, theta, func(w []float64) float64 { return o.loss(i, w) }), theta)
			ascend := func(next, at []float64, step float64, model func(x []float64) []float64) {
				g := fd.Gradient(nil, func(x []float64) float64 { return floats.Dot(model(x), delta) }, at, &fd.Settings{Formula: fd.Central})
				floats.AddScaled(next, step, g)
			}
			ascend(nextV[i*k:(i+1)*k], own, alpha, func(x []float64) []float64 { return hyper(x, u, w, h) })
			ascend(nextU, u, alpha/3, func(x []float64) []float64 { return hyper(own, x, w, h) })
			ascend(nextW, w, alpha/3, func(x []float64) []float64 { return hyper(own, u, x, h) })
		}
		v, u, w = nextV, nextU, nextW
		for name, c := range map[string][2][]float64{"V": {host(s.State.V), v}, "U": {host(s.State.U), u}, "W": {host(s.State.W), w}} {
			if off := floats.Distance(c[0], c[1], math.Inf(1)); !(off <= 1e-5) {
				t.Errorf("round %d: %s is %v away", len(now.Rounds), name, off)
			}
		}
	}
	if floats.Norm(w[:len(w)/(h+1)*h], 2) < 0.01 {
		t.Error("W has not moved")
	}
}
