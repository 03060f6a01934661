package examples_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
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
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

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
