package aggregate

import (
	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"
)

// centered returns the inner products of the rows of u [n, d] relative to their coordinate-wise median, [n, n]. They
// determine all distances between the rows, and from the rows to mixtures of them. Only these n² numbers reach the host.
//
// In float32 small differences between rows would drown in what the rows share. Relative to the mean, they would drown
// as soon as one client sends a huge row. Rows are scaled to a largest value of 1 before they are multiplied, and scaled
// back in float64, so that no product overflows.
func centered(u *fedkit.Matrix) (*mat.SymDense, error) {
	n := u.Rows()
	v, err := u.Apply(products, Median{}.Aggregate(u, nil)).Host()
	if err != nil {
		return nil, err
	}
	g := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			g.SetSym(i, j, float64(v[i*(n+1)+j])*float64(v[i*(n+1)+n])*float64(v[j*(n+1)+n]))
		}
	}
	return g, nil
}

// distances returns the squared distances between the rows of u, [n][n].
func distances(u *fedkit.Matrix) ([][]float64, error) {
	g, err := centered(u)
	if err != nil {
		return nil, err
	}
	far := make([][]float64, u.Rows())
	for i := range far {
		far[i] = make([]float64, len(far))
		for j := range far {
			if j != i {
				far[i][j] = max(0, g.At(i, i)+g.At(j, j)-2*g.At(i, j))
			}
		}
	}
	return far, nil
}

// products is [n, n+1]: the inner products of the rows of u [n, d] minus center [1, d], scaled, and the scales.
var products = fedkit.NewProgram("centered products", func(a []*Node) *Node {
	u := Sub(a[0], a[1])
	scale := ReduceAndKeep(Abs(u), ReduceMax, 1)
	scale = Where(Equal(scale, ZerosLike(scale)), OnesLike(scale), scale) // a row at the center
	u = Div(u, scale)
	return Concatenate([]*Node{DotGeneral(u, []int{1}, nil, u, []int{1}, nil), scale}, 1)
})
