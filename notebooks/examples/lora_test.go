package examples_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/notebooks/examples"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// gentle is local work for LoRA whose A is new, or orthonormal, in each round: steps of A B grow with ‖A‖².
var gentle = fedkit.Local{Epochs: 2, Batch: 16, LR: 0.03}

// turned are digits turned by 90° for a model that adapts one of upright ones by matrices of rank 4.
func turned(lora func(r int, alpha float64, of fedkit.Model, base []float32) fedkit.Model) *fedkit.Federation {
	rule := partition.Rotations{Of: partition.IID{Clients: 20, Seed: 1}, Degrees: []int{90}}
	return must.M1(fedkit.New(datasets.Digits(), rule, lora(4, 8, model.MLP(64), upright())))
}

// With A as it was drawn, the mean of the clients' B is exact, for less than half of LoRA's bytes.
func ExampleFFALoRA() {
	for _, lora := range []func(int, float64, fedkit.Model, []float32) fedkit.Model{examples.LoRA, examples.FFALoRA} {
		fed := turned(lora)
		h := after(20, fed, &strategy.FedAvg{Fraction: 0.5, Local: short})
		fmt.Printf("more than 60 %% right: %v, for %d bytes\n", h.Accuracy() > 0.6, fed.Task.Bytes())
	}
	// Output:
	// more than 60 % right: true, for 3232 bytes
	// more than 60 % right: true, for 1184 bytes
}

// The product of FedIT's means is further from the mean of the products if clients train longer.
func ExampleLoRADistance() {
	fed := turned(examples.LoRA)
	start := must.M1(fed.Models(1, 0))
	var far []float64
	for _, epochs := range []int{1, 20} {
		u := must.M1(fed.Train(context.Background(), fedkit.Job{Clients: []int{0, 1, 2, 3}, Start: start, Local: fedkit.Local{Epochs: epochs, Batch: 16, LR: 0.1}}, 1))
		far = append(far, must.M1(examples.LoRADistance(fed.Task, u.Models, u.Examples()))["dense1/weights"])
	}
	fmt.Println("more than 2 % after an epoch:", far[0] > 0.02, "and more than 4 % after twenty:", far[1] > 0.04)
	// Output: more than 2 % after an epoch: true and more than 4 % after twenty: true
}

// The server averages the products, and sends their best approximation of rank 4.
func ExampleFlexLoRA() {
	h := after(20, turned(examples.LoRA), &examples.FlexLoRA{Fraction: 0.5, Local: gentle})
	fmt.Println("more than 80 % right:", h.Accuracy() > 0.8, "for", h.Last().BytesUp, "bytes per round")
	// Output: more than 80 % right: true for 32320 bytes per round
}

// Exact, but each of the 20 clients receives what ten have sent.
func ExampleFLoRA() {
	h := after(20, turned(examples.LoRA), &examples.FLoRA{Fraction: 0.5, Local: gentle})
	fmt.Println("more than 80 % right:", h.Accuracy() > 0.8, "for", h.Last().BytesUp, "bytes up and", h.Last().BytesDown, "down per round")
	// Output: more than 80 % right: true for 32320 bytes up and 646400 down per round
}

// Every second client trains rank 1 of 4, and sends a quarter.
func ExampleHetLoRA() {
	ranks := make(examples.Ranks, 20)
	for c := range ranks {
		ranks[c] = []int{1, 4}[c%2]
	}
	h := after(20, turned(examples.LoRA), &examples.HetLoRA{Ranks: ranks, Fraction: 0.5, Local: short})
	fmt.Println("more than 60 % right:", h.Accuracy() > 0.6, "for at most", 10*3232, "bytes per round:", h.Last().BytesUp < 10*3232)
	// Output: more than 60 % right: true for at most 32320 bytes per round: true
}

