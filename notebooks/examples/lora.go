package examples

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	"github.com/gomlx/gomlx/core/graph"
)

// LoRA adapts a frozen model by products of rank r (Hu et al., arXiv 2106.09685): in place of each of its matrices W₀ [in, out] it uses
//
//	W = W₀ + (α/r) A B,  A [in, r] ~ N(0, 1/r),  B [r, out] = 0 at first.
//
// Only A and B are trained and travel, "dense1/weights/A" and "dense1/weights/B"; all else, but running values, stays as in base [d₀], the
// values of a trained model (nil: as drawn). Attention needs no more, if its projections have two axes. Identity: untrained, it predicts as
// base. FedAvg with it is FedIT (Zhang et al., arXiv 2305.05644), which averages A and B apart: the server's A B is not the mean of the
// clients' (see LoRADistance), as it is with FFALoRA and FLoRA. The given model must not be a GoMLX model function.
func LoRA(r int, alpha float64, of fedkit.Model, base []float32) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		t, err := of(d)
		switch {
		case err != nil:
			return nil, err
		case r < 1 || !(alpha > 0):
			return nil, fedkit.Invalid("LoRA's r, α", fmt.Sprintf("%d, %v", r, alpha), "r at least 1, and α above 0")
		case t.Init != nil || t.Store != nil:
			return nil, fedkit.Invalid("LoRA's model", t.Name, "one without Init and Store")
		case base != nil && len(base) != t.Dim():
			return nil, fedkit.Invalid("LoRA's base: parameters", len(base), fmt.Sprintf("%d, as %s has", t.Dim(), t.Name))
		}
		lora, n, rest, matrices := *t, len(t.Params), base, []int{}
		lora.Name, lora.Params, lora.Code = t.Name+" LoRA", slices.Clone(t.Params), append(slices.Clip(t.Code), t.Forward)
		for l, p := range t.Params {
			lora.Params[l].Frozen = !p.Running
			if base != nil {
				own := rest[:p.Size()]
				lora.Params[l].Init, rest = func(_ *rand.Rand, w []float32) { copy(w, own) }, rest[p.Size():]
			}
			if len(p.Shape) == 2 && !p.Running {
				matrices = append(matrices, l)
				lora.Params = append(lora.Params, fedkit.Param{Name: p.Name + "/A", Shape: []int{p.Shape[0], r}, Init: model.He(2 * r)},
					fedkit.Param{Name: p.Name + "/B", Shape: []int{r, p.Shape[1]}})
			}
		}
		lora.Params = append(lora.Params, fedkit.Param{Name: scale, Frozen: true, Init: func(_ *rand.Rand, w []float32) { w[0] = float32(alpha / float64(r)) }})
		adapted := func(p []*graph.Node) []*graph.Node {
			w := slices.Clone(p[:n])
			for k, l := range matrices {
				w[l] = graph.Add(w[l], graph.MulScalar(graph.Einsum("cir,cro->cio", p[n+2*k], p[n+2*k+1]), alpha/float64(r)))
			}
			return w
		}
		lora.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node { return t.Forward(adapted(p), x) }
		if t.Features != nil {
			lora.Features = func(p []*graph.Node, x *graph.Node) *graph.Node { return t.Features(adapted(p), x) }
		}
		return &lora, nil
	}
}
