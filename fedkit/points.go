package fedkit

import (
	"errors"
	"fmt"
	"slices"

	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/internal/fault"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"
)

// Points returns the rows of m as points to be clustered. Only inner products reach the host, [n+1, n+1]: those of the rows
// around their mean, and with it, so that float32 keeps the digits of small differences.
func (m *Matrix) Points() (*cluster.Points, error) {
	if err := fitsPairs("rows", m.Rows()); err != nil {
		return nil, err
	}
	mean := m.Mean(nil)
	if err := mean.Err(); err != nil {
		return nil, err
	}
	gram, place := m.pieces.apply(gramAround, mean)
	if gram == nil {
		gram, place = m.Apply(gramAround, mean), sequence(m.rows)
	}
	v, err := gram.Host()
	if err != nil {
		return nil, err
	}
	place = append(slices.Clip(place), gram.rows-1) // the mean
	n := len(place)
	upper := make([]float64, n*n)
	for i, at := range place {
		for j := i; j < n; j++ {
			upper[i*n+j] = float64(v[at*gram.rows+place[j]])
		}
	}
	return cluster.Shifted(mat.NewSymDense(n, upper)), nil
}

// columnsAtOnce is how many columns are centered at a time, so that they are still in the cache when they are multiplied.
const columnsAtOnce = 1 << 15

// gramAround is the Gram matrix of the rows of some matrices around a center [1, d], and of the center.
var gramAround = NewProgram("gram around", func(a []*graph.Node) (gram *graph.Node) {
	matrices, center := a[:len(a)-1], a[len(a)-1]
	d := center.Shape().Dimensions[1]
	for from := 0; from < d; from += columnsAtOnce {
		some := func(m *graph.Node) *graph.Node {
			return graph.Slice(m, graph.AxisRange(), graph.AxisRange(from, min(from+columnsAtOnce, d)))
		}
		var rows []*graph.Node
		for _, m := range matrices {
			rows = append(rows, graph.Sub(some(m), some(center)))
		}
		all := graph.Concatenate(append(rows, some(center)), 0)
		part := graph.DotGeneral(all, []int{1}, nil, all, []int{1}, nil)
		if gram == nil {
			gram = part
		} else {
			gram = graph.Add(gram, part)
		}
	}
	return gram
})

// Points is Matrix.Points in a round. After an error it has no points.
func (r *Round) Points(m *Matrix) *cluster.Points {
	defer r.back(r.stage)
	var p *cluster.Points
	if r.in("points") && r.leaving(func() (err error) {
		p, err = m.Points()
		return err
	}) {
		return p
	}
	return new(cluster.Points)
}

// Cluster groups points with the round's randomness and returns the group of each, [n]. With k = 0 the
// number of groups is the clusterer's choice, or that with the greatest mean silhouette if it makes none.
func (r *Round) Cluster(by cluster.Clusterer, p *cluster.Points, k int) []int {
	defer r.back(r.stage)
	if !r.in("cluster") {
		return make([]int, p.Len())
	}
	if f, ok := by.(cluster.Finder); k == 0 && !(ok && f.Finds()) {
		by = cluster.BestSilhouette{Of: by}
	}
	var labels []int
	rng := r.Rand("cluster")
	if r.leaving(func() (err error) {
		labels, err = by.Cluster(p, k, rng)
		if err == nil && (len(labels) != p.Len() || slices.Min(labels) < 0 || k > 0 && slices.Max(labels) >= k) {
			err = Invalid("what the clusterer returned", labels, fmt.Sprintf("%d labels in [0, k)", p.Len()))
		}
		return err
	}) {
		return labels
	}
	return make([]int, p.Len())
}

// leaving does work that takes long if there are many clients, and reports whether it succeeded. If the run is canceled, the work is
// left to itself, as engine.Device leaves a program: nobody waits for what is lost either way.
func (r *Round) leaving(work func() error) bool {
	done := make(chan error, 1)
	go func() {
		err := errors.New("the work was given up") // by runtime.Goexit
		defer func() { done <- err }()
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %w", fault.Panicked(p))
			}
		}()
		err = work()
	}()
	select {
	case err := <-done:
		r.Fail(err)
		return err == nil
	case <-r.ctx.Done():
		r.Fail(r.ctx.Err())
		return false
	}
}
