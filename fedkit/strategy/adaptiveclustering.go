package strategy

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/selection"
)

// AdaptiveClustering averages one client per cluster, and lowers the number of clusters p while the loss falls, with a coin
// toss as in simulated annealing. It comes from a lecture project; no paper describes it. In each round
//
//	w_i ← local training from x,  every client i
//	ratio = last L / L,  L the mean loss of all local steps;  +Inf in the first round
//	ratio > Threshold: p stays with probability SAProb, else p ← max(p−d, 1), d ← min(d+1, P−1)
//	p clusters of the w_i;  S = one client of each
//	x ← (1/|S|) Σ_{i∈S} w'_i,  w'_i ← local training from x once more, with other batches
//
// After StabilizeRounds rounds in a row without a change of p, d returns to 1 and the count restarts. x is [1, d]. Each round
// notes p and d (as they were before it), "ratio", L as "loss", and the norm of the new x as "norm". A client whose model is
// not finite is in no cluster. Unseen clients use x. Identities: with SAProb = 1, p stays at M; then it is FedAvg with equal
// weights if Reuse is set or batches are full.
//
// AsPublished follows the project's code, which adds to x client by client instead of averaging,
//
//	x ← x + w'_i/|S|,  w'_i ← local training from x as updated by the clients before i,
//
// so that x grows by a factor of about (1+1/|S|)^|S| per round, and the loss of every misclassified example with it.
//
// With Warmup, the first rounds are FedAvg of all clients with equal weights, and all else begins after them: a global model that
// was trained before.
type AdaptiveClustering struct {
	P               int               `range:"[1,inf)" default:"one per client"` // initial and maximal number of clusters
	Threshold       float64           `range:"[0,inf)" default:"0.5"`            // ratio above which p may fall
	SAProb          float64           `range:"[0,1]" default:"0.5"`              // probability of keeping p even then
	StabilizeRounds int               `range:"[1,inf)" default:"3"`              // rounds without a change of p after which d returns to 1
	Clusterer       cluster.Clusterer // default cluster.Agglomerative{}: Ward
	First           bool              // the first client of each cluster instead of a random one
	Reuse           bool              // average the w_i of S, without training again
	AsPublished     bool              // add to x as the project's code does
	Warmup          int               `range:"[0,inf)"` // rounds of FedAvg before the first round; default none
	Weighting       Weighting         // of the clients of S; default Equal, as in the project
	Local           fedkit.Local      // default: one epoch of Adam with B = 64 and η = 0.001
	State           struct {
		X        *fedkit.Matrix // x, [1, d]
		P, D     int            // p and d of the next round
		Calm     int            // rounds in a row without a change of p
		Loss     float64        // last L
		Clusters cluster.Groups // each client's cluster in the last round, −1 for none, [M]
	}
}

// Check implements fedkit.Checker.
func (s *AdaptiveClustering) Check(fed *fedkit.Federation, _ int) error {
	switch {
	case fed != nil && s.P > fed.Size():
		return fedkit.Invalid("P", s.P, fmt.Sprintf("at most %d, the number of clients", fed.Size()))
	case s.AsPublished && s.Reuse:
		return fedkit.Invalid("Reuse", true, "false if AsPublished is set: the published code trains again")
	case s.AsPublished && s.Weighting != nil:
		return fedkit.Invalid("Weighting", fmt.Sprintf("%T", s.Weighting), "nil if AsPublished is set: the published code does not average")
	case s.AsPublished:
		return cmp.Or(fed.AllTrained("AsPublished", true), fitsClustered(fed))
	}
	return fitsClustered(fed)
}

// Start draws x. Before the first round all clients are in one cluster.
func (s *AdaptiveClustering) Start(r *fedkit.Round) error {
	s.State.X, s.State.Clusters = r.Models(1), make(cluster.Groups, r.Clients())
	s.State.P, s.State.D, s.State.Calm, s.State.Loss = cmp.Or(s.P, r.Clients()), 1, 0, math.Inf(1)
	return r.Err()
}

// Round implements fedkit.Strategy.
func (s *AdaptiveClustering) Round(r *fedkit.Round) error {
	u := r.Train(fedkit.Job{Clients: r.AllClients(), Start: s.State.X, Local: s.local()})
	if r.T <= s.Warmup {
		s.State.X = u.Models.Mean(Weights(r, u, s.Weighting, Equal{}))
		return r.Err()
	}
	r.Note("p", float64(s.State.P))
	r.Note("d", float64(s.State.D))
	loss := meanLoss(u)
	r.Note("loss", loss)
	r.Note("ratio", s.adjust(loss, cmp.Or(s.P, r.Clients()), func() bool { return r.Rand("keep").Float64() < s.SAProb }))
	labels := r.Cluster(cmp.Or[cluster.Clusterer](s.Clusterer, cluster.Agglomerative{}), r.Points(u.Models), s.State.P)
	if r.Err() != nil {
		return r.Err()
	}
	rng := r.Rand("one per cluster")
	if s.First {
		rng = nil
	}
	chosen := selection.PerCluster(labels, 1+slices.Max(labels), rng)
	slices.Sort(chosen)
	s.State.Clusters = cluster.Ungrouped(r.Clients())
	s.State.Clusters.Set(u.Clients(), labels)
	s.combine(r, u, chosen)
	norm, err := s.State.X.Norms()
	if err != nil {
		return err
	}
	r.Note("norm", norm[0])
	return r.Err()
}

// local returns the solver of both trainings.
func (s *AdaptiveClustering) local() fedkit.Local {
	if l := s.Local; l.Schedule != nil || l.Optimizer != nil || l != (fedkit.Local{}) {
		return l
	}
	return fedkit.Local{Batch: 64, LR: 0.001, Optimizer: fedkit.Adam{}}
}

// meanLoss is the mean training loss over all local steps of all clients.
func meanLoss(u *fedkit.Updates) float64 {
	sum, steps := 0.0, 0
	for _, s := range u.Results {
		sum += float64(s.Loss) * float64(s.Steps)
		steps += s.Steps
	}
	return sum / float64(steps)
}

// adjust updates p and d from the mean training loss, and returns the ratio. The coin is tossed only if p may fall.
func (s *AdaptiveClustering) adjust(loss float64, most int, keep func() bool) (ratio float64) {
	st := &s.State
	if st.Loss > 0 {
		ratio = st.Loss / loss
	}
	if ratio > s.Threshold && !keep() {
		st.P, st.D, st.Calm = max(st.P-st.D, 1), min(st.D+1, most-1), 0
	} else {
		st.Calm++
	}
	if st.Calm >= s.StabilizeRounds {
		st.D, st.Calm = 1, 0
	}
	st.Loss = loss
	return ratio
}

// combine computes x from the chosen clients, given as rows of u.
func (s *AdaptiveClustering) combine(r *fedkit.Round, u *fedkit.Updates, chosen []int) {
	clients := take(u.Clients(), chosen)
	switch {
	case s.Reuse:
		s.State.X = u.Models.Take(chosen...).Mean(take(Weights(r, u, s.Weighting, Equal{}), chosen))
	case s.AsPublished:
		for _, c := range clients {
			w := r.Train(fedkit.Job{Clients: []int{c}, Start: s.State.X, Local: s.local()}).Models
			s.State.X = s.State.X.Add(w.Scale(1 / float64(len(clients))))
		}
	default:
		u = r.Train(fedkit.Job{Clients: clients, Start: s.State.X, Local: s.local(), Down: fedkit.Zero}) // clients already have x
		s.State.X = u.Models.Mean(Weights(r, u, s.Weighting, Equal{}))
	}
}

// Serve gives every client x.
func (s *AdaptiveClustering) Serve(*fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Global: s.State.X, Clusters: s.State.Clusters}
}
