package rows

import (
	"cmp"

	"github.com/gomlx/gomlx/core/graph"
)

// Pull is fedkit.Pull: a proximal term of each client of a job.
type Pull struct {
	To      *Matrix
	Weight  float64
	Weights []float64
	Mask    *Matrix
}

// At returns λ of the i-th client of the job.
func (p Pull) At(i int) float64 {
	if p.Weights != nil {
		return p.Weights[i]
	}
	return p.Weight
}

// Merge merges p and q, with π = λ/(λ+μ):
//
//	λ m ⊙ (w − a) + μ n ⊙ (w − b) = (λ+μ) o ⊙ (w − c),  o = π m + (1−π) n,  c = π m/o ⊙ a + (1−π) n/o ⊙ b.
func (p Pull) Merge(q Pull, start *Matrix) (both Pull) {
	var shares, rests []float32 // π and 1−π, once if they are the same for all
	for i := range max(1, len(p.Weights), len(q.Weights)) {
		sum, share := p.At(i)+q.At(i), 1.0
		if sum > 0 {
			share = p.At(i) / sum
		}
		shares, rests, both.Weights = append(shares, float32(share)), append(rests, float32(1-share)), append(both.Weights, sum)
	}
	if p.Weights == nil && q.Weights == nil {
		both.Weight, both.Weights = both.Weights[0], nil
	}
	share, rest := NewMatrix(shares, len(shares), 1), NewMatrix(rests, len(rests), 1)
	if p.Mask != nil || q.Mask != nil {
		all := Zeros(1, start.Cols()).Not()
		m, n := cmp.Or(p.Mask, all), cmp.Or(q.Mask, all)
		both.Mask = m.Apply(bothMasks, n, share, rest)
		share, rest = m.Apply(shareOf, share, both.Mask), n.Apply(shareOf, rest, both.Mask)
	}
	both.To = cmp.Or(p.To, start).Apply(weighed, share).Add(cmp.Or(q.To, start).Apply(weighed, rest))
	return both
}

// Without rounding, o is the masks' value where they are equal, and c is one pull's target where the other's mask is 0.
var (
	weighed   = NewProgram("weighed", func(a []*graph.Node) *graph.Node { return graph.Mul(a[0], a[1]) })
	bothMasks = NewProgram("both masks", func(a []*graph.Node) *graph.Node {
		sum := graph.Add(graph.Mul(a[0], a[2]), graph.Mul(a[1], a[3]))
		m, n := graph.BroadcastToDims(a[0], sum.Shape().Dimensions...), graph.BroadcastToDims(a[1], sum.Shape().Dimensions...)
		return graph.Where(graph.Equal(m, n), m, sum)
	})
	shareOf = NewProgram("share of both", func(a []*graph.Node) *graph.Node { // 0 where the whole is 0
		all, none := a[2], graph.ZerosLike(a[2])
		part := graph.BroadcastToDims(graph.Mul(a[0], a[1]), all.Shape().Dimensions...)
		return graph.Where(graph.Equal(all, none), none, graph.Div(part, all))
	})
)
