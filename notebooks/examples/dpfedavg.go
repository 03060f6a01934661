package examples

import (
	"math"
	"slices"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/combin"
)

// DPFedAvg is federated averaging with differential privacy for whole clients (McMahan et al., arXiv 1710.06963). Each client takes
// part with probability q, and its update is clipped to the length C:
//
//	x ← x + (Σ_{i∈S} Δ_i min(1, C/‖Δ_i‖) + N(0, (σC)² I)) / (qM).
//
// It notes ε(δ), for adding or removing a client: see Epsilon. x is [1, d]. Identity: with q = 1, σ = 0 and a large C it is FedAvg with
// equal weights. The noise is fedkit's, for simulation: ε holds for the mechanism.
type DPFedAvg struct {
	Fraction float64      `range:"(0,1]" default:"1"` // q, probability that a client takes part
	Local    fedkit.Local // local solver: E epochs, B examples per batch, η
	Clip     float64      `range:"(0,inf)" default:"1"`  // C, greatest length of an update
	Noise    float64      `range:"[0,inf)" default:"1"`  // σ, standard deviation of the noise by C
	Delta    float64      `range:"(0,1)" default:"1e-5"` // δ
	strategy.State
}

// Check implements fedkit.Checker.
func (s *DPFedAvg) Check(fed *fedkit.Federation, _ int) error {
	return fed.AllTrained("strategy", "DPFedAvg")
}

// Round implements fedkit.Strategy.
func (s *DPFedAvg) Round(r *fedkit.Round) error {
	rng, sum := r.Rand("sample"), r.Normal("noise", s.X.Cols()).Scale(s.Noise*s.Clip).Mul(r.Trained())
	S := slices.DeleteFunc(r.Candidates(), func(int) bool { return rng.Float64() >= s.Fraction })
	if len(S) > 0 {
		u := r.Train(fedkit.Job{Clients: S, MaxClients: r.Clients(), Start: s.X, Local: s.Local})
		weights, err := u.Delta().Norms()
		for i, length := range weights {
			weights[i] = min(1, s.Clip/length)
		}
		r.Fail(err)
		sum = sum.Add(u.Delta().Mix([][]float64{weights}))
	}
	s.X = s.X.Add(sum.Scale(1 / (s.Fraction * float64(r.Clients()))))
	r.Note("epsilon", Epsilon(s.Fraction, s.Noise, r.T, s.Delta))
	return r.Err()
}

// Epsilon is ε(δ) of T rounds: Rényi divergences of the sampled Gaussian mechanism at the orders 2, …, 256 (Mironov et al., arXiv
// 1908.10530, §3.3), converted as by Canonne et al. (arXiv 2004.00010, Proposition 12); +Inf without noise.
func Epsilon(q, sigma float64, T int, delta float64) float64 {
	best := math.Inf(1)
	for a := 2.; a <= 256 && sigma > 0; a++ {
		var terms []float64 // ln of C(a, k) (1−q)^(a−k) q^k exp((k²−k)/(2σ²))
		for k := 0.; k <= a; k++ {
			terms = append(terms, combin.LogGeneralizedBinomial(a, k)+math.Log(math.Pow(1-q, a-k))+k*math.Log(q)+k*(k-1)/(2*sigma*sigma))
		}
		best = min(best, float64(T)*floats.LogSumExp(terms)/(a-1)+math.Log1p(-1/a)-math.Log(delta*a)/(a-1))
	}
	return max(0, best)
}
