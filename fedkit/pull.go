package fedkit

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gomlx/gomlx/core/graph"
)

// Pull is a proximal term, as in FedProx. It adds to the objective of client i
//
//	(λ_i/2) Σ_j p_j (w_j − a_j)²,
//
// and so λ_i p ⊙ (w − a) to its gradient. Several pulls are merged into one with the same gradient, so that the compiled program
// stays the same.
type Pull struct {
	To      *Matrix   // a, [1, d] or [n, d]; nil: Start
	Weight  float64   // λ ≥ 0, the same for all clients
	Weights []float64 // λ_i by client of the job, instead of Weight
	Mask    *Matrix   // p, weight ≥ 0 of each parameter, such as 1 for one that is pulled and 0 for one that is not, [1, d] or [n, d]; nil: 1 for all
}

// weight returns λ of the i-th client of the job.
func (p *Pull) weight(i int) float64 {
	if p.Weights != nil {
		return p.Weights[i]
	}
	return p.Weight
}

// pulls returns the job's pulls, or that of Local.Prox.
func (j *Job) pulls() []Pull {
	if j.Pulls == nil && j.Local.Prox > 0 {
		return []Pull{{Weight: j.Local.Prox}}
	}
	return j.Pulls
}

// mu returns each client's Σ_k λ_k; nil if there are no pulls.
func (j *Job) mu() (mu []float64) {
	pulls := j.pulls()
	if len(pulls) == 0 {
		return nil
	}
	for i := range j.Clients {
		mu = append(mu, 0)
		for _, p := range pulls {
			mu[i] += p.weight(i)
		}
	}
	return mu
}

// pull merges the job's pulls into one. Its To is nil if that is Start.
func (j *Job) pull() (one Pull) {
	for i, p := range j.pulls() {
		if i == 0 {
			one = p
		} else {
			one = one.merge(&p, j.Start)
		}
	}
	if one.To == j.Start {
		one.To = nil
	}
	return one
}

// merge merges p and q, with π = λ/(λ+μ):
//
//	λ m ⊙ (w − a) + μ n ⊙ (w − b) = (λ+μ) o ⊙ (w − c),  o = π m + (1−π) n,  c = π m/o ⊙ a + (1−π) n/o ⊙ b.
func (p *Pull) merge(q *Pull, start *Matrix) (both Pull) {
	var shares, rests []float32 // π and 1−π, once if they are the same for all
	for i := range max(1, len(p.Weights), len(q.Weights)) {
		sum, share := p.weight(i)+q.weight(i), 1.0
		if sum > 0 {
			share = p.weight(i) / sum
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

// checkPulls refuses pulls with invalid weights or shapes.
func (j *Job) checkPulls(d int) error {
	for k, p := range j.Pulls {
		name, n := fmt.Sprintf("Pulls[%d]", k), len(j.Clients)
		ok := func(weight float64) bool { return weight >= 0 && !math.IsInf(weight, 0) }
		switch {
		case !ok(p.Weight):
			return Invalid("Job."+name+".Weight", p.Weight, "a number ≥ 0")
		case p.Weight != 0 && p.Weights != nil:
			return Invalid("Job."+name+".Weights", p.Weights, "nil if Weight is set: use one of them")
		}
		if err := checkList(name+".Weights", p.Weights, j.Clients, "≥ 0", ok); err != nil {
			return err
		}
		if err := cmp.Or(checkRows(name+".To", p.To, n, d), checkRows(name+".Mask", p.Mask, n, d)); err != nil {
			return err
		}
	}
	return nil
}