// lowRank is a federation with LoRA of an MLP [64, 16, 10], its base, and four clients' models after a round of FedAvg.
func lowRank(t *testing.T, r int, alpha float64, lora func(int, float64, fedkit.Model, []float32) fedkit.Model) (fed, plain *fedkit.Federation, u *fedkit.Updates) {
	t.Helper()
	data, rule := datasets.Digits(), partition.Dirichlet{Clients: 4, Alpha: 0.3, Seed: 1}
	plain = must.M1(fedkit.New(data, rule, model.MLP(16)))
	fed = must.M1(fedkit.New(data, rule, lora(r, alpha, model.MLP(16), must.M1(must.M1(plain.Models(1, 5)).Host()))))
	start := must.M1(fed.Models(1, lowSeed))
	return fed, plain, expect.Value(fed.Train(t.Context(), fedkit.Job{Clients: []int{0, 1, 2, 3}, Start: start, Local: lowLocal}, lowSeed))(t)
}

const lowSeed = 3

var lowLocal = fedkit.Local{Epochs: 3, Batch: 16, LR: 0.03}

// meanOf is the weighted mean of the clients' merged models, and merged the server's, in float64.
func meanOf(fed, plain *fedkit.Federation, u *fedkit.Updates, scale float64) []float64 {
	rows, mean := oracle.Double(must.M1(u.Models.Host())), make([]float64, plain.Task.Dim())
	for i, row := range slices.Collect(slices.Chunk(rows, fed.Task.Dim())) {
		floats.AddScaled(mean, u.Examples()[i]/floats.Sum(u.Examples()), merged(plain.Task, fed.Task, row, scale))
	}
	return mean
}

// With FFALoRA the server's model is the clients' mean; FedIT's is not, by the distance that LoRADistance tells.
func TestFFALoRA(t *testing.T) {
	for _, c := range []struct {
		lora func(int, float64, fedkit.Model, []float32) fedkit.Model
		far  bool
	}{{examples.FFALoRA, false}, {examples.LoRA, true}} {
		fed, plain, u := lowRank(t, 2, 6, c.lora)
		mean, x := meanOf(fed, plain, u, 3), must.M1(u.Models.Mean(u.Examples()).Host())
		got := merged(plain.Task, fed.Task, oracle.Double(x), 3)
		before := oracle.Double(must.M1(must.M1(plain.Models(1, 5)).Host()))
		distances := expect.Value(examples.LoRADistance(fed.Task, u.Models, u.Examples()))(t)
		at := 0
		for _, p := range plain.Task.Params {
			part := func(v []float64) []float64 { return v[at : at+p.Size()] }
			off := floats.Distance(part(got), part(mean), 2) / floats.Distance(part(mean), part(before), 2)
			if told, ok := distances[p.Name]; ok {
				expect.That(t, math.Abs(off-told) <= 1e-5 && told > 0.01 == c.far && (c.far || told <= 1e-12),
					"%s of %s: the means are %v of the change away, and %v by LoRADistance", p.Name, fed.Task.Name, off, told)
			}
			at += p.Size()
		}
		expect.That(t, len(distances) == 2, "distances %v, want those of two matrices", distances)
		bytes := map[bool]int{true: 4 * 2 * (64 + 16 + 16 + 10), false: 4 * 2 * (16 + 10)}[c.far]
		expect.That(t, fed.Task.Bytes() == bytes, "%s: %d bytes, want %d", fed.Task.Name, fed.Task.Bytes(), bytes)
	}
}

// FlexLoRA's products are the best of their rank: what is missing are the further singular values of the mean. At full rank, none is.
func TestFlexLoRA(t *testing.T) {
	for _, r := range []int{2, 16} {
		fed, plain, u := lowRank(t, r, float64(r), examples.LoRA)
		s := &examples.FlexLoRA{Local: lowLocal}
		run(t, fed, s, fedkit.Options{Rounds: 1, Seed: lowSeed})
		before := oracle.Double(must.M1(must.M1(plain.Models(1, 5)).Host()))
		got, want := merged(plain.Task, fed.Task, oracle.Double(must.M1(s.X.Host())), 1), meanOf(fed, plain, u, 1)
		at := 0
		for _, p := range plain.Task.Params {
			if len(p.Shape) == 2 {
				change := mat.NewDense(p.Shape[0], p.Shape[1], floats.SubTo(make([]float64, p.Size()), want[at:at+p.Size()], before[at:at+p.Size()]))
				var svd mat.SVD
				svd.Factorize(change, mat.SVDNone)
				values := svd.Values(nil)
				missing := floats.Norm(values[min(r, len(values)):], 2)
				off := floats.Distance(got[at:at+p.Size()], want[at:at+p.Size()], 2)
				expect.That(t, math.Abs(off-missing) <= 1e-5*floats.Norm(values, 2) && (r != 2 || missing >= 0.01*values[0]),
					"rank %d: %s is %v away from the mean, want %v", r, p.Name, off, missing)
			}
			at += p.Size()
		}
	}
}

