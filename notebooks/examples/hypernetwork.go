package examples

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	. "github.com/gomlx/gomlx/core/graph"
)

// hypernetwork is PFedHN's h: models [n, d] for embeddings [n, k].
var hypernetwork = fedkit.NewProgram("hypernetwork", models)

// ascent has three results, v by a step of α and the two parts of φ by one of α/|S|: up the gradient of Σ_i θ_iᵀ Δ_i, as the models are to
// move along Δ [n, d]. This is the sign of the authors' code.
var ascent = fedkit.NewProgram("hypernetwork's ascent", func(in []*Node) []*Node {
	delta, alpha, mean := in[3], in[4], in[5]
	g := Gradient(ReduceAllSum(Mul(models(in), delta)), in[:3]...)
	return []*Node{Add(in[0], Mul(g[0], alpha)), Add(in[1], Mul(g[1], mean)), Add(in[2], Mul(g[2], mean))}
})

// models is b + W relu(c + U v) of embeddings v [n, k], U and c [1, (k+1)h], and W and b [h+1, d].
func models(in []*Node) *Node {
	v := biased(in[0])
	return MatMul(biased(model.ReLU(MatMul(v, Reshape(in[1], v.Shape().Dim(1), -1)))), in[2])
}

// biased appends a column of ones.
func biased(x *Node) *Node {
	return Concatenate([]*Node{x, OnesLike(Slice(x, AxisRange(), AxisRange(0, 1)))}, 1)
}
