package model_test

import (
	"context"
	"fmt"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/layers/regularizer"
	mlmodel "github.com/gomlx/gomlx/ml/model"
	"github.com/janpfeifer/must"
)

// A model whose first layer stays as it was drawn, and travels to a client once.
func ExampleFreeze() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 5}, model.Freeze(model.MLP(32), "dense1")))
	h := must.M1(fedkit.Run(context.Background(), fed, &strategy.FedAvg{}, fedkit.Options{Rounds: 2}))
	fmt.Println(fed.Task)
	for _, r := range h.Rounds {
		fmt.Println(r.BytesDown, "bytes down,", r.BytesUp, "up")
	}
	// Output:
	// MLP-32, dense1 frozen, 2410 parameters
	// 48200 bytes down, 6600 up
	// 6600 bytes down, 6600 up
}

// The sizes of an MLP are those of its hidden layers. Inputs and outputs follow from the data: 64 pixels, 10 digits.
func ExampleMLP() {
	for _, m := range []fedkit.Model{model.MLP(), model.MLP(32), model.MLP(64, 32)} {
		fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 5}, m))
		fmt.Println(fed.Task.Name, "has", fed.Task.Dim(), "parameters")
	}
	// Output:
	// MLP has 650 parameters
	// MLP-32 has 2410 parameters
	// MLP-64-32 has 6570 parameters
}

// Batch normalization in a model of your own: its statistics are those of a batch's examples, and its running values, parameters that
// are not trained, are averaged like the others.
func ExampleBatchNorm() {
	bn := model.BatchNorm{Momentum: 0.2}
	logistic := func(d *datasets.Dataset) (*fedkit.Task, error) {
		t := &fedkit.Task{Name: "normalized logistic regression", Params: bn.Params("bn", d.Features())}
		t.Params = append(t.Params, fedkit.Param{Name: "weights", Shape: []int{d.Features(), d.Classes}}, fedkit.Param{Name: "biases", Shape: []int{d.Classes}})
		t.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
			return model.Dense(bn.Of(model.Flatten(x), p[0], p[1], p[2], p[3]), p[4], p[5])
		}
		return t, nil
	}
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 5}, logistic))
	h := must.M1(fedkit.Run(context.Background(), fed, &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1}}, fedkit.Options{Rounds: 5, EvalEvery: 5}))
	fmt.Println(fed.Task, "learns:", h.Accuracy() > 0.9)
	// Output: normalized logistic regression, 906 parameters learns: true
}

// Any GoMLX model function can be trained by every strategy, with dropout and penalties on its weights. Its scopes name
// its layers: here, each client keeps its own classifier.
func ExampleGoMLX() {
	twoLayers := func(scope *mlmodel.Scope, x *graph.Node) *graph.Node { // x [B, 8, 8, 1]
		scope.SetParam(regularizer.ParamL2, 1e-4)
		x = graph.Reshape(x, x.Shape().Dimensions[0], -1)
		x = activation.Relu(layers.Dense(scope.In("body"), x, true, 32))
		x = layers.DropoutStatic(scope, x, 0.1)
		return layers.Dense(scope.In("classifier"), x, true, 10) // [B, 10]
	}
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 5}, model.GoMLX("two layers", twoLayers)))
	rep := &strategy.FedRep{Head: []string{"classifier"}, Local: fedkit.Local{Batch: 16, LR: 0.3}}
	h := must.M1(fedkit.Run(context.Background(), fed, rep, fedkit.Options{Rounds: 10, EvalEvery: 10}))
	fmt.Println(fed.Task.Name, fed.Task.Dim(), "parameters, learns:", h.Accuracy() > 0.85)
	// Output: two layers 2410 parameters, learns: true
}

// The next character of a text, from the six before it.
func ExampleGRU() {
	const text, alphabet, T = "she sells sea shells on the sea shore ", " aehlnorst", 6
	d := &datasets.Dataset{Name: "shells", Shape: []int{T}, Classes: len(alphabet)}
	d.Train.Scale = 1
	code := func(i int) int { return strings.IndexByte(alphabet, text[i%len(text)]) }
	for i := range text {
		for t := range T {
			d.Train.Bytes = append(d.Train.Bytes, uint8(code(i+t)))
		}
		d.Train.Labels = append(d.Train.Labels, int32(code(i+T)))
	}
	d.Test = d.Train
	fed := must.M1(fedkit.New(d, partition.IID{Clients: 2}, model.GRU(len(alphabet), 8, 16)))
	avg := &strategy.FedAvg{Local: fedkit.Local{Epochs: 5, Batch: 4, LR: 0.5}}
	h := must.M1(fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: 20, EvalEvery: 20}))
	fmt.Println(fed.Task, "knows the verse:", h.Accuracy() > 0.9)
	// Output: GRU-8-16, 1450 parameters knows the verse: true
}