// FLoRA's W₀ is the clients' mean, with a new A and B = 0; its bytes are those of the stacks.
func TestFLoRA(t *testing.T) {
	fed, plain, u := lowRank(t, 2, 6, examples.LoRA)
	s := &examples.FLoRA{Local: lowLocal}
	h := run(t, fed, s, fedkit.Options{Rounds: 2, Seed: lowSeed, EvalEvery: 1})
	one := &examples.FLoRA{Local: lowLocal}
	run(t, fed, one, fedkit.Options{Rounds: 1, Seed: lowSeed})
	x, d0 := oracle.Double(must.M1(one.X.Host())), plain.Task.Dim()
	want := meanOf(fed, plain, u, 3)
	if off := floats.Distance(x[:d0], want, math.Inf(1)); !(off <= 1e-6) {
		t.Errorf("W₀ is %v away from the mean", off)
	}
	off := floats.Distance(merged(plain.Task, fed.Task, x, 3), x[:d0], math.Inf(1))
	expect.That(t, off == 0, "the new A B is %v, want 0", off)
	first := oracle.Double(must.M1(must.M1(fed.Models(1, lowSeed)).Host()))
	a := 64 * 2
	expect.That(t, !floats.Equal(x[d0:d0+a], first[d0:d0+a]) && floats.Norm(x[d0:d0+a], 2) != 0, "A is not drawn again")
	bytes := int64(fed.Task.Bytes())
	for i, want := range []int64{4 * (int64(4*fed.Task.Dim()) + 4*bytes), 4 * 4 * bytes} {
		r := h.Rounds[i]
		expect.That(t, r.BytesDown == want && r.BytesUp == 4*bytes,
			"round %d: %d bytes down and %d up, want %d and %d", i+1, r.BytesDown, r.BytesUp, want, 4*bytes)
	}
}

