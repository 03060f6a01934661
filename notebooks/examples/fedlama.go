package examples

import "fedkit.example/fedkit"

// FedLAMA averages layers that differ little among clients φ times less often (Lee et al., arXiv 2110.10302, Algorithm 1). In a
// round, the clients S train φ times and go on from their own models. A layer l is averaged, and travels, after every τ_l-th time:
//
//	w_{i,l} ← u_l = Σ_{i∈S} p_i w_{i,l},  p_i = n_i/N,  τ_l = 1 or φ.
//
// At the end of a round all layers are averaged, and their discrepancies choose τ for the next: see intervals. Identity: with φ = 1
// it is FedAvg.
type FedLAMA struct {
	Phi      int          `range:"[1,inf)" default:"2"` // φ; in the first round τ = 1 for all layers
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // what a client does between two averages, τ′ steps in the paper
	State    struct {
		X    *fedkit.Matrix // u, [1, d]
		Slow []string       // layers with τ = φ
	}
}

// Start draws u.
func (s *FedLAMA) Start(r *fedkit.Round) error {
	s.State.X = r.Models(1)
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *FedLAMA) Round(r *fedkit.Round) error {
	S, w, layers := r.Select(nil, s.Fraction), s.State.X, r.Fed.Task.Layers()
	for k := range s.Phi {
		due, last := r.Mask(s.State.Slow...).Not(), k == s.Phi-1
		if last {
			due = r.Mask().Not()
		}
		u := r.Train(fedkit.Job{Clients: S, Start: w, Local: s.Local, Communicated: due})
		s.State.X = u.Models.Mean(u.Examples())
		if gaps, err := u.Models.Sub(s.State.X).NormsBy(layers); last && err == nil {
			s.State.Slow = s.intervals(layers, gaps, u.Examples())
		}
		S, w = u.Clients(), s.State.X.Blend(u.Models, due)
	}
	return r.Err()
}

// Serve gives every client u.
func (s *FedLAMA) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }
