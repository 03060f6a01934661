package strategy

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"gonum.org/v1/gonum/floats"
)

// IFCA is the iterative federated clustering algorithm (Ghosh et al., arXiv 2006.04088, Algorithm 1):
// k models θ [k, d]; in each round a client finds the one with the lowest loss on its own examples,
//
//	ĵ_i = argmin_j F_i(θ_j),
//
// trains it, and model averaging (option II, the default) or gradient averaging (option I) updates it,
//
//	option I:  θ_j ← θ_j − (γ/m) Σ_i s_ij ∇F_i(θ_j)
//	option II: θ_j ← Σ_i s_ij w_i / Σ_i s_ij,          s_ij = 1 if j = ĵ_i, else 0
//
// The sums are over the clients S of the round. The paper's m is the number of all machines, so its step shrinks with the share
// of them that takes part. By default m = |S|, the same step for any share: the mean of the round's gradients is an unbiased
// estimate of that over all clients. AllClients has m = M as printed; it is γ|S|/M in the default, and the same if all take part.
//
// A model that no client chose does not change. Whether the models separate the groups depends on their random initialization.
// The paper's remedy is to start several times: with Restarts, the first Restarts·Trial rounds train as many sets
// of k models, one after the other, and the set with the lowest training loss in the last round of its trial goes on. These are
// rounds like any others, with their bytes and seconds.
//
// Every client, even an unseen one, uses the model with the lowest loss on its training examples. The record has each client's
// last choice among the models in training, −1 before its first.
// Identities: with k = 1, option II is FedAvg with equal weights, and option I is FedSGD with equal weights and η = γ.
type IFCA struct {
	K          int             `range:"[1,inf)" default:"2"` // k, number of models
	Fraction   float64         // share of the clients in a round, in (0, 1]; default all
	Selector   fedkit.Selector // chooses the cohort; default uniformly at random
	Local      fedkit.Local    // local solver of option II
	Gradients  bool            // option I: clients send gradients; default option II, models
	Gamma      float64         `range:"(0,inf)" default:"0.1"`                        // γ of option I, step size of the server
	Batch      int             `range:"[1,inf)" default:"all of a client's examples"` // examples per gradient of option I, which is then stochastic
	AllClients bool            // m of option I is M, all clients; default |S|, those of the round
	Restarts   int             `range:"[1,inf)" default:"1"` // sets of k models to try
	Trial      int             `range:"[1,inf)" default:"3"` // rounds to try each of several sets
	Weighting  Weighting       // default Equal, as in the paper, whose clients all have n examples
	State      struct {
		Theta  *fedkit.Matrix // θ, [k, d]
		Choice cluster.Groups // ĵ, [M]
		Tried  int            // rounds so far
		Loss   float64        // mean training loss in the last of them
		Best   *fedkit.Matrix // the best set that was tried, [k, d]
		Least  float64        // its loss
	}
}

// Check implements fedkit.Checker.
func (s *IFCA) Check(fed *fedkit.Federation, _ int) error {
	if s.Gradients && s.Gamma > 1 {
		if err := fed.AllTrained("Gamma", s.Gamma); err != nil {
			return err
		}
	}
	return fed.Fits("K", s.K, float64(s.K))
}

// Start draws k different models.
func (s *IFCA) Start(r *fedkit.Round) error {
	s.State.Tried, s.State.Best = 0, nil
	s.start(r, r.Models(s.K))
	return r.Err()
}

// start trains these models from now on.
func (s *IFCA) start(r *fedkit.Round, theta *fedkit.Matrix) {
	s.State.Theta, s.State.Choice = theta, cluster.Ungrouped(r.Clients())
}

// Round implements fedkit.Strategy.
func (s *IFCA) Round(r *fedkit.Round) error {
	s.restart(r)
	S, theta := r.Select(s.Selector, s.Fraction), s.State.Theta
	choice := r.LowestLoss(theta, S)
	s.State.Choice.Set(S, choice)
	local := s.Local
	if s.Gradients {
		local = gradient(s.Batch)
	}
	u := r.Train(fedkit.Job{Clients: S, Start: theta.Take(choice...), Local: local, Down: fedkit.Zero}) // clients already have the models
	chose := cluster.Groups(take(choice, u.Positions))
	p := Weights(r, u, s.Weighting, Equal{})
	s.State.Tried++
	s.State.Loss = 0
	for i, result := range u.Results {
		s.State.Loss += p[i] / floats.Sum(p) * float64(result.Loss)
	}
	if !s.Gradients {
		s.State.Theta = meanByCluster(theta, u.Models, chose, p)
		return r.Err()
	}
	gamma := s.Gamma
	if s.AllClients {
		gamma *= Share(r, u, s.Weighting, Equal{})
	}
	floats.Scale(gamma/floats.Sum(p), p)
	s.State.Theta = theta.Add(u.Delta().Mix(chose.Weights(theta.Rows(), p))) // γ/m s_ij
	return r.Err()
}

// restart begins the trial of the next set of models, or goes on with the best once all are tried.
func (s *IFCA) restart(r *fedkit.Round) {
	st, sets := &s.State, s.State.Tried/s.Trial
	if s.Restarts == 1 || sets == 0 || sets > s.Restarts || st.Tried%s.Trial > 0 {
		return
	}
	if st.Best == nil || st.Loss < st.Least {
		st.Best, st.Least = st.Theta, st.Loss
	}
	if sets == s.Restarts {
		s.start(r, st.Best)
		st.Best = nil
		return
	}
	var next []int
	for j := range s.K {
		next = append(next, sets*s.K+j)
	}
	s.start(r, r.Models((sets+1)*s.K).Take(next...))
}

// Serve gives every client the model with the lowest loss on its training examples.
func (s *IFCA) Serve(*fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Models: s.State.Theta, ByLoss: true, Clusters: s.State.Choice}
}