// Clients with a rank of their own train, send and receive that many columns of A and rows of B, and are averaged as they say: HetLoRA
// by how far they have moved, FlexLoRA and FLoRA as the mean of what they trained. A rank of r for all is none.
func TestRanks(t *testing.T) {
	const r = 3
	ranks := examples.Ranks{1, 3, 2, 1}
	fed, plain, _ := lowRank(t, r, r, examples.LoRA)
	base, d, d0 := oracle.Double(must.M1(must.M1(plain.Models(1, 5)).Host())), fed.Task.Dim(), plain.Task.Dim()
	var mask []float32
	for _, ri := range ranks {
		for _, p := range fed.Task.Params {
			width := append([]int{1}, p.Shape...)[len(p.Shape)]
			for i := range p.Size() {
				column, isA := i%width, strings.HasSuffix(p.Name, "/A")
				row, isB := i/width, strings.HasSuffix(p.Name, "/B")
				mask = append(mask, map[bool]float32{true: 1}[!(isA && column >= ri || isB && row >= ri)])
			}
		}
	}
	kept := fedkit.NewMatrix(mask, 4, d)
	start := must.M1(fed.Models(1, lowSeed)).Repeat(4).Mul(kept)
	u := expect.Value(fed.Train(t.Context(), fedkit.Job{Clients: []int{0, 1, 2, 3}, Start: start, Mask: kept, Local: lowLocal}, lowSeed))(t)
	after := func(s fedkit.Strategy, x **fedkit.Matrix) (row []float64, up, down int64) {
		h := run(t, fed, s, fedkit.Options{Rounds: 1, Seed: lowSeed})
		return oracle.Double(must.M1((*x).Host())), h.Last().BytesUp, h.Last().BytesDown
	}
	near := func(name string, got, want []float64, most float64) {
		t.Helper()
		off := floats.Distance(got, want, math.Inf(1))
		expect.That(t, off <= most, "%s is %v away", name, off)
	}

	rows := oracle.Double(must.M1(u.Models.Host()))
	weights, want := make([]float64, 4), make([]float64, d)
	for i := range weights { // the whole change is that of the products
		weights[i] = floats.Distance(merged(plain.Task, fed.Task, rows[i*d:(i+1)*d], 1), base, 2)
	}
	for i := range weights {
		floats.AddScaled(want, weights[i]/floats.Sum(weights), rows[i*d:(i+1)*d])
	}
	het := &examples.HetLoRA{Ranks: ranks, Local: lowLocal}
	x, up, down := after(het, &het.X)
	near("HetLoRA's model", x, want, 1e-6)
	part, once := int64(fed.Task.Bytes()*(1+3+2+1)/r), int64(4*(4*d-fed.Task.Bytes()))
	expect.That(t, up == part && down == part+once, "HetLoRA: %d bytes up and %d down, want %d and %d", up, down, part, part+once)
	flora := &examples.FLoRA{Ranks: ranks, Local: lowLocal}
	x, up, down = after(flora, &flora.X)
	near("FLoRA's W₀", x[:d0], meanOf(fed, plain, u, 1), 1e-6)
	stacked := 4 * part
	expect.That(t, up == part && down == stacked+4*int64(4*d),
		"FLoRA: %d bytes up and %d down, want %d and %d", up, down, part, stacked+4*int64(4*d))
	flex, all := &examples.FlexLoRA{Ranks: examples.Ranks{r, r, r, r}, Local: lowLocal}, &examples.FlexLoRA{Local: lowLocal}
	x, _, _ = after(flex, &flex.X)
	want, _, _ = after(all, &all.X)
	near("FlexLoRA's model with r for all", x, want, 1e-5)
	flex.Ranks = ranks
	x, up, _ = after(flex, &flex.X)
	m := meanOf(fed, plain, u, 1)
	expect.That(t, up == part && floats.Distance(merged(plain.Task, fed.Task, x, 1), m, 2) <= 0.5*floats.Distance(base, m, 2),
		"FlexLoRA: %d bytes up, want %d, or it is far from the mean", up, part)
	equal := &examples.HetLoRA{Local: fedkit.Local{Steps: 1, Batch: 16, LR: fedkit.Zero}}
	if x, _, _ = after(equal, &equal.X); floats.HasNaN(x) {
		t.Error("HetLoRA of clients that do not move is NaN")
	}
}

func TestLoRARefusals(t *testing.T) {
	plain, one := digits(), fedkit.Options{Rounds: 1}
	for _, s := range []fedkit.Strategy{&examples.FlexLoRA{}, &examples.FLoRA{}, &examples.HetLoRA{}} {
		expect.Invalid(t, "model = MLP-16: must be one of examples.LoRA")(fedkit.Run(t.Context(), plain, s, one))
	}
	fed := dealt(examples.LoRA(1, 1, model.MLP(4), nil))
	expect.Invalid(t, "model = MLP-16: must be one of examples.LoRA")(examples.LoRADistance(plain.Task, fedkit.Zeros(1, 1), nil))
	expect.Invalid(t, "models = [1, 3]: must be [n, ")(examples.LoRADistance(fed.Task, fedkit.Zeros(1, 3), []float64{1}))
	expect.Invalid(t, "weights = nil: must be one per model")(examples.LoRADistance(fed.Task, fedkit.Zeros(1, fed.Task.Dim()), nil))
	expect.Error(t, "2 weights for 1 rows")(examples.LoRADistance(fed.Task, fedkit.Zeros(1, fed.Task.Dim()), []float64{1, 2}))
	expect.Invalid(t, "option Ranks = 1 numbers: must be ")(fedkit.Run(t.Context(), fed, &examples.HetLoRA{Ranks: examples.Ranks{1}}, one))
	many := slices.Repeat(examples.Ranks{1}, fed.Size())
	many[2] = 2
	expect.Invalid(t, "option Ranks[2] = 2: must be from 1 to 1, the model's rank")(fedkit.Run(t.Context(), fed, &examples.FLoRA{Ranks: many}, one))
	expect.Invalid(t, "LoRA's r, α = 0, 1")(examples.FFALoRA(0, 1, model.MLP(4), nil)(plain.Data))
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

// Untrained, LoRA predicts exactly as its base; trained, as the base with W = W₀ + (α/r) A B, and only A and B have moved.
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
	values, before := oracle.Double(must.M1(u.Models.Host())), oracle.Double(must.M1(start.Host()))
	for i := range 4 {
		expect.That(t, floats.Equal(values[i*d:i*d+d0], before[:d0]), "W₀ has moved")
	}
	one := fedkit.NewMatrix(oracle.Single(merged(plain.Task, fed.Task, values[:d], alpha/r)), 1, d0)
	off := far(predict(fed, u.Models.Take(0)), predict(plain, one))
	expect.That(t, off <= 1e-4, "trained, it predicts %v away from W₀ + (α/r) A B", off)
	for name, m := range map[string]fedkit.Model{"r, α = 0, 1": examples.LoRA(0, 1, model.MLP(16), nil), "r, α = 1, 0": examples.LoRA(1, 0, model.MLP(16), nil),
		"model = none": examples.LoRA(1, 1, startsItself, nil), "base: parameters = 3": examples.LoRA(1, 1, model.MLP(16), make([]float32, 3))} {
		expect.Invalid(t, "LoRA's "+name)(m(plain.Data))
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
	host := func(m *fedkit.Matrix) []float64 { return oracle.Double(must.M1(m.Host())) }
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
			off := floats.Distance(c[0], c[1], math.Inf(1))
			expect.That(t, off <= 1e-5, "round %d: %s is %v away", len(now.Rounds), name, off)
		}
	}
	expect.That(t, floats.Norm(w[:len(w)/(h+1)*h], 2) >= 0.01, "W has not moved")
}

