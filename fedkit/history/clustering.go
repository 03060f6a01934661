package history

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
