package strategy

import (
	"cmp"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/selection"
)

// SmartFedProx is FedProx with adaptive μ. Half of its cohort is among the clients with the largest drift when they last
// participated, half among those with the smallest. The first rounds are random, and one in ten later: see selection.Explore.
// Compare it with the selections selection.Random{} and selection.Explore{Then: selection.Diversity{}}.
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

func (s *SmartFedProx) fedProx() *FedProx {
	return &FedProx{Fraction: s.Fraction, Selector: cmp.Or[fedkit.Selector](s.Selector, selection.Explore{}), Local: s.Local,
		Weighting: s.Weighting, Mu: s.Mu, Adaptive: true, MuMin: s.MuMin, MuMax: s.MuMax, Smoothing: s.Smoothing, State: s.State}
}

// Check implements fedkit.Checker.
func (s *SmartFedProx) Check(fed *fedkit.Federation, n int) error { return s.fedProx().Check(fed, n) }

// UsesPast implements fedkit.PastUser.
func (*SmartFedProx) UsesPast() bool { return true }

// Round implements fedkit.Strategy.
func (s *SmartFedProx) Round(r *fedkit.Round) error {
	prox := s.fedProx()
	err := prox.Round(r)
	s.State = prox.State
	return err
}
