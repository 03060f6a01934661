package strategy

import (
	"fmt"
	"math"
	"slices"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/mat"
)

// sampleClusters returns the round's cohort by cluster: the members that the selector chooses from all clients or, without a
// selector, a share of each cluster (0: all), uniformly at random and at least one client. A client with a negative label is in
// no cluster and does not participate.
func sampleClusters(r *fedkit.Round, by fedkit.Selector, share float64, labels []int) [][]int {
	clients := r.AllClients()
	if by != nil {
		clients = r.Select(by, share)
	}
	groups := make([][]int, 1+slices.Max(labels))
	for _, i := range clients {
		if c := labels[i]; c >= 0 {
			groups[c] = append(groups[c], i)
		}
	}
	rng := r.Rand("select")
	for c, members := range groups {
		if n := int(math.Round(share * float64(len(members)))); by == nil && share > 0 && n < len(members) {
			groups[c] = take(members, rng.Perm(len(members))[:max(1, n)])
			slices.Sort(groups[c])
		}
	}
	return groups
}

// inTurn trains groups of clients sequentially: the first from x, each other from the weighted mean of the group before. It
// returns the last mean.
func inTurn(r *fedkit.Round, x *fedkit.Matrix, groups [][]int, local fedkit.Local, by Weighting) *fedkit.Matrix {
	for _, S := range groups {
		if len(S) > 0 {
			u := r.Train(fedkit.Job{Clients: S, Start: x, Local: local})
			x = u.Models.Mean(Weights(r, u, by, ByExamples{}))
		}
	}
	return x
}

// needsLabels rejects an option that clusters clients by label shares, for data without labels.
func needsLabels(fed *fedkit.Federation, field string, value any, allowed string) error {
	if fed.Data.Classes > 0 {
		return nil
	}
	return fedkit.Invalid(field, value, fmt.Sprintf("%s for data without labels", allowed))
}

// labelShares returns each client's label distribution over its training examples, [M, classes].
func labelShares(fed *fedkit.Federation) *mat.Dense {
	shares := partition.LabelShares(partition.Labels(fed.Data, fed.Clients))
	return mat.NewDense(fed.Size(), fed.Data.Classes, slices.Concat(shares...))
}

// What HPKE with X25519, HKDF-SHA256 and AES-256-GCM takes (RFC 9180, sections 7.1 and 7.3).
const (
	keyBytes  = 32      // the server's public key, Npk
	sealBytes = 32 + 16 // beyond the text: the encapsulated key, Nenc, and the tag, Nt
)

// sendShares returns the clients' label shares. It counts what they take if they travel sealed: the server's public key down, and 8
// bytes per label and the seal up. Nothing is encrypted here.
func sendShares(r *fedkit.Round) *cluster.Points {
	shares := labelShares(r.Fed)
	_, classes := shares.Dims()
	model := float64(r.Fed.Task.Bytes())
	r.Send([]int{fedkit.Cloud}, r.AllClients(), keyBytes/model)
	r.Send(r.AllClients(), []int{fedkit.Cloud}, float64(8*classes+sealBytes)/model)
	return cluster.FromVectors(shares)
}
