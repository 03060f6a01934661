package examples

import (
	"fmt"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/stat"
)

// FedNova is normalized averaging (Wang et al., arXiv 2007.07481, §4) for clients that take unequal numbers of steps τ_i.
// Each update is divided by its τ_i, so that clients with more steps do not bias x toward their own optimum:
//
//	x ← x + τ_eff Σ_{i∈S} p_i Δ_i/τ_i,  τ_eff = Σ_{i∈S} p_i τ_i,  p_i = n_i/N.
//
// τ_i is the paper's ‖a_i‖₁: the number of steps of plain SGD, and Local.StepSum with Momentum. x is [1, d]. Identity: with equal τ_i it
// is FedAvg.
type FedNova struct {
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // E, B, η; Optimizer is SGD or Momentum, without Prox
	Epochs   []int        // E_i per client, [M]; default those of Local
	strategy.State
}

// Check implements fedkit.Checker.
func (s *FedNova) Check(fed *fedkit.Federation, _ int) error {
	switch {
	case s.Local.StepSum(1) == 0:
		return fedkit.Invalid("Local.Optimizer", fmt.Sprintf("%T", s.Local.Optimizer), "fedkit.SGD, or fedkit.Momentum without KeepMemory")
	case s.Local.Prox != 0:
		return fedkit.Invalid("Local.Prox", s.Local.Prox, "0")
	case s.Epochs != nil && len(s.Epochs) != fed.Size():
		return fedkit.Invalid("len(Epochs)", len(s.Epochs), fmt.Sprintf("%d, one per client", fed.Size()))
	}
	return fed.AllTrained("strategy", "FedNova")
}

// Round implements fedkit.Strategy.
func (s *FedNova) Round(r *fedkit.Round) error {
	job := fedkit.Job{Clients: r.Select(nil, s.Fraction), Start: s.X, Local: s.Local}
	if s.Epochs != nil {
		for _, c := range job.Clients {
			job.Epochs = append(job.Epochs, s.Epochs[c])
		}
	}
	u := r.Train(job)
	var steps, inverse []float64
	for _, solve := range u.Results {
		tau := s.Local.StepSum(solve.Steps)
		steps, inverse = append(steps, tau), append(inverse, 1/tau)
	}
	n := u.Examples()
	s.X = s.X.Add(u.Delta().ScaleRows(inverse).Mean(n).Scale(stat.Mean(steps, n)))
	return r.Err()
}
