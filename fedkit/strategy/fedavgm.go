package strategy

import "fedkit.example/fedkit/server"

// FedAvgM is FedAvg with momentum on the server (Hsu et al., arXiv 1909.06335; seed 001 §4; seed 002, CC-FL, Algorithm 1),
//
//	Δ = x_avg − x,  m ← βm + (1−β)Δ,  x ← x + ηm,  x_avg = Σ_{i∈S} (n_i/N) w_i,
//
// with the defaults η = 1, β = 0.9. Identity: with β = 0 (fedkit.Zero) and η = 1 it is FedAvg.
type FedAvgM = FedOpt[server.Momentum]
