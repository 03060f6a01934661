package datasets

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"fedkit.example/fedkit/config"
)

// GaussianMixture makes data with true groups of clients, for the study of clustered methods. Every class of every group
// is an isotropic Gaussian cloud,
//
//	x ~ N(m_gc, I),  m_gc uniform on the sphere of radius Separation,
//
// and all classes are equally likely. Client i is in group i mod K; Owner is the client and Groups the truth. By default
// each group has its own clouds, so that features differ by group. With Permute all groups have the same clouds and only
// the labels differ: what group 0 calls c, group g calls (c + g) mod Classes, so that no model fits two groups.
type GaussianMixture struct {
	Groups     int     `range:"[1,inf)" default:"4"`   // K
	Clients    int     `range:"[1,inf)" default:"20"`  // M ≥ K
	Rows       int     `range:"[1,inf)" default:"100"` // training examples per client
	TestRows   int     `range:"[1,inf)" default:"25"`  // test examples per client
	Features   int     `range:"[1,inf)" default:"10"`  // f
	Classes    int     `range:"[2,inf)" default:"4"`   // with Permute at least K
	Separation float64 `range:"[0,inf)" default:"3"`   // distance of a cloud's center from the origin, in standard deviations
	Permute    bool    // groups differ in labels, not in features
	Seed       uint64  // chooses all that is drawn
}

// Make returns the data set: Shape [f], Floats.
func (m GaussianMixture) Make() (*Dataset, error) {
	m = config.Defaults(m)
	if err := cmp.Or(inRange("GaussianMixture", m),
		checkSize("GaussianMixture", "Clients × (Rows + TestRows) × Features", m.Clients, m.Rows+m.TestRows, m.Features),
		checkSize("GaussianMixture", "Groups × Classes × Features", m.Groups, m.Classes, m.Features)); err != nil {
		return nil, err
	}
	if m.Clients < m.Groups {
		return nil, fmt.Errorf("datasets: GaussianMixture: Clients = %d: must be at least %d, the number of Groups", m.Clients, m.Groups)
	}
	if m.Permute && m.Classes < m.Groups {
		return nil, fmt.Errorf("datasets: GaussianMixture: Classes = %d: must be at least Groups = %d with Permute", m.Classes, m.Groups)
	}
	centers := make([][][]float64, m.Groups) // [K, classes, f]
	for g := range centers {
		rng := random(m.Seed, "mixture centres", g) // part of the seed, spelling included
		for range m.Classes {
			centers[g] = append(centers[g], onSphere(rng, m.Features, m.Separation))
		}
	}
	d := &Dataset{Name: fmt.Sprintf("mixture of %d groups", m.Groups), Shape: []int{m.Features}, Classes: m.Classes}
	for i := range m.Clients {
		g := i % m.Groups
		d.Groups = append(d.Groups, g)
		rng := random(m.Seed, "mixture client", i)
		for row := range m.Rows + m.TestRows {
			part := d.part(row < m.Rows)
			cloud := rng.IntN(m.Classes)
			center, label := centers[g][cloud], cloud
			if m.Permute {
				center, label = centers[0][cloud], (cloud+g)%m.Classes
			}
			x := normals(rng, m.Features, 0, 1)
			for j := range x {
				x[j] += center[j]
			}
			part.addLabeled(x, label, i)
		}
	}
	return d.finite()
}

// onSphere returns a point [f] at this distance from the origin, in a random direction.
func onSphere(rng *rand.Rand, f int, radius float64) []float64 {
	x := normals(rng, f, 0, 1)
	norm := 0.0
	for _, v := range x {
		norm += v * v
	}
	for j := range x {
		x[j] *= radius / math.Sqrt(norm)
	}
	return x
}
