package strategy

import "fedkit.example/fedkit/server"

// FedYogi is FedAvg with Yogi on the server (Reddi et al., arXiv 2003.00295, Algorithm 2; seed 001 §7),
//
//	Δ = x_avg − x,  m ← β1 m + (1−β1)Δ,  v ← v − (1−β2) sign(v−Δ²)Δ²,
//	x ← x + η m̂/√(v̂ + ε),  m̂ = m/(1−β1^t),  v̂ = v/(1−β2^t),  x_avg = Σ_{i∈S} (n_i/N) w_i,
//
// or, with Server.Form = server.Reddi, x ← x + η m/(√v + τ) from v_0 = τ².
type FedYogi = FedOpt[server.Yogi]
