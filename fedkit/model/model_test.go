package model_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	mlmodel "github.com/gomlx/gomlx/ml/model"
	"github.com/janpfeifer/must"
)

// Under the race detector the plugin's destructors abort when the process exits normally.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

func random(seed uint64, n int) []float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}

func host(t *testing.T, m *fedkit.Matrix) []float32 { t.Helper(); return expect.Value(m.Host())(t) }

func close32(t *testing.T, name string, got, want []float32, tol float64) {
	t.Helper()
	expect.Must(t, len(got) == len(want), "%s: %d values, want %d", name, len(got), len(want))
	for i := range got {
		d := math.Abs(float64(got[i] - want[i]))
		expect.Must(t, d <= tol*(1+math.Abs(float64(want[i]))), "%s: value %d is %v, want %v", name, i, got[i], want[i])
	}
}

// ConvPool and its gradient against GoMLX's own convolution and pooling, one client at a time. (Odd kernels only: the
// gradient of GoMLX v0.28.1 for an even kernel is shifted by one row and column, as finite differences show.)
func TestConvPoolAgainstNative(t *testing.T) {
	expect.Long(t, "arithmetic")
	for _, c := range []struct{ clients, batch, ch, out, side, k, pool int }{
		{1, 2, 3, 6, 32, 5, 2}, {3, 4, 6, 16, 14, 5, 2}, {2, 3, 2, 4, 9, 3, 1}, {2, 2, 1, 3, 12, 7, 3}, {2, 1, 2, 2, 8, 3, 2},
	} {
		nx, nw := c.clients*c.ch*c.side*c.side*c.batch, c.clients*c.out*c.ch*c.k*c.k
		all := append(append(random(1, nx), random(2, nw)...), random(3, c.clients*c.out)...)
		parts := func(in *graph.Node) (x, w, b *graph.Node) {
			in = graph.Reshape(in, -1)
			x = graph.Reshape(graph.Slice(in, graph.AxisRange(0, nx)), c.clients, c.ch, c.side, c.side, c.batch)
			w = graph.Reshape(graph.Slice(in, graph.AxisRange(nx, nx+nw)), c.clients, c.out, c.ch, c.k, c.k)
			b = graph.Reshape(graph.Slice(in, graph.AxisRange(nx+nw)), c.clients, c.out)
			return x, w, b
		}
		// The loss is the sum of y·sin(y's index), so that every output has a different weight in the gradient.
		finish := func(in, y *graph.Node) *graph.Node {
			flat := graph.Reshape(y, -1)
			weights := graph.Sin(graph.ConvertDType(graph.Iota(in.Graph(), graph.Reshape(graph.OneHot(graph.Const(in.Graph(), int32(0)), y.Shape().Size(), in.DType()), -1).Shape(), 0), in.DType()))
			loss := graph.ReduceAllSum(graph.Mul(flat, weights))
			return graph.Concatenate([]*graph.Node{graph.Reshape(y, 1, -1), graph.Reshape(graph.Gradient(loss, in)[0], 1, -1)}, 1)
		}
		ours := fedkit.NewProgram("ours", func(a []*graph.Node) *graph.Node {
			x, w, b := parts(a[0])
			return finish(a[0], model.ConvPool(x, w, b, c.pool))
		})
		native := fedkit.NewProgram("native", func(a []*graph.Node) *graph.Node {
			x, w, b := parts(a[0])
			var all []*graph.Node
			for i := range c.clients {
				one := func(n *graph.Node) *graph.Node {
					return graph.Squeeze(graph.Slice(n, graph.AxisRange(i, i+1)), 0)
				}
				in := graph.TransposeAllAxes(one(x), 3, 1, 2, 0)                                       // [B, h, w, ch]
				y := graph.Convolve(in, graph.TransposeAllAxes(one(w), 2, 3, 1, 0)).NoPadding().Done() // [B, h', w', o]
				y = graph.Add(y, graph.Reshape(one(b), 1, 1, 1, -1))
				y = graph.MaxScalar(graph.MaxPool(y).Window(c.pool).NoPadding().Done(), 0)
				all = append(all, graph.InsertAxes(graph.TransposeAllAxes(y, 3, 1, 2, 0), 0))
			}
			return finish(a[0], graph.Concatenate(all, 0))
		})
		m := fedkit.NewMatrix(all, 1, len(all))
		close32(t, "convolution and gradient", host(t, m.Apply(ours)), host(t, m.Apply(native)), 2e-4)
	}
}

