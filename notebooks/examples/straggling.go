package examples

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
)

// Straggling is FedAvg in which ⌈Share |S|⌉ clients of each cohort S, drawn at random, are late: they do 1 to E − 1 epochs, which count, or are
// dropped. With Local.Prox it is FedProx as its paper compares it (Li et al., arXiv 1812.06127, §5.2). Identity: with Share = 0 it is FedAvg.
type Straggling struct {
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Share    float64      `range:"[0,1)"` // of late clients
	Drop     bool         // leaves out what late clients did
	Local    fedkit.Local // E, B, η
	strategy.State
}

// Round implements fedkit.Strategy.
func (s *Straggling) Round(r *fedkit.Round) error {
	job := fedkit.Job{Start: s.X, Local: s.Local}
	chosen, rng := r.Select(nil, s.Fraction), r.Rand("stragglers")
	for i, at := range rng.Perm(len(chosen)) {
		late, done := float64(at) < s.Share*float64(len(chosen)), 1+rng.IntN(max(1, s.Local.Epochs-1))
		if !late {
			done = s.Local.Epochs
		}
		if !late || !s.Drop {
			job.Clients, job.Epochs = append(job.Clients, chosen[i]), append(job.Epochs, done)
		}
	}
	if job.Clients == nil { // nobody is left, and x stays
		return r.Err()
	}
	u := r.Train(job)
	s.X = u.Models.Mean(u.Examples())
	return r.Err()
}