// upright is a model that was trained on upright digits.
var upright = sync.OnceValue(func() []float32 {
	s := &strategy.FedAvg{Fraction: 0.5, Local: short}
	after(20, dealt(model.MLP(64)), s)
	return must.M1(s.X.Host())
})

// trained is a federation of turned digits whose model's first layer is that of upright, frozen.
func trained() *fedkit.Federation {
	start := upright()
	from := func(d *datasets.Dataset) (*fedkit.Task, error) {
		t := must.M1(model.MLP(64)(d))
		t.Params[0].Init = func(_ *rand.Rand, w []float32) { copy(w, start) }
		t.Params[1].Init = func(_ *rand.Rand, w []float32) { copy(w, start[64*64:]) }
		return t, nil
	}
	turned := partition.Rotations{Of: partition.Dirichlet{Clients: 20, Alpha: 0.1, Seed: 1}, Degrees: []int{90}}
	return must.M1(fedkit.New(datasets.Digits(), turned, model.Freeze(from, "dense1")))
}

// Each client sends its sums once, in the round that first chooses it: by the fourth, all have.
func ExampleFed3R() {
	h := must.M1(fedkit.Run(context.Background(), trained(), &examples.Fed3R{Fraction: 0.5}, fedkit.Options{Rounds: 8, Seed: 2}))
	fmt.Println("more than 70 % right:", h.Accuracy() > 0.7)
	for _, r := range h.Rounds[:4] {
		fmt.Printf("%d bytes up\n", r.BytesUp)
	}
	// Output:
	// more than 70 % right: true
	// 223600 bytes up
	// 156520 bytes up
	// 67080 bytes up
	// 0 bytes up
}

// Class means alone, for a tenth of the bytes.
func ExampleFedCOF() {
	h := must.M1(fedkit.Run(context.Background(), trained(), &examples.FedCOF{}, fedkit.Options{Rounds: 1}))
	fmt.Printf("more than 60 %% right: %v, for %d bytes\n", h.Accuracy() > 0.6, h.Last().BytesUp)
	// Output: more than 60 % right: true, for 41600 bytes
}