// The slope of ReLU at 0 is 0, alone and after pooling. A NaN is not hidden.
func TestReLUIsFlatAtZero(t *testing.T) {
	nan := float32(math.NaN())
	slopes := fedkit.NewProgram("ReLU", func(a []*graph.Node) *graph.Node {
		y := model.ReLU(a[0])
		return graph.Concatenate([]*graph.Node{y, graph.Gradient(graph.ReduceAllSum(y), a[0])[0]}, 0)
	})
	out := host(t, fedkit.NewMatrix([]float32{-1, 0, 2, nan}, 1, 4).Apply(slopes))
	close32(t, "values and slopes", append(out[:3:3], out[4:7]...), []float32{0, 0, 2, 0, 0, 1}, 0)
	expect.That(t, out[3] != out[3], "ReLU(NaN) = %v", out[3])
	pooled := fedkit.NewProgram("ConvPool", func(a []*graph.Node) *graph.Node {
		y := model.ConvPool(graph.Ones(a[0].Graph(), shapes.Make(a[0].DType(), 1, 1, 4, 4, 1)), graph.Reshape(a[0], 1, 1, 1, 3, 3), graph.Zeros(a[0].Graph(), shapes.Make(a[0].DType(), 1, 1)), 2)
		return graph.Gradient(graph.ReduceAllSum(y), a[0])[0]
	})
	close32(t, "slopes after pooling", host(t, fedkit.NewMatrix(make([]float32, 9), 1, 9).Apply(pooled)), make([]float32, 9), 0)
}

// classes is a small labeled data set.
func classes(n, side, ch, k int) *datasets.Dataset {
	d := &datasets.Dataset{Name: "noise", Shape: []int{side, side, ch}, Classes: k}
	rng := rand.New(rand.NewPCG(5, 5))
	for _, s := range []*datasets.Split{&d.Train, &d.Test} {
		s.Scale, s.Shift = 1.0/128, -1
		for range n {
			for range d.Features() {
				s.Bytes = append(s.Bytes, uint8(rng.UintN(256)))
			}
			s.Labels = append(s.Labels, rng.Int32N(int32(k)))
		}
	}
	return d
}

// oneClient is a federation in which one client holds all data.
func oneClient(t *testing.T, d *datasets.Dataset, m fedkit.Model) *fedkit.Federation {
	return federation(t, d, partition.IID{Clients: 1}, m)
}

func federation(t *testing.T, d *datasets.Dataset, rule partition.Rule, m fedkit.Model) *fedkit.Federation {
	t.Helper()
	return expect.Value(fedkit.New(d, rule, m))(t)
}

func run(t *testing.T, fed *fedkit.Federation, s fedkit.Strategy, o fedkit.Options) *fedkit.History {
	t.Helper()
	return expect.Value(fedkit.Run(context.Background(), fed, s, o))(t)
}

// step makes one full-batch step with η = 0.3, and returns the parameters before and after it.
func step(t *testing.T, fed *fedkit.Federation) (before, after []float64, solve fedkit.ClientResult) {
	t.Helper()
	start := expect.Value(fed.Models(1, 0))(t)
	s := &strategy.FedSGD{LR: 0.3}
	h := run(t, fed, s, fedkit.Options{Rounds: 1})
	return precision.Double(host(t, start)), precision.Double(host(t, s.State.X)), h.Last().Results[0]
}

// refused checks that a federation of one client with this model is refused.
func refused(t *testing.T, d *datasets.Dataset, m fedkit.Model, want string) {
	t.Helper()
	expect.Invalid(t, want)(fedkit.New(d, partition.IID{Clients: 1}, m))
}

