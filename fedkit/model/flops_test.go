package model_test

import (
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	mlmodel "github.com/gomlx/gomlx/ml/model"
)

// The arithmetic of one example, two operations per multiply-add, by hand.
func TestArithmetic(t *testing.T) {
	images, tokens := classes(10, 28, 1, 10), sequences(10, 5, 7)
	convolution := func(scope *mlmodel.Scope, x *Node) *Node { // [B, 26, 26, 4] → [B, 10]
		x = layers.Convolution(scope.In("conv"), x).Channels(4).KernelSize(3).NoPadding().Done()
		return layers.Dense(scope.In("dense"), Reshape(x, x.Shape().Dim(0), -1), true, 10)
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
		if got, err := task.FLOPs(test.data); err != nil || got != test.want {
			t.Errorf("%s: %v operations, want %v; %v", task.Name, got, test.want, err)
		}
	}
}

// A task that does not fit the data is an error.
func TestArithmeticOfOtherData(t *testing.T) {
	task := expect.Value(model.MLP(5)(classes(10, 28, 1, 10)))(t)
	if n, err := task.FLOPs(classes(10, 8, 1, 10)); err == nil || !strings.Contains(err.Error(), "task MLP-5: ") {
		t.Errorf("%v operations, %v", n, err)
	}
}
