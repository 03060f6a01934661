package history

import (
	"fmt"
	"math"
	"slices"
)

// Clustering is the quality of a round's clustering. Clients that are in no cluster yet are left out.
type Clustering struct {
	Count int `json:"count"` // non-empty clusters

	// Agreement with the true groups: see cluster.Agreement. NaN if the federation has fewer than two.
	ARI    Float `json:"ari"`
	NMI    Float `json:"nmi"`    // see ARI
	Purity Float `json:"purity"` // see ARI

	// Distances are Euclidean, between the models of clusters 0 and 1, 0 and 2, …, 1 and 2, …; nil if the strategy does not have
	// a model for each cluster, or if there are more than 64.
	Distances []Float `json:"distances,omitempty"`
}

// String returns "clusters: 3; ARI 0.91, NMI 0.94, purity 0.97; models 0.2 to 1.4 apart".
func (c Clustering) String() string {
	words := fmt.Sprintf("clusters: %d", c.Count)
	if !math.IsNaN(float64(c.ARI)) {
		words += fmt.Sprintf("; ARI %.3g, NMI %.3g, purity %.3g", c.ARI, c.NMI, c.Purity)
	}
	if len(c.Distances) > 0 {
		words += fmt.Sprintf("; models %.3g to %.3g apart", slices.Min(c.Distances), slices.Max(c.Distances))
	}
	return words
}
