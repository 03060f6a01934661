package fedkit_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/model"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	mlmodel "github.com/gomlx/gomlx/ml/model"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/mat"
)

// named is model.MLP(8) as a GoMLX model function.
func named(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
	x = graph.Reshape(x, x.Shape().Dimensions[0], -1)
	x = fedkit.NameLayer("hidden", activation.Relu(layers.Dense(scope.In("hidden"), x, true, 8)))
	return layers.Dense(scope.In("last"), x, true, 10)
}

// hidden is what the first layer of an MLP with 64 inputs and 8 units puts out, in float64.
func hidden(w, x []float64) []float64 {
	z := slices.Clone(w[64*8 : 64*8+8])
	for i, v := range x {
		for j := range z {
			z[j] += v * w[i*8+j]
		}
	}
	for j := range z {
		z[j] = max(0, z[j])
	}
	return z
}

// A layer's outputs for the clients' own examples, each under its own model or all under one, in float64; with labels. Nothing is
// compiled after the first round, and nothing travels.
func TestFeaturesAgainstFloat64(t *testing.T) {
	for layer, m := range map[string]fedkit.Model{"dense1": model.MLP(8), "": model.MLP(8), "hidden": model.GoMLX("named", named)} {
		fed := federation(t, datasets.Digits(), m)
		models, w := noise(3, fed.Task.Dim())
		clients, warm := []int{5, 0, 2}, int64(0)
		s := asking{func(r *fedkit.Round) {
			if r.T == 2 {
				warm = xla.Compilations()
			}
			for _, part := range []datasets.Part{datasets.TrainPart, datasets.TestPart} {
				each, one := r.Features(models, layer, part, clients), r.Features(models.Take(1), layer, part, clients)
				for i, c := range clients {
					rows, split := fed.Clients[c].Train, &fed.Data.Train
					if part == datasets.TestPart {
						rows, split = fed.Clients[c].Test, &fed.Data.Test
					}
					for j, row := range rows {
						x := precision.Double(split.Row(row, nil))
						if far := max(distance(each[i].Outputs[j], hidden(w[i], x)), distance(one[i].Outputs[j], hidden(w[1], x))); far > 1e-5 || each[i].Labels[j] != split.Labels[row] {
							t.Fatalf("%s: client %d, example %d: %v away, label %d", fed.Task.Name, c, j, far, each[i].Labels[j])
						}
					}
				}
			}
		}}
		h := expect.Value(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 2}))(t)
		if n := xla.Compilations() - warm; n != 0 || h.Last().BytesDown != 0 {
			t.Errorf("%s: %d programs were compiled after the first round, %d bytes down; want 0", fed.Task.Name, n, h.Last().BytesDown)
		}
	}
}

// Every ready model names its layers; the last one's outputs are the model's, and the one before it is Task.Features.
func TestLayersOfModels(t *testing.T) {
	expect.Long(t, "compiles every model")
	digits, large := datasets.Digits(), must.M1(datasets.Synthetic{Clients: 2, Features: 16 * 16, Classes: 4, Alpha: 1, Beta: 1}.Make())
	large.Shape = []int{16, 16, 1}
	tokens := &datasets.Dataset{Name: "tokens", Shape: []int{2}, Classes: 3}
	tokens.Train.Scale, tokens.Train.Bytes, tokens.Train.Labels = 1, []uint8{0, 1, 2, 1, 0, 0}, []int32{0, 1, 2}
	tokens.Test = tokens.Train
	for _, c := range []struct {
		data   *datasets.Dataset
		model  fedkit.Model
		last   string
		widths map[string]int
	}{
		{digits, model.MLP(7, 5), "dense3", map[string]int{"dense1": 7, "dense2": 5, "": 5, "dense3": 10}},
		{digits, model.LogisticRegression(), "dense1", map[string]int{"dense1": 10, "": 10}},
		{digits, model.CNN(), "dense2", map[string]int{"conv1": 4 * 4 * 32, "conv2": 2 * 2 * 64, "dense1": 512, "": 512, "dense2": 10}},
		{digits, model.EMNISTCNN(), "dense2", map[string]int{"conv1": 6 * 6 * 32, "conv2": 2 * 2 * 64, "dense1": 128, "": 128, "dense2": 10}},
		{digits, model.ResNet8(), "dense", map[string]int{"conv": 64 * 16, "block1": 64 * 16, "block3": 4 * 64, "": 64, "dense": 10}},
		{large, model.LeNet(), "dense3", map[string]int{"conv1": 6 * 6 * 6, "conv2": 16, "dense1": 120, "": 84, "dense3": 4}},
		{tokens, model.GRU(3, 2, 4), "dense", map[string]int{"gru": 4, "": 4, "dense": 3}},
		{tokens, model.LSTM(3, 2, 4, 5), "dense", map[string]int{"lstm2": 5, "": 5, "dense": 3}},
		{tokens, model.Transformer{Vocabulary: 3, Width: 4, Heads: 2, Layers: 1, Hidden: 5}.Model(), "embedding", map[string]int{"layer1": 2 * 4, "": 4, "embedding": 3}},
	} {
		fed := must.M1(fedkit.New(c.data, partition.IID{Clients: 2}, c.model))
		x := expect.Value(fed.Models(1, 1))(t)
		for layer, width := range c.widths {
			p := expect.Value(fed.Features(t.Context(), x, layer, datasets.TestPart, []int{1}))(t)
			if got := len(p[0].Outputs[0]); got != width {
				t.Errorf("%s: layer %q has %d outputs, want %d", fed.Task.Name, layer, got, width)
			}
		}
		outputs := expect.Value(fed.Predict(t.Context(), x, datasets.TestPart, fed.Clients[1].Test))(t)[0].Outputs
		for i, got := range expect.Value(fed.Features(t.Context(), x, c.last, datasets.TestPart, []int{1}))(t)[0].Outputs {
			if far := distance(got, precision.Double(outputs[i])); far > 1e-5 {
				t.Fatalf("%s: the outputs of %s are %v from the model's", fed.Task.Name, c.last, far)
			}
		}
	}
}

