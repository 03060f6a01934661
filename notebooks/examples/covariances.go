package examples

import (
	"iter"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// covariances returns FedCOF's G [f, f], and N_y μ_y as columns, [f, k], from State.Means.
func covariances(means [][]float64, f, k int, gamma float64) (G *mat.SymDense, C *mat.Dense) {
	G, C = mat.NewSymDense(f, nil), mat.NewDense(f, k, nil)
	total, sum := 0.0, mat.NewVecDense(f, nil)
	for y := range k {
		own := classOf(means, y, f)
		N, K, mu := 0.0, 0.0, mat.NewVecDense(f, nil)
		for mi, n := range own {
			N, K = N+n, K+1
			mu.AddScaledVec(mu, n, mi)
		}
		if N == 0 {
			continue
		}
		C.SetCol(y, slices.Clone(mu.RawVector().Data))
		sum.AddVec(sum, mu)
		mu.ScaleVec(1/N, mu)
		for mi, n := range own {
			mi.SubVec(mi, mu)
			G.SymRankOne(G, (N-1)*n/max(1, K-1), mi)
		}
		for j := range f {
			G.SetSym(j, j, G.At(j, j)+(N-1)*gamma)
		}
		total += N
	}
	G.SymRankOne(G, 1/total, sum) // N μμᵀ
	return G, C
}

// classOf yields μ_iy, a copy, and n_iy of each client that has class y.
func classOf(means [][]float64, y, f int) iter.Seq2[*mat.VecDense, float64] {
	return func(yield func(mu *mat.VecDense, n float64) bool) {
		for _, m := range means {
			if m == nil || m[y*(f+1)+f] == 0 {
				continue
			}
			if own := m[y*(f+1) : (y+1)*(f+1)]; !yield(mat.NewVecDense(f, slices.Clone(own[:f])), own[f]) {
				return
			}
		}
	}
}
