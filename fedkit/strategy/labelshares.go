package strategy

import (
	"fmt"
	"slices"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/internal/sealed"
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

// sealedShares sends every client's label shares to the server, encrypted. The traffic is the server's public key down, and 8
// bytes per label plus the encryption's overhead up.
func sealedShares(r *fedkit.Round) *cluster.Points {
	shares := labelShares(r.Fed)
	M, classes := shares.Dims()
	server, err := sealed.NewServer()
	for i := 0; i < M && err == nil; i++ {
		var envelope []byte
		if envelope, err = sealed.Seal(server.PublicKey(), i, shares.RawRowView(i)); err == nil {
			var opened []float64
			opened, err = server.Open(i, envelope, classes)
			copy(shares.RawRowView(i), opened)
		}
	}
	r.Fail(err)
	model := float64(r.Fed.Task.Bytes())
	r.Send([]int{fedkit.Cloud}, r.AllClients(), sealed.KeyBytes/model)
	r.Send(r.AllClients(), []int{fedkit.Cloud}, float64(8*classes+sealed.Overhead)/model)
	return cluster.FromVectors(shares)
}