// ridge is ridge regression of all training examples in float64, by a QR decomposition of [Z; √λ I].
func ridge(t *testing.T, fed *fedkit.Federation, x *fedkit.Matrix, lambda float64) *mat.Dense {
	t.Helper()
	var z, y []float64
	f, k := 0, fed.Task.Params[len(fed.Task.Params)-1].Size()
	for _, p := range expect.Value(fed.Features(t.Context(), x, "", datasets.TrainPart, fed.AllClients()))(t) {
		for i, out := range p.Outputs {
			f = len(out)
			z = append(append(z, oracle.Double(out)...), 1)
			row := make([]float64, k)
			if p.Labels != nil {
				row[p.Labels[i]] = 1
			} else {
				copy(row, oracle.Double(p.Targets[i*k:(i+1)*k]))
			}
			y = append(y, row...)
		}
	}
	for j := range f + 1 {
		row := make([]float64, f+1)
		row[j] = math.Sqrt(lambda)
		z, y = append(z, row...), append(y, make([]float64, k)...)
	}
	var qr mat.QR
	qr.Factorize(mat.NewDense(len(z)/(f+1), f+1, z))
	var w mat.Dense
	expect.OK(t, qr.SolveTo(&w, false, mat.NewDense(len(y)/k, k, y)))
	return &w
}

// Fed3R's weights are those of ridge regression on all examples, for any partition and order of the clients, for labels and for
// targets. Its model has them, divided by their norms if asked.
func TestFed3RIsRidgeRegression(t *testing.T) {
	two := &datasets.Dataset{Name: "two targets", Shape: []int{5}}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 * 5 {
		two.Train.Floats = append(two.Train.Floats, float32(rng.NormFloat64()))
	}
	for range 60 * 2 {
		two.Train.Targets = append(two.Train.Targets, float32(rng.NormFloat64()))
	}
	two.Train.Width = 2
	two.Test = two.Train
	for d, skewed := range map[*datasets.Dataset]partition.Rule{datasets.Digits(): partition.Dirichlet{Clients: 5, Alpha: 0.1}, two: partition.IID{Clients: 4, Seed: 9}} {
		var first []float64
		for i, rule := range []partition.Rule{partition.IID{Clients: 1}, partition.IID{Clients: 7}, skewed} {
			fed := must.M1(fedkit.New(d, rule, model.MLP(16)))
			s := &examples.Fed3R{Fraction: 0.3, Lambda: 0.1, Normalize: i == 2}
			h := run(t, fed, s, fedkit.Options{Rounds: 30, Seed: 5, EvalEvery: 30})
			want := ridge(t, fed, s.State.X, 0.1)
			if off := floats.Distance(s.State.W, want.RawMatrix().Data, 2) / mat.Norm(want, 2); !(off <= 1e-9) {
				t.Errorf("%s, %v: W is %v away from ridge regression", d.Name, rule, off)
			}
			if i == 0 {
				first = s.State.W
			}
			off := floats.Distance(s.State.W, first, 2) / floats.Norm(first, 2)
			expect.That(t, off <= 1e-9, "%s, %v: W is %v away from that of one client", d.Name, rule, off)
			f, k := 16, want.RawMatrix().Cols
			x := oracle.Double(must.M1(s.State.X.Host()))
			for c := range k {
				norm := 1.0
				if s.Normalize {
					norm = floats.Norm(mat.Col(nil, c, want.Slice(0, f, 0, k)), 2)
				}
				for j := range f + 1 {
					got := x[len(x)-(f+1)*k+j*k+c]
					expect.Must(t, math.Abs(got-want.At(j, c)/norm) <= 1e-6*(1+math.Abs(got)),
						"%s: output %d has the weight %v, want %v", d.Name, c, got, want.At(j, c)/norm)
				}
			}
			sum := int64(0)
			for _, r := range h.Rounds {
				sum += r.BytesUp
			}
			once := int64(8 * fed.Size() * (17*18/2 + 17*k))
			expect.That(t, sum == once, "%s: %d bytes up, want %d", d.Name, sum, once)
		}
	}
}

