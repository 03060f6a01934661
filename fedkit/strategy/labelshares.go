package strategy

import (
	"fmt"
	"slices"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/mat"
)

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
