package cluster

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit/internal/fault"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Cosines returns the cosine similarity of every point and the mean of every group, [n][k]: 0 if either is zero, NaN for an empty
// group.
//
// Similar models have cosines close to 1, of which float32 keeps too few digits. Then give Cosines the Gram
// matrix of points made by FromShiftedGram.
func Cosines(gram *mat.SymDense, labels []int, k int) [][]float64 {
	if gram == nil || gram.SymmetricDim() < len(labels) {
		panic(fault.Invalid("gram", sizeOf(gram), fmt.Sprintf("the inner products of %d points", len(labels))))
	}
	groups := Members(labels, k)
	cosines := zeros(len(labels), len(groups))
	for c, g := range groups {
		square := 0.0 // of the length of the mean
		for i := range cosines {
			for _, j := range g {
				cosines[i][c] += gram.At(i, j) / float64(len(g))
			}
		}
		for _, j := range g {
			square += cosines[j][c] / float64(len(g))
		}
		for i := range cosines {
			lengths := math.Sqrt(max(0, gram.At(i, i)) * max(0, square)) // rounding may leave less than 0
			switch {
			case len(g) == 0:
				cosines[i][c] = math.NaN()
			case lengths > 0:
				cosines[i][c] /= lengths
			}
		}
	}
	return cosines
}

// SoftTop is the softmax of v/temperature over its m largest values, 0 for the others: soft weights of one point. At temperature
// 0, only the greatest value has weight. NaN is a missing group, which gets 0. If v is all NaN, or m < 1, all weights are 0.
func SoftTop(v []float64, m int, temperature float64) []float64 {
	var order []int
	for c := range v {
		if !math.IsNaN(v[c]) {
			order = append(order, c)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v[b], v[a]) })
	w, sum := make([]float64, len(v)), 0.0
	order = order[:max(0, min(m, len(order)))]
	for _, c := range order {
		w[c] = 1
		if greatest := v[order[0]]; v[c] != greatest {
			w[c] = math.Exp((v[c] - greatest) / temperature)
		}
		sum += w[c]
	}
	for _, c := range order {
		w[c] /= sum
	}
	return w
}

// Responsibilities is a step of expectation maximization for the weights π [k] of a mixture of k models, from their losses on n
// examples, [k, n], as negative log-likelihoods:
//
//	q_j(i) ∝ π_j exp(−loss_j(i)), with Σ_j q_j(i) = 1,  π_j ← mean of q_j(i) over i
//
// It returns the responsibilities q [k, n] and the next π.
func Responsibilities(loss [][]float32, pi []float64) (q [][]float32, next []float64) {
	if len(pi) == 0 || len(loss) < len(pi) {
		panic(fault.Invalid("loss", fmt.Sprintf("%d rows", len(loss)), fmt.Sprintf("one row for each of the %d models, at least one", len(pi))))
	}
	next, log := make([]float64, len(pi)), make([]float64, len(pi))
	for range pi {
		q = append(q, make([]float32, len(loss[0])))
	}
	for i := range loss[0] {
		for j := range pi {
			log[j] = math.Log(pi[j]) - float64(loss[j][i])
		}
		all := floats.LogSumExp(log)
		for j := range pi {
			share := math.Exp(log[j] - all)
			q[j][i] = float32(share)
			next[j] += share / float64(len(loss[0]))
		}
	}
	return q, next
}