// One full-batch step of the dense models matches the oracle.
func TestDenseModelsAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	table := func(regression bool) *datasets.Dataset {
		d := &datasets.Dataset{Name: "table", Shape: []int{6}, Classes: 4}
		if regression {
			d.Classes = 0
		}
		for i, s := range []*datasets.Split{&d.Train, &d.Test} {
			s.Floats = random(uint64(i), 6*20)
			for j := range 20 {
				if regression {
					s.Targets = append(s.Targets, s.Floats[6*j]-2*s.Floats[6*j+1]+0.5)
				} else {
					s.Labels = append(s.Labels, int32(j%4))
				}
			}
		}
		return d
	}
	for _, c := range []struct {
		name  string
		model fedkit.Model
		o     oracle.MLP
	}{
		{"logistic", model.LogisticRegression(), oracle.MLP{Sizes: []int{6, 4}}},
		{"linear", model.LinearRegression(), oracle.MLP{Sizes: []int{6, 1}, Regression: true}},
		{"MLP", model.MLP(5, 3), oracle.MLP{Sizes: []int{6, 5, 3, 4}}},
		{"MLP regression", model.MLP(5), oracle.MLP{Sizes: []int{6, 5, 1}, Regression: true}},
	} {
		d := table(c.o.Regression)
		before, after, solve := step(t, oneClient(t, d, c.model))
		var x [][]float64
		var y []float64
		for i := range d.Train.Len() {
			x = append(x, precision.Double(d.Train.Row(i, nil)))
			if c.o.Regression {
				y = append(y, float64(d.Train.Targets[i]))
			} else {
				y = append(y, float64(d.Train.Labels[i]))
			}
		}
		loss, grad := c.o.Gradient(before, x, y)
		expect.That(t, math.Abs(float64(solve.Loss)-loss) <= 1e-5*(1+loss), "%s: loss %v, want %v", c.name, float64(solve.Loss), loss)
		for j := range grad {
			want := before[j] - 0.3*grad[j]
			expect.Must(t, math.Abs(after[j]-want) <= 1e-5*(1+math.Abs(want)), "%s: parameter %d is %v, want %v", c.name, j, after[j], want)
		}
	}
}

// The last layer of a model, on top of its representation, gives its outputs.
func TestFeatures(t *testing.T) {
	for _, c := range []struct {
		model fedkit.Model
		size  int
	}{{model.MLP(7, 5), 5}, {model.LeNet(), 84}} {
		task := oneClient(t, classes(3, 16, 1, 4), c.model).Task
		d, x := task.Dim(), random(1, 2*3*256)
		both := fedkit.NewProgram("features", func(a []*graph.Node) *graph.Node {
			p, x := task.Split(a[0]), graph.Reshape(a[1], 2, 3, 16, 16, 1)
			features := task.Features(p, x)
			features.AssertDims(2, 3, c.size)
			out := model.Dense(features, p[len(p)-2], p[len(p)-1])
			return graph.Concatenate([]*graph.Node{graph.Reshape(out, 1, -1), graph.Reshape(task.Forward(p, x), 1, -1)}, 0)
		})
		out := host(t, fedkit.NewMatrix(random(2, 2*d), 2, d).Apply(both, fedkit.NewMatrix(x, 2, 3*256)))
		close32(t, task.Name, out[:24], out[24:], 0)
	}
	task := oneClient(t, classes(3, 16, 1, 4), model.MLP()).Task
	expect.That(t, task.Features == nil, "a model of one layer has features")
}

// The dense layer of the package's comment does as Dense, also for examples that are the same for all clients.
func TestDenseLayerByEinsum(t *testing.T) {
	written := func(d *datasets.Dataset) (*fedkit.Task, error) {
		task, err := model.LogisticRegression()(d)
		task.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
			return graph.Add(graph.Einsum("cbi,cio->cbo", x, p[0]), graph.InsertAxes(p[1], 1))
		}
		task.Features = nil
		return task, err
	}
	data := expect.Value(datasets.GaussianMixture{Clients: 4, Groups: 2, Rows: 8, Features: 5, Classes: 3, Separation: 2}.Make())(t)
	var got [2][]float32
	for i, m := range []fedkit.Model{model.LogisticRegression(), written} {
		fed := expect.Value(fedkit.New(data, partition.IID{Clients: 4}, m))(t)
		s := &strategy.IFCA{K: 2, Local: fedkit.Local{LR: 0.1}}
		h := expect.Value(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 2}))(t)
		for _, p := range expect.Value(fed.Predict(context.Background(), expect.Value(fed.Models(3, 1))(t), datasets.TestPart, nil))(t) {
			got[i] = append(got[i], slices.Concat(p.Outputs...)...)
		}
		for _, c := range h.Last().Scores {
			got[i] = append(got[i], float32(c.Loss))
		}
	}
	close32(t, "by Einsum", got[1], got[0], 1e-5)
}

