package examples

import (
	"math"
	"slices"
	"testing"

	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// vectors are of different lengths: the third is far longer than the others, and the last is 0.
var vectors = mat.NewDense(5, 3, []float64{1, 2, 0, -1, 0.5, 3, 40, 10, -20, 0.2, -0.1, 0.3, 0, 0, 0})

func cos(a, b []float64) float64 {
	if n := floats.Norm(a, 2) * floats.Norm(b, 2); n > 0 {
		return floats.Dot(a, b) / n
	}
	return 0
}

// The cosines of vectors and singular vectors, whose signs are free: their distances are those of a singular value decomposition.
func TestDecomposed(t *testing.T) {
	var svd mat.SVD
	var u, gram mat.Dense
	svd.Factorize(vectors.T(), mat.SVDThin)
	svd.UTo(&u)
	gram.Mul(vectors, vectors.T())
	p := decomposed(mat.NewSymDense(5, gram.RawMatrix().Data), 2)
	for i := range 5 {
		for j := range i {
			want := 0.0
			for c := range 2 {
				v := mat.Col(nil, c, &u)
				want = math.Hypot(want, cos(vectors.RawRowView(i), v)-cos(vectors.RawRowView(j), v))
			}
			if got := p.Distances().At(i, j); !(math.Abs(got-want) <= 1e-6) {
				t.Errorf("vectors %d and %d are %v apart, want %v", i, j, got, want)
			}
		}
	}
}

// Of centers, the last two points, the one at the smaller angle counts, however far it is; in a tie the first, as for 0.
func TestClosest(t *testing.T) {
	points := mat.NewDense(6, 2, []float64{1, 0.1, 0.1, 1, -1, 0, 0, 0, 0.01, 0, 0, 100})
	if of := closest(cluster.FromVectors(points), 4); !slices.Equal(of, []int{0, 1, 1, 0}) {
		t.Error(of)
	}
}
