package examples

import (
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// Twin is a model [2d] of two copies of the given model, "own" and "shared", of which the first predicts. The given model must
// not be a GoMLX model function.
func Twin(of fedkit.Model) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		t, err := of(d)
		if err != nil {
			return nil, err
		}
		if t.Init != nil || t.Train != nil || t.Store != nil {
			return nil, fedkit.Invalid("Twin's model", t.Name, "one without Init, Train and Store")
		}
		twin := &fedkit.Task{Name: t.Name + " twin", Loss: t.Loss, Accuracy: t.Accuracy, Code: append(slices.Clip(t.Code), t.Forward)}
		for _, half := range []string{"own/", "shared/"} {
			for _, p := range t.Params {
				p.Name = half + p.Name
				twin.Params = append(twin.Params, p)
			}
		}
		twin.Forward = func(p []*Node, x *Node) *Node { return t.Forward(p[:len(t.Params)], x) }
		return twin, nil
	}
}

func isTwin(t *fedkit.Task) bool {
	_, err := t.Mask("own", "shared")
	return err == nil
}

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
