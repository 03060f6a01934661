package fedkit

import (
	"errors"
	"fmt"
	"slices"

	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/internal/fault"
)

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
		defer fault.Recovered("", &err)
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
