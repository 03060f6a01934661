package partition

import (
	"fmt"
	"math/rand/v2"

	"fedkit.example/datasets"
)

// Noise is feature skew by different noise levels: it adds to every value, as a model sees it, of client i's training
// and test rows a draw from
//
//	N(0, σ_i²)
//
// If Std is set, the clients of Of are split evenly, in order, over its k entries, and the position is the client's true
// group (the product, as for Rotations, if Of has groups already). If Max is set, noise grows from client to client,
// σ_i = Max·(i+1)/M, and groups stay as they are.
//
// Bytes stay bytes: noise is rounded to whole steps of Scale, and values are clipped to [0, 255]. A row's noise depends
// only on Seed, part, row and σ.
//
// Source: Q. Li et al., Federated Learning on Non-IID Data Silos: An Experimental Study, 2022 (arXiv 2102.02079),
// section 4, where the noise level grows with i/M; here the level is the standard deviation.
type Noise struct {
	Of   Rule      // makes the clients
	Std  []float64 // σ of each group, in the units a model sees (images: 1 is white); in [0, 10⁶]
	Max  float64   // σ of the last client, in (0, 10⁶]. Exactly one of Std and Max is set
	Seed uint64    // of the noise
}

// Partition returns the clients of Of in a new, noisy data set. It fails if a field is out of range, a group has fewer
// clients than Std has entries, or Of fails.
func (r Noise) Partition(d *datasets.Dataset) (*Partitioned, error) {
	if (len(r.Std) == 0) == (r.Max == 0) {
		return nil, fmt.Errorf("partition.Noise: Std = %v, Max = %v: exactly one must be set", r.Std, r.Max)
	}
	for _, s := range append([]float64{r.Max}, r.Std...) {
		if !(s >= 0 && s <= 1e6) {
			return nil, fmt.Errorf("partition.Noise: Std = %v, Max = %v: must be in [0, 1e6]", r.Std, r.Max)
		}
	}
	deal, err := inner("Noise", r.Of, d)
	if err != nil {
		return nil, err
	}
	std := make([]float64, len(deal.Clients))
	if r.Max > 0 {
		for i := range std {
			std[i] = r.Max * float64(i+1) / float64(len(std))
		}
	} else {
		groups, err := deal.regroup("Noise", "Std", len(r.Std))
		if err != nil {
			return nil, err
		}
		for i, g := range groups {
			std[i] = r.Std[g]
		}
	}
	deal.ownFeatures()
	deal.each(func(s *datasets.Split, part string, row, client int) {
		if std[client] == 0 {
			return
		}
		rng := rand.New(stream(r.Seed, fmt.Sprint("noise ", part, row)))
		edit(s, row, func(v float64) float64 { return v + std[client]*rng.NormFloat64() })
	})
	return deal.checked("Noise")
}

// String returns "20 clients, IID, noise σ = 0, 0.5", or "…, noise up to σ = 0.5", and the seed unless it is 0.
func (r Noise) String() string {
	if r.Max != 0 {
		return fmt.Sprintf("%v, noise up to σ = %v%s", r.Of, r.Max, seeded(r.Seed))
	}
	return fmt.Sprintf("%v, noise σ = %s%s", r.Of, listed(r.Std), seeded(r.Seed))
}
