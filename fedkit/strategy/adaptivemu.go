package strategy

import (
	"fmt"

	"fedkit.example/fedkit"
)

// AdaptiveMu is the proximal weight of a client with the given drifts in its past rounds, oldest first. It exceeds the base μ
// after a larger drift than usual, and grows with the number of local epochs E,
//
//	μ_i  = clamp( μ · div_i/(hist_i + ε) · (1 + 0.1 (E − 1)), low, high ),  ε = 1e-8
//	hist_i ← a div_i + (1 − a) hist_i                                       after μ_i is computed
//
// where a is the smoothing, 1 for the last drift alone, and div_i = ‖w_i − x‖₂ in its last round. hist_i starts at the first drift;
// before that μ_i is clamp(μ (1 + 0.1 (E − 1)), low, high). Drifts are in the history of every run (Round.Past), so none of this is state. With Local.Steps, E is 0 and
// counts as 1.
func AdaptiveMu(mu, low, high, smoothing float64, epochs int, drift []float64) float64 {
	const perEpoch, epsilon = 0.1, 1e-8
	if last := len(drift) - 1; last >= 0 {
		history := drift[0]
		for _, div := range drift[1:max(1, last)] {
			history = smoothing*div + (1-smoothing)*history
		}
		mu *= drift[last] / (history + epsilon)
	}
	mu *= 1 + perEpoch*float64(max(1, epochs)-1)
	return max(low, min(high, mu))
}

// adaptiveMus returns AdaptiveMu of each client of a cohort.
func adaptiveMus(r *fedkit.Round, S []int, mu, low, high, smoothing float64, local fedkit.Local) []float64 {
	mus := make([]float64, len(S))
	for i, c := range S {
		mus[i] = AdaptiveMu(mu, low, high, smoothing, local.WithDefaults().Epochs, drifts(r.Past(c)))
	}
	return mus
}

// checkMu refuses a second μ in the local solver, and bounds without a number between them.
func checkMu(local fedkit.Local, low, high float64) error {
	if local.Prox != 0 {
		return fedkit.Invalid("Local.Prox", local.Prox, "0: FedProx takes its μ from Mu")
	}
	if low > high {
		return fedkit.Invalid("MuMin", low, fmt.Sprintf("at most %v, which is MuMax", high))
	}
	return nil
}

func drifts(past []fedkit.ClientResult) []float64 {
	drift := make([]float64, len(past))
	for i, s := range past {
		drift[i] = float64(s.Drift)
	}
	return drift
}
