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
	defer r.restoreStage(r.stage)
	var p *cluster.Points
	if r.enter("points") && r.cancelable(func() (err error) {
		p, err = m.Points()
		return err
	}) {
		return p
	}
	return new(cluster.Points)
}

// Cluster clusters points with the round's randomness and returns the label of each, [n]. With k = 0, the clusterer chooses the
// number of clusters, or the greatest mean silhouette if the clusterer cannot.
func (r *Round) Cluster(by cluster.Clusterer, p *cluster.Points, k int) []int {
	defer r.restoreStage(r.stage)
	if !r.enter("cluster") {
		return make([]int, p.Len())
	}
	if f, ok := by.(cluster.Finder); k == 0 && !(ok && f.Finds()) {
		by = cluster.BestSilhouette{Of: by}
	}
	var labels []int
	rng := r.Rand("cluster")
	if r.cancelable(func() (err error) {
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

// cancelable does work that is slow for many clients, and reports whether it succeeded. If the run is canceled, it returns without
// waiting for the work, as engine.Device does for a program.
func (r *Round) cancelable(work func() error) bool {
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
