package model

import (
	"fmt"
	"math"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Transformer is a language model that sees the tokens before a position only: the encoder of Vaswani et al. (arXiv 1706.03762) with a
// causal mask, whose embeddings are also those of its outputs. With the defaults it is the one of arXiv 2107.06917 for Stack Overflow.
// From the embedding e_t of the token t of d = Width numbers,
//
//	x_t = √d e_t + position_t,    x ← norm(x + attention(x)),    x ← norm(x + W₂ ReLU(W₁ x + b₁) + b₂)    in each layer,
//	out_t = x_t Eᵀ,    attention = concatenation over heads of softmax(QKᵀ/√(d/Heads) + mask) V, times W_o, plus b_o,
//
// where position_t has sin(t/10000^(2i/d)) and cos(t/10000^(2i/d)), and norm is layer normalization.
//
//	fed, err := fedkit.New(texts, partition.Natural{}, model.Transformer{Vocabulary: 90}.Model())
//
// Data are those of GRU, with tokens as labels: the next one, or the one that follows each, −1 where there is none. Padding comes
// after a text, so that no token sees it.
type Transformer struct {
	Vocabulary int     // number of tokens, and of classes; required
	Width      int     `range:"[1,inf)" default:"96"`   // d, size of embeddings and states
	Heads      int     `range:"[1,inf)" default:"8"`    // of attention; a divisor of Width
	Layers     int     `range:"[1,inf)" default:"3"`    // of attention and dense layers
	Hidden     int     `range:"[1,inf)" default:"1536"` // units of a layer's dense layers
	Dropout    float64 `range:"[0,1)"`                  // rate of dropout of what a layer adds to x
}

// Model returns the model.
func (m Transformer) Model() fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		if err := fedkit.Check(m, nil, 0); err != nil {
			return nil, err
		}
		m := fedkit.Defaults(m)
		_, err := sequences("model.Transformer", d, m.Vocabulary, size{"Width", m.Width}, size{"Hidden", m.Hidden})
		switch {
		case err != nil:
			return nil, err
		case m.Width%m.Heads != 0:
			return nil, fedkit.Invalid("model.Transformer: Heads", m.Heads, fmt.Sprintf("a divisor of Width, %d", m.Width))
		case d.Classes != m.Vocabulary:
			return nil, fedkit.Invalid("model.Transformer: Vocabulary", m.Vocabulary, fmt.Sprintf("%d, the classes of the data: labels are tokens", d.Classes))
		}
		t := &fedkit.Task{Name: fmt.Sprintf("Transformer-%d-%d-%d", m.Width, m.Heads, m.Layers)}
		t.Params = []fedkit.Param{{Name: "embedding", Shape: []int{m.Vocabulary, m.Width}, Init: uniform(0.05)}}
		dense := func(name string, in, out int) {
			t.Params = append(t.Params, denseParams(name, in, out)...)
			t.Params[len(t.Params)-2].Init = normal(1 / float64(in))
		}
		norm := func(name string) {
			t.Params = append(t.Params, fedkit.Param{Name: name + "/gain", Shape: []int{m.Width}, Init: ones}, fedkit.Param{Name: name + "/offset", Shape: []int{m.Width}})
		}
		for l := range m.Layers {
			name := fmt.Sprintf("layer%d/", l+1)
			dense(name+"inputs", m.Width, 3*m.Width) // Q, K and V
			dense(name+"outputs", m.Width, m.Width)  // W_o and b_o
			norm(name + "norm1")
			dense(name+"dense1", m.Width, m.Hidden)
			dense(name+"dense2", m.Hidden, m.Width)
			norm(name + "norm2")
		}
		t.Features = func(p []*Node, x *Node) *Node { return Squeeze(SliceAxis(m.states(p, x), 2, AxisElem(-1)), 2) }
		t.Forward = func(p []*Node, x *Node) *Node {
			states := m.states(p, x)
			if !labelsTokens(d) {
				states = SliceAxis(states, 2, AxisElem(-1))
			}
			out := Einsum("cbtd,cvd->cbtv", states, p[0])
			if !labelsTokens(d) {
				out = Squeeze(out, 2)
			}
			return fedkit.NameLayer("embedding", out)
		}
		return t, nil
	}
}

// states are x after the last layer, [C, B, T, Width]: x [C or 1, B, T].
func (m Transformer) states(p []*Node, x *Node) *Node {
	g, n, T := x.Graph(), x.Shape().Dim(1), x.Shape().Dim(2)
	next := func() (w *Node) {
		w, p = p[0], p[1:]
		return w
	}
	tokens := OneHot(ConvertDType(Reshape(x, x.Shape().Dim(0), n*T), dtypes.Int32), m.Vocabulary, p[0].DType())
	x = MulScalar(product(tokens, next()), math.Sqrt(float64(m.Width))) // [C, B·T, Width], as in all of it but attention
	clients := x.Shape().Dim(0)
	x = Reshape(Add(Reshape(x, clients, n, T, m.Width), Const(g, [][][][]float32{{m.positions(T)}})), clients, n*T, m.Width)
	future := LessThan(Iota(g, shapes.Make(dtypes.Int32, T, T), 0), Iota(g, shapes.Make(dtypes.Int32, T, T), 1))
	for l := range m.Layers {
		qkv := Reshape(Dense(x, next(), next()), clients, n, T, 3, m.Heads, m.Width/m.Heads)
		part := func(i int) *Node { return Squeeze(SliceAxis(qkv, 3, AxisElem(i)), 3) } // [C, B, T, Heads, Width/Heads]
		scores := MulScalar(Einsum("cbihd,cbjhd->cbhij", part(0), part(1)), 1/math.Sqrt(float64(m.Width/m.Heads)))
		scores = Where(BroadcastToDims(InsertAxes(future, 0, 0, 0), scores.Shape().Dimensions...), AddScalar(ZerosLike(scores), -1e9), scores)
		seen := Reshape(Einsum("cbhij,cbjhd->cbihd", Softmax(scores, -1), part(2)), clients, n*T, m.Width)
		x = layerNorm(Add(x, Dropout(Dense(seen, next(), next()), m.Dropout)), next(), next())
		hidden := ReLU(Dense(x, next(), next()))
		x = layerNorm(Add(x, Dropout(Dense(hidden, next(), next()), m.Dropout)), next(), next())
		fedkit.NameLayer(fmt.Sprintf("layer%d", l+1), Reshape(x, clients, n, T, m.Width))
	}
	return Reshape(x, clients, n, T, m.Width)
}

// positions are the encodings of the positions, [T][Width].
func (m Transformer) positions(T int) [][]float32 {
	all := make([][]float32, T)
	for t := range all {
		all[t] = make([]float32, m.Width)
		for i := range all[t] {
			sin, cos := math.Sincos(float64(t) / math.Pow(10000, float64(i/2*2)/float64(m.Width)))
			all[t][i] = float32([]float64{sin, cos}[i%2])
		}
	}
	return all
}

// layerNorm is gain ⊙ (x − mean) / √(variance + 10⁻⁵) + offset over the last axis: x [C, N, d], gain and offset [C, d].
func layerNorm(x, gain, offset *Node) *Node {
	x = Sub(x, ReduceAndKeep(x, ReduceMean, -1))
	x = Div(x, Sqrt(AddScalar(ReduceAndKeep(Square(x), ReduceMean, -1), 1e-5)))
	return Add(Mul(x, InsertAxes(gain, 1)), InsertAxes(offset, 1))
}