func TestFeaturesRefuse(t *testing.T) {
	fed := federation(t, datasets.Digits(), model.MLP(8))
	other := federation(t, datasets.Digits(), model.GoMLX("linear", linear))
	x := expect.Value(fed.Models(2, 1))(t)
	ctx, train := t.Context(), datasets.TrainPart
	var none context.Context
	for want, ask := range map[string]func() ([]fedkit.Predictions, error){
		`layer = "conv": must be one of dense1, dense2`:               func() ([]fedkit.Predictions, error) { return fed.Features(ctx, x.Take(0), "conv", train, []int{0}) },
		"models = [2, 610]: must be [1, d] or [3, d], one per client": func() ([]fedkit.Predictions, error) { return fed.Features(ctx, x, "", train, []int{0, 1, 2}) },
		"clients = 6: must be in [0, 6)":                              func() ([]fedkit.Predictions, error) { return fed.Features(ctx, x, "", train, []int{0, 6}) },
		`layer = "only": must be named by fedkit.NameLayer in the model, which names none`: func() ([]fedkit.Predictions, error) {
			return other.Features(ctx, expect.Value(other.Models(1, 1))(t), "only", train, []int{0})
		},
		"ctx = nil": func() ([]fedkit.Predictions, error) { return fed.Features(none, x, "", train, []int{0}) },
		"federation = nil": func() ([]fedkit.Predictions, error) {
			return (*fedkit.Federation)(nil).Features(ctx, x, "", train, []int{0})
		},
	} {
		expect.Refused(t, want)(ask())
	}
	expect.Refused(t, "clients = 6: must be in [0, 6)")(fed.Rows(6, train))
	expect.Refused(t, "part = 5")(fed.Rows(0, 5))
	expect.Refused(t, "federation = nil")((*fedkit.Federation)(nil).Rows(0, train))
}

func TestClassMeans(t *testing.T) {
	p := fedkit.Predictions{Outputs: [][]float32{{1, 2}, {5, 0}, {3, 4}, {9, 9}}, Labels: []int32{2, 0, 2, -1}}
	if means, n := p.ClassMeans(3); fmt.Sprint(means, n) != "[[5 0] [0 0] [2 3]] [1 0 2]" {
		t.Error(means, n)
	}
	regression := fedkit.Predictions{Outputs: [][]float32{{1}}, Targets: []float32{2}}
	if means, n := regression.ClassMeans(1); fmt.Sprint(means, n) != "[[0]] [0]" {
		t.Error(means, n)
	}
	if means, n := new(fedkit.Predictions).ClassMeans(1); fmt.Sprint(means, n) != "[[]] [0]" {
		t.Error(means, n)
	}
}

// The features of all clients' own examples in one call, in a layer that a GoMLX model function names, and their means by class: each
// client has two of the ten digits.
func ExampleFederation_Features() {
	twoLayers := func(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
		x = graph.Reshape(x, x.Shape().Dimensions[0], -1)
		x = fedkit.NameLayer("hidden", activation.Relu(layers.Dense(scope.In("hidden"), x, true, 32)))
		return layers.Dense(scope.In("last"), x, true, 10)
	}
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Classes{Clients: 3, PerClient: 2}, model.GoMLX("two layers", twoLayers)))
	x := must.M1(fed.Models(1, 0))
	for _, p := range must.M1(fed.Features(context.Background(), x, "hidden", datasets.TrainPart, []int{0, 1, 2})) {
		means, n := p.ClassMeans(10)
		fmt.Println(len(p.Outputs), "examples,", len(means[0]), "features; of each digit:", n)
	}
	// Output:
	// 291 examples, 32 features; of each digit: [0 145 0 0 0 146 0 0 0 0]
	// 285 examples, 32 features; of each digit: [143 0 142 0 0 0 0 0 0 0]
	// 284 examples, 32 features; of each digit: [0 0 0 0 0 0 145 0 139 0]
}

// Clients whose images are rotated alike have inputs in similar subspaces (PACFL): the angles between the leading right singular
// vectors of their rows are small.
func ExampleFederation_Rows() {
	rule := partition.Rotations{Of: partition.IID{Clients: 4}, Degrees: []int{0, 90}}
	fed := must.M1(fedkit.New(datasets.Digits(), rule, model.LogisticRegression()))
	basis := make([]mat.Dense, fed.Size()) // of each client, [64, 3]
	for i := range basis {
		var svd mat.SVD
		var v mat.Dense
		svd.Factorize(must.M1(fed.Rows(i, datasets.TrainPart)), mat.SVDThin)
		svd.VTo(&v)
		basis[i].CloneFrom(v.Slice(0, 64, 0, 3))
	}
	for i := 1; i < len(basis); i++ {
		var between mat.Dense
		var angles mat.SVD
		between.Mul(basis[0].T(), &basis[i])
		angles.Factorize(&between, mat.SVDNone)
		largest := math.Acos(angles.Values(nil)[2]) * 180 / math.Pi
		fmt.Printf("rotations %d and %d: %.0f degrees\n", fed.Clients[0].Group, fed.Clients[i].Group, largest)
	}
	// Output:
	// rotations 0 and 0: 16 degrees
	// rotations 0 and 1: 89 degrees
	// rotations 0 and 1: 86 degrees
}
