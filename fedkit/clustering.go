package fedkit

import (
	"math"
	"slices"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/cluster"
)

// maxCentroids is the largest number of clusters whose distances are recorded.
const maxCentroids = 64

// recordClusters records the clusters that a strategy serves, and their quality.
func (r *Round) recordClusters(sv *Serving) {
	r.record.Clusters = slices.Clone(sv.Clusters)
	if sv.Clusters == nil {
		return
	}
	c := &Clustering{}
	names := slices.Clone(sv.Clusters)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name >= 0 {
			c.Count++
		}
	}
	truth := partition.Groups(r.Fed.Clients)
	agree := cluster.Agreement{ARI: math.NaN(), NMI: math.NaN(), Purity: math.NaN()}
	if slices.Max(truth) > slices.Min(truth) {
		agree = cluster.Agree(sv.Clusters, truth)
	}
	c.ARI, c.NMI, c.Purity = Float(agree.ARI), Float(agree.NMI), Float(agree.Purity)
	c.Distances = r.distances(sv)
	r.record.Clustering = c
}

// distances returns the pairwise Euclidean distances of the clusters' models.
func (r *Round) distances(sv *Serving) (d []Float) {
	models := sv.clusterModels()
	if models == nil && sv.ByLoss {
		models = sv.Models
	}
	if models.Rows() < 2 || models.Rows() > maxCentroids {
		return nil
	}
	p, err := models.Points()
	if err != nil {
		r.Fail(err)
		return nil
	}
	for _, v := range p.Distances().Values() {
		d = append(d, Float(v))
	}
	return d
}