func TestModelsThatDoNotFit(t *testing.T) {
	labels, numbers, first := classes(4, 8, 1, 3), classes(4, 8, 1, 3), classes(4, 8, 1, 3)
	numbers.Classes, first.Shape = 0, []int{1, 8, 8}
	for _, s := range []*datasets.Split{&numbers.Train, &numbers.Test} {
		s.Targets, s.Labels = random(1, s.Len()), nil
	}
	bytes, scaled, wide := sequences(4, 5, 4), sequences(4, 5, 4), everyToken(4, 6, 4)
	scaled.Train.Scale = 0.5
	wide.Shape, wide.Train.Bytes, wide.Test.Bytes = []int{5}, wide.Train.Bytes[:20], wide.Test.Bytes[:20]
	conv := func(c model.Convolution, shape ...int) fedkit.Model {
		c.Name = "third"
		return func(d *datasets.Dataset) (*fedkit.Task, error) {
			return &fedkit.Task{Name: "mine", Params: []fedkit.Param{{Name: "w", Shape: shape}}, Forward: func(p []*graph.Node, x *graph.Node) *graph.Node {
				return graph.ReduceSum(c.Of(x, p[0]), 2, 3)
			}}, nil
		}
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
	for want, c := range map[string]struct {
		d *datasets.Dataset
		m fedkit.Model
	}{
		"model.LinearRegression: Classes = 3":   {labels, model.LinearRegression()},
		"model.LogisticRegression: Classes = 0": {numbers, model.LogisticRegression()},
		"model.MLP: hidden = 0":                 {labels, model.MLP(10, 0)},
		"model.LeNet: data shape = [8 8 1]":     {labels, model.LeNet()},
		"model.LeNet: data shape = [1 8 8]: must be labeled square images [s s channels] with s ≥ 16 divisible by 4; channels come last, [8 8 1]": {first, model.LeNet()},
		"with h and w ≥ 4; channels come last, [8 8 1]: NPY.ChannelsFirst moves them there":                                                       {first, model.CNN()},
		"model = nil": {labels, nil},
		"model.GRU: Width = 6: must be 5, a label at each token":                {wide, model.GRU(4, 2, 2)},
		"model.GRU: vocabulary = 0":                                             {bytes, model.GRU(0, 2, 2)},
		"model.GRU: embedding = -1":                                             {bytes, model.GRU(4, -1, 2)},
		"model.GRU: units = 4611686018427387904":                                {bytes, model.GRU(4, 2, 1<<62)},
		"model.GRU: token = 3: must be a whole number in [0, 3)":                {bytes, model.GRU(3, 2, 2)},
		"model.GRU: token = 0.5":                                                {scaled, model.GRU(4, 2, 2)},
		"model.GRU: data shape = [8 8 1]: must be [T]":                          {classes(4, 8, 1, 3), model.GRU(256, 2, 2)},
		"model.LSTM: units = []: must be of at least one layer":                 {bytes, model.LSTM(4, 2)},
		"model.LSTM: units = 0":                                                 {bytes, model.LSTM(4, 2, 3, 0)},
		"model.LSTM: token = 3":                                                 {bytes, model.LSTM(3, 2, 3)},
		"model.Transformer: vocabulary = 0":                                     {bytes, model.Transformer{}.Model()},
		"Transformer.Dropout = 1: must be in [0, 1)":                            {bytes, model.Transformer{Vocabulary: 4, Dropout: 1}.Model()},
		"model.Transformer: Heads = 5: must be a divisor of Width, 96":          {bytes, model.Transformer{Vocabulary: 4, Heads: 5}.Model()},
		"model.Transformer: Vocabulary = 5: must be 4, the classes of the data": {bytes, model.Transformer{Vocabulary: 5}.Model()},
		"model.UniformInit: of = nil":                                           {bytes, model.UniformInit(nil)},
		"model.UniformInit: parameter = embedding":                              {bytes, model.UniformInit(model.GRU(4, 2, 3))},
		"convolution third: kernel":                                             {datasets.Digits(), conv(model.Convolution{}, 9, 3, 1, 2)},
		"convolution third: Groups":                                             {datasets.Digits(), conv(model.Convolution{Groups: 2}, 3, 3, 1, 2)},
		"convolution third: w":                                                  {datasets.Digits(), conv(model.Convolution{}, 3, 3, 2, 2)},
		"convolution third: Dilation":                                           {datasets.Digits(), conv(model.Convolution{Dilation: 2, Stride: 2}, 3, 3, 1, 2)},
		"model.Dropout: rate = -0.1: must be in [0, 1)":                         {datasets.Digits(), sparse(-0.1)},
		"model.Dropout: rate = 1: must be in [0, 1)":                            {datasets.Digits(), sparse(1)},
		"model.Dropout: rate = NaN: must be in [0, 1)":                          {datasets.Digits(), sparse(math.NaN())},
		"model.Dropout: x = (Float32)[6, 64]: must be [2, …]":                   {datasets.Digits(), flat},
	} {
		refused(t, c.d, c.m, want)
	}
}

// Every kind of layer has gradients of single examples: clipped to a norm that none has, they add up to the gradient of the batch.
func TestGradientsOfSingleExamples(t *testing.T) {
	expect.Long(t, "arithmetic")
	for name, c := range map[string]struct {
		data  *datasets.Dataset
		model fedkit.Model
	}{
		"convolutions and pooling": {datasets.Digits(), model.CNN()},
		"LeNet":                    {classes(6, 16, 1, 3), model.LeNet()},
		"recurrent":                {sequences(6, 5, 7), model.GRU(7, 3, 4)},
		"group normalization":      {datasets.Digits(), model.ResNet8()},
		"memory":                   {everyToken(6, 5, 7), model.LSTM(7, 3, 4, 2)},
		"attention":                {everyToken(6, 5, 7), model.Transformer{Vocabulary: 7, Width: 6, Heads: 2, Layers: 1, Hidden: 5}.Model()},
	} {
		t.Run(name, func(t *testing.T) {
			fed := federation(t, c.data, partition.Take{Of: partition.IID{Clients: 2}, Train: 3}, c.model)
			job := fedkit.Job{Clients: []int{0, 1}, Start: expect.Value(fed.Models(1, 1))(t), Local: fedkit.Local{Steps: 1, Batch: fedkit.FullBatch, LR: 0.1}}
			want := host(t, expect.Value(fed.Train(context.Background(), job, 1))(t).Models)
			job.Local.ClipExamples = 1e6
			close32(t, "parameters", host(t, expect.Value(fed.Train(context.Background(), job, 1))(t).Models), want, 1e-5)
		})
	}
}

// The arithmetic of one example, two operations per multiply-add, by hand.
func TestArithmetic(t *testing.T) {
	images, tokens := classes(10, 28, 1, 10), sequences(10, 5, 7)
	convolution := func(scope *mlmodel.Scope, x *graph.Node) *graph.Node { // [B, 26, 26, 4] → [B, 10]
		x = layers.Convolution(scope.In("conv"), x).Channels(4).KernelSize(3).NoPadding().Done()
		return layers.Dense(scope.In("dense"), graph.Reshape(x, x.Shape().Dim(0), -1), true, 10)
	}
	for _, test := range []struct {
		model fedkit.Model
		data  *datasets.Dataset
		want  float64
	}{
		{model.LogisticRegression(), images, 2 * 784 * 10},
		{model.MLP(200, 200), images, 2 * (784*200 + 200*200 + 200*10)},
		// Products of 4·6 rows and 9·4 columns at 12·12 places, and of 4·16 rows and 9·24 columns at 4·4; 256-120-84-10.
		{model.LeNet(), images, 2 * (24*36*144 + 64*216*16 + 256*120 + 120*84 + 84*10)},
		// Each of 5 tokens: the product that picks its embedding, W and U.
		{model.GRU(7, 3, 4), tokens, 2 * (5*(7*3+3*12) + 5*(4*12) + 4*float64(tokens.Classes))},
		{model.EMNISTCNN(), images, 2 * (26*26*9*32 + 24*24*9*32*64 + 9216*128 + 128*10)},
		// Each of 5 tokens: the product that picks its embedding, W and U in both layers.
		{model.LSTM(7, 3, 4, 2), tokens, 2 * (5*(7*3+3*16+4*16+4*8+2*8) + 2*float64(tokens.Classes))},
		// Embedding; for each of 5 tokens Q, K, V, scores and means over 5 tokens, W_o and two dense layers; outputs.
		{model.Transformer{Vocabulary: 7, Width: 6, Heads: 2, Layers: 1, Hidden: 8}.Model(), tokens, 2 * (5*(7*6+6*18+5*6+5*6+6*6+6*8+8*6) + 6*7)},
		{model.GoMLX("convolution", convolution), images, 2 * (26*26*4*9 + 26*26*4*10)},
	} {
		task := expect.Value(test.model(test.data))(t)
		got, err := task.FLOPs(test.data)
		expect.That(t, err == nil && got == test.want, "%s: %v operations, want %v; %v", task.Name, got, test.want, err)
	}
	task := expect.Value(model.MLP(5)(images))(t) // does not fit other data
	expect.Error(t, "task MLP-5: ")(task.FLOPs(classes(10, 8, 1, 10)))
}

// A sum of dense layers, one for each input, is a dense layer on all of them: the outputs of a random model are those of an MLP.
func TestInputs(t *testing.T) {
	one := must.M1(datasets.GaussianMixture{Groups: 1, Clients: 2, Features: 6, Classes: 3, Rows: 20}.Make())
	two := *one
	two.Shape = []int{3, 2, 1}
	d := expect.Value(datasets.Join(one, &two))(t)
	split := func(d *datasets.Dataset) (*fedkit.Task, error) {
		task, err := model.MLP()(d)
		task.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
			in := model.Inputs(d, x)
			want := append(slices.Clone(x.Shape().Dimensions[:2]), 3, 2, 1)
			expect.That(t, slices.Equal(in[1].Shape().Dimensions, want), "the second input is %v, want %v", in[1].Shape(), want)
			first, second := graph.SliceAxis(p[0], 1, graph.AxisRange(0, 6)), graph.SliceAxis(p[0], 1, graph.AxisRange(6, 12))
			return graph.Add(model.Dense(in[0], first, p[1]), model.Dense(model.Flatten(in[1]), second, graph.ZerosLike(p[1])))
		}
		return task, err
	}
	var outputs [][]float32
	for _, m := range []fedkit.Model{model.MLP(), split} {
		fed := expect.Value(fedkit.New(d, partition.Natural{}, m))(t)
		p := expect.Value(fed.Predict(t.Context(), must.M1(fed.Models(1, 1)), datasets.TestPart, nil))(t)
		outputs = append(outputs, slices.Concat(p[0].Outputs...))
	}
	for i, v := range outputs[0] {
		expect.Must(t, (v-outputs[1][i])*(v-outputs[1][i]) < 1e-10, "output %d is %v, want %v", i, outputs[1][i], v)
	}
	x := model.Inputs(one, nil)
	expect.That(t, len(x) == 1, "%d inputs of a data set with one", len(x))
}

