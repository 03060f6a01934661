package strategy

import (
	"cmp"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/server"
)

// SmartFedProx is FedProx with adaptive μ. Half of its cohort is among the clients with the largest drift when they last
// participated, half among those with the smallest. The first rounds are random, and one in ten later: see selection.Explore.
// Compare it with the selections selection.Random{} and selection.Explore{Then: selection.Diversity{}}; its published code has
// selection.Explore{Then: selection.Hybrid{AsPublished: true}}.
type SmartFedProx struct {
	Fraction  float64         `range:"(0,1]" default:"0.5"` // C, share of the clients in a round
	Selector  fedkit.Selector // chooses the cohort; default selection.Explore{Then: selection.Hybrid{}}
	Weighting Weighting       // default ByExamples, see FedProx
	Local     fedkit.Local    // E, B, η; default 1, 32, 0.1
	Mu        float64         `range:"[0,inf)" default:"0.1"`   // base μ, see AdaptiveMu
	MuMin     float64         `range:"[0,inf)" default:"0.001"` // least μ_i
	MuMax     float64         `range:"(0,inf)" default:"1"`     // greatest μ_i
	Smoothing float64         `range:"(0,1]" default:"0.3"`     // a, see AdaptiveMu
	State
}

// Check implements fedkit.Checker.
func (s *SmartFedProx) Check(*fedkit.Federation, int) error {
	return checkMu(s.Local, s.MuMin, s.MuMax)
}

// UsesPast implements fedkit.PastUser.
func (*SmartFedProx) UsesPast() bool { return true }

// Round implements fedkit.Strategy.
func (s *SmartFedProx) Round(r *fedkit.Round) error {
	S := r.Select(cmp.Or[fedkit.Selector](s.Selector, selection.Explore{}), s.Fraction)
	mu := adaptiveMus(r, S, s.Mu, s.MuMin, s.MuMax, s.Smoothing, s.Local)
	u := r.Train(fedkit.Job{Clients: S, Start: s.X, Local: s.Local, Pulls: []fedkit.Pull{{To: s.X, Weights: mu}}})
	return s.step(r, server.SGD{}, combine(r, u, nil, s.Weighting))
}
