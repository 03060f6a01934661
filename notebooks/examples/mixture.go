package examples

import (
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// mixture trains a Twin: its shared half as usual, and its own half through the mixture.
type mixture struct{ alpha float64 }

// Loss implements fedkit.Objective. It reports the mixture's loss.
func (o mixture) Loss(b *fedkit.Batch) *Node {
	v, w := b.Params[:len(b.Params)/2], b.Params[len(b.Params)/2:]
	mixed := make([]*Node, len(v))
	for l := range v {
		mixed[l] = Add(MulScalar(v[l], o.alpha), MulScalar(StopGradient(w[l]), 1-o.alpha))
	}
	loss := b.Loss(b.Forward(mixed))
	b.Report(loss)
	return Add(loss, b.Loss(b.Forward(w)))
}