// FedCOF's G and classifier against its formulas, and with the covariances of the examples if each client has one of them.
func TestFedCOF(t *testing.T) {
	const gamma, f, k = 0.5, 3, 3
	d := must.M1(datasets.GaussianMixture{Clients: 30, Groups: 1, Rows: 4, TestRows: 4, Features: 5, Classes: k}.Make())
	one := make(partition.Given, 120)
	for i := range one {
		one[i] = partition.Client{Train: []int{i}, Test: []int{i}}
	}
	for name, rule := range map[string]partition.Rule{"by client": partition.Natural{}, "one each": one} {
		fed := must.M1(fedkit.New(d, rule, model.MLP(f)))
		s := &examples.FedCOF{Gamma: gamma, Fraction: 0.5}
		run(t, fed, s, fedkit.Options{Rounds: 20, EvalEvery: 20})
		var rows [k][][]float64 // by class, of all examples
		var means [k][][]float64
		var counts [k][]float64
		for i := range fed.Size() {
			for _, p := range expect.Value(fed.Features(t.Context(), s.State.X, "", datasets.TrainPart, []int{i}))(t) {
				m, n := p.ClassMeans(k)
				for y := range m {
					if n[y] > 0 {
						means[y], counts[y] = append(means[y], m[y]), append(counts[y], n[y])
					}
				}
				for j, out := range p.Outputs {
					rows[p.Labels[j]] = append(rows[p.Labels[j]], oracle.Double(out))
				}
			}
		}
		G, C, all, n := mat.NewSymDense(f, nil), mat.NewDense(f, k, nil), make([]float64, f), 0.
		for y := range k {
			N, mu := float64(len(rows[y])), make([]float64, f)
			for _, z := range rows[y] {
				floats.Add(mu, z)
			}
			C.SetCol(y, append([]float64(nil), mu...))
			floats.Add(all, mu)
			floats.Scale(1/N, mu)
			n += N
			for i, m := range means[y] {
				if name == "by client" {
					G.SymRankOne(G, (N-1)/float64(len(counts[y])-1)*counts[y][i], mat.NewVecDense(f, floats.SubTo(make([]float64, f), m, mu)))
				}
			}
			for _, z := range rows[y] { // (N_y − 1) times the sample covariance
				if name == "one each" {
					G.SymRankOne(G, 1, mat.NewVecDense(f, floats.SubTo(make([]float64, f), z, mu)))
				}
			}
			for j := range f {
				G.SetSym(j, j, G.At(j, j)+(N-1)*gamma)
			}
		}
		G.SymRankOne(G, 1/n, mat.NewVecDense(f, all))
		var w mat.Dense
		expect.OK(t, w.Solve(G, C))
		x := oracle.Double(must.M1(s.State.X.Host()))
		for c := range k {
			norm := floats.Norm(mat.Col(nil, c, &w), 2)
			for j := range f {
				if got, want := x[len(x)-(f+1)*k+j*k+c], w.At(j, c)/norm; !(math.Abs(got-want) <= 1e-6) {
					t.Errorf("%s: w_%d has %v, want %v", name, c, got, want)
				}
			}
			expect.That(t, x[len(x)-k+c] == 0, "%s: a bias is %v, want 0", name, x[len(x)-k+c])
		}
	}
}

func TestFrozenRefusals(t *testing.T) {
	plain := digits()
	one := fedkit.Options{Rounds: 1}
	flat := must.M1(fedkit.New(plain.Data, partition.IID{Clients: 2}, model.LogisticRegression()))
	lora := must.M1(fedkit.New(plain.Data, partition.IID{Clients: 2}, examples.LoRA(2, 2, model.MLP(4), nil)))
	fixed := must.M1(fedkit.New(plain.Data, partition.IID{Clients: 2}, model.Freeze(model.MLP(4), "dense2")))
	for _, fed := range []*fedkit.Federation{flat, lora, fixed} {
		expect.Invalid(t, "model = "+fed.Task.Name+": must be one with Features, or a Layer, below weights [f, k]")(fedkit.Run(t.Context(), fed, &examples.Fed3R{}, one))
		expect.Invalid(t, "model = "+fed.Task.Name+": must be one with Features, or a Layer, below weights [f, k]")(fedkit.Run(t.Context(), fed, &examples.FedCOF{}, one))
	}
	expect.Invalid(t, "Layer: outputs = 10: must be 16, as the last layer takes")(fedkit.Run(t.Context(), plain, &examples.Fed3R{Layer: "dense2"}, one))
	expect.Invalid(t, "Lambda = -1: must be a number > 0")(fedkit.Run(t.Context(), plain, &examples.Fed3R{Lambda: -1}, one))
	expect.Invalid(t, "Classes = 0", "means are by class")(fedkit.Run(t.Context(), must.M1(fedtest.Quadratic()), &examples.FedCOF{}, one))
}
