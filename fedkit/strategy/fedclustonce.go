package strategy

import (
	"cmp"
	"slices"

	"fedkit.example/fedkit"
)

// onceFedClust is FedClust with Once, the paper's form. With θ the initial model, and v_i the last layer of client i's result,
//
//	round 1:       v_i ← training from θ, every client;  clusters ← tree of ‖v_i − v_j‖₂, cut;  w_c ← θ
//	from round 2:  w_c ← Σ_{i∈c∩S} (n_i/N_c) w_i,  w_i ← training from w_c,  N_c = Σ_{i∈c∩S} n_i
//
// An unseen client trains θ, and gets the cluster whose mean v_i is nearest to its own.
type onceFedClust struct{ *FedClust }

// Round implements fedkit.Strategy.
func (s onceFedClust) Round(r *fedkit.Round) error {
	if r.T > 1 {
		return s.average(r, s.train(r))
	}
	layers := r.Mask(s.layers(r.Fed.Task)...)
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: s.State.Initial, Local: s.Local, Communicated: layers, Down: 1})
	of := s.group(r, u.Models)
	if r.Err() != nil {
		return r.Err()
	}
	s.State.Of.Set(u.Clients(), of)
	s.State.Models = s.State.Initial.Repeat(max(s.K, slices.Max(of)+1))
	s.State.Means = meanByCluster(s.State.Models, u.Models, of, nil).Mul(layers)
	return r.Err()
}

// ServeUnseen gives each unseen client the model of the cluster nearest to its result.
func (s onceFedClust) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	return s.welcome(r, s.State.Initial, cmp.Or(s.State.Means, s.State.Models))
}
