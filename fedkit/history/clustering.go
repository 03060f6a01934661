package history

// Clustering says how the clients of a round are clustered, and how well. Clients that are in no cluster yet are left out.
type Clustering struct {
	Count int `json:"count"` // clusters that have a client

	// Agreement with the true groups: see cluster.Agreement. NaN if the federation has none, or only one.
	ARI    Float `json:"ari"`
	NMI    Float `json:"nmi"`    // see ARI
	Purity Float `json:"purity"` // see ARI

	// Distances are Euclidean, between the models of the clusters 0 and 1, 0 and 2, …, 1 and 2, …; nil if the strategy has no
	// model for each cluster, or if there are more than 64.
	Distances []Float `json:"distances,omitempty"`
}
