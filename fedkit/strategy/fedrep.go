package strategy

import "fedkit.example/fedkit"

// FedRep is federated representation learning (Collins et al., arXiv 2102.07078, Algorithm 1): clients share
// a body φ, and each has its own head h_i. A client of S first trains its head on the body it receives, then the body
// with that head, and returns only the body,
//
//	h_i ← epochs on f_i(φ, h_i),  φ fixed
//	φ_i ← epochs on f_i(φ, h_i),  h_i fixed
//	φ   ← Σ_{i∈S} (n_i/N) φ_i.
//
// A client that has not participated yet has the initial head. An unseen client trains it on the body, ten times as long as in a
// round. X is [1, d]; W [M, d] is each client's model after its last round, of which only the head is used. Only the body
// travels, so only the body can be attacked. Identities: with an empty head it is FedAvg. If the head is the whole model, the
// default for a model of one layer, nothing is shared, which is LocalOnly.
type FedRep struct {
	Head       []string          // its layers, as in Task.Mask; default the last parameter's, []string{} for none
	HeadEpochs int               `range:"[1,inf)" default:"those of Local"` // epochs of the head per round
	Local      fedkit.Local      // B, η, and E of the body
	Fraction   float64           // C, share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector   // chooses the cohort; default uniformly at random
	Aggregator fedkit.Aggregator // of the bodies; default aggregate.Mean
	Weighting  Weighting         // of the bodies; default ByExamples, as in the authors' code; the paper has Equal
	Personal                     // of X only the body, φ, is used; W is each client's model after its last round
}

// Check implements fedkit.Checker.
func (s *FedRep) Check(fed *fedkit.Federation, _ int) error {
	if fed == nil {
		return nil
	}
	if err := fed.Fits("clients", fed.Size(), float64(fed.Size())); err != nil {
		return err
	}
	return checkLayers("Head", fed, s.Head)
}

// Round implements fedkit.Strategy.
func (s *FedRep) Round(r *fedkit.Round) error {
	S := r.Select(s.Selector, s.Fraction)
	layers := headLayers(r.Fed.Task, s.Head)
	head := r.Mask(layers...)
	body := head.Not()
	start := s.State.W.Take(S...).Blend(s.State.X, head)
	if len(layers) > 0 {
		h := r.Train(fedkit.Job{Clients: S, Start: start, Local: s.headSolver(), Mask: head, StayLocal: true})
		S, start = h.Clients(), h.Models
	}
	u := r.Train(fedkit.Job{Clients: S, Start: start, Local: s.Local, Mask: body, Communicated: body})
	s.State.W = s.State.W.Put(u.Clients(), u.Models)
	u.Models = s.State.X.Blend(u.Models, head) // the server sees no heads: aggregators get the same one for all clients
	s.State.X = combine(r, u, s.Aggregator, s.Weighting)
	return r.Err()
}

// headSolver returns the local solver for the head.
func (s *FedRep) headSolver() fedkit.Local {
	local := s.Local.WithDefaults()
	if s.HeadEpochs > 0 {
		local.Epochs, local.Steps = s.HeadEpochs, 0
	}
	return local
}

// Serve gives every client the body with its own head.
func (s *FedRep) Serve(r *fedkit.Round) fedkit.Serving {
	head := r.Mask(headLayers(r.Fed.Task, s.Head)...)
	return fedkit.Serving{Models: s.State.W.Blend(s.State.X, head), Assign: r.AllClients()}
}

// ServeUnseen gives each unseen client the body with a head of its own, trained from the initial one.
func (s *FedRep) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	head, local := r.Mask(headLayers(r.Fed.Task, s.Head)...), s.headSolver()
	local.Epochs, local.Steps = 10*local.Epochs, 10*local.Steps
	start := r.Models(1).Blend(s.State.X, head)
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: start, Local: local, Mask: head, StayLocal: true})
	return fedkit.Serving{Models: start.Repeat(r.Clients()).Put(u.Clients(), u.Models), Assign: r.AllClients()}
}