// A language model learns from texts that people wrote, each on a device of its own: the next token at every position. Here the tokens count
// up or down, so that one alone does not say which comes next.
func ExampleTransformer() {
	const tokens, T, people = 6, 8, 4
	d := &datasets.Dataset{Name: "counting", Shape: []int{T}, Classes: tokens}
	d.Train.Scale, d.Train.Width = 1, T
	for text := range 12 * people {
		step := []int{1, tokens - 1}[text/people%2]
		for t := range T {
			d.Train.Bytes = append(d.Train.Bytes, uint8((text+step*t)%tokens))
			label := int32((text + step*(t+1)) % tokens)
			if t == 0 || t == T-1 && text%5 == 0 {
				label = -1 // not known yet, or after the end
			}
			d.Train.Labels = append(d.Train.Labels, label)
		}
		d.Train.Owner = append(d.Train.Owner, int32(text%people))
	}
	d.Test = d.Train
	for _, m := range []fedkit.Model{model.LSTM(tokens, 4, 16), model.Transformer{Vocabulary: tokens, Width: 16, Heads: 2, Layers: 1, Hidden: 32}.Model()} {
		fed := must.M1(fedkit.New(d, partition.Natural{}, m))
		avg := &strategy.FedAvg{Local: fedkit.Local{Epochs: 2, Batch: 4, LR: 0.01, Optimizer: fedkit.Adam{}}}
		h := must.M1(fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: 20, EvalEvery: 20}))
		fmt.Println(fed.Task, "counts:", h.Accuracy() > 0.95)
	}
	// Output:
	// LSTM-4-16, 1470 parameters counts: true
	// Transformer-16-2-1, 2320 parameters counts: true
}

// Networks fit images of any size: 28 × 28 pixels of MNIST, or 8 × 8 of the digits, on which a residual network learns too.
func ExampleResNet8() {
	for _, m := range []fedkit.Model{model.CNN(), model.EMNISTCNN(), model.ResNet8()} {
		fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 5}, m))
		fmt.Println(fed.Task)
	}
	// Output:
	// CNN, 188810 parameters
	// EMNIST-CNN, 53002 parameters
	// ResNet-8, 77562 parameters
}

// A model that does not fit the data is refused before anything runs.
func ExampleLeNet() {
	_, err := fedkit.New(datasets.Digits(), partition.IID{Clients: 5}, model.LeNet())
	fmt.Println("8 × 8 pixels are too few:", err != nil)
	// Output: 8 × 8 pixels are too few: true
}

// An image and a row of numbers for each example, here the sums of the image's rows, have layers of their own.
func ExampleInputs() {
	images, table := datasets.Digits(), *datasets.Digits()
	table.Name, table.Shape = "sums", []int{8}
	for _, s := range []*datasets.Split{&table.Train, &table.Test} {
		sums := make([]float32, 8*s.Len())
		for i := range s.Len() {
			for j, v := range s.Row(i, nil) {
				sums[8*i+j/8] += v
			}
		}
		s.Bytes, s.Scale, s.Shift, s.Floats = nil, 0, 0, sums
	}
	both := must.M1(datasets.Join(images, &table))
	towers := func(d *datasets.Dataset) (*fedkit.Task, error) {
		return model.GoMLX("two towers", func(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
			in := model.Inputs(d, x) // [B, 8, 8, 1] and [B, 8]
			image := graph.Reshape(in[0], x.Shape().Dimensions[0], -1)
			sum := graph.Add(layers.Dense(scope.In("image"), image, true, 16), layers.Dense(scope.In("sums"), in[1], true, 16))
			return layers.Dense(scope.In("classifier"), activation.Relu(sum), true, d.Classes)
		})(d)
	}
	fed := must.M1(fedkit.New(both, partition.IID{Clients: 5}, towers))
	h := must.M1(fedkit.Run(context.Background(), fed, &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1}}, fedkit.Options{Rounds: 10, EvalEvery: 10}))
	fmt.Println(both.Inputs, "learns:", h.Accuracy() > 0.85)
	// Output: [[8 8 1] [8]] learns: true
}