// All parameters of a layer fill ±1/√f, and their variance is that of a uniform distribution, 1/(3f).
func TestUniformStart(t *testing.T) {
	fed := digits(t, model.UniformInit(model.MLP(200)))
	m := expect.Value(fed.Models(1, 3))(t)
	w := host(t, m)
	for _, p := range fed.Task.Params {
		f := 64.0
		if p.Name[:6] == "dense2" {
			f = 200
		}
		most, square, n := 0.0, 0.0, float64(p.Size())
		for _, v := range w[:p.Size()] {
			most, square = max(most, math.Abs(float64(v))), square+float64(v)*float64(v)/n
		}
		bound := 1 / math.Sqrt(f)
		expect.That(t, most <= bound && most >= bound*(1-10/n) && (n <= 100 || math.Abs(3*f*square-1) <= 5/math.Sqrt(n)),
			"%s: at most %v, mean square %v; want ±%v, %v", p.Name, most, square, bound, 1/(3*f))
		w = w[p.Size():]
	}
	expect.That(t, fed.Task.Name == "MLP-200, uniform start", "the model is called %q", fed.Task.Name)
}

// LeNet is held to what users' models are. The other networks are compared with PyTorch, and regressions with known optima, in strategy.
func TestLeNet(t *testing.T) {
	expect.Long(t, "many programs")
	expect.OK(t, fedtest.TestModel(model.LeNet(), classes(60, 16, 2, 3)))
}
