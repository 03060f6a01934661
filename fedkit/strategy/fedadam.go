package strategy

import "fedkit.example/fedkit/server"

// FedAdam is FedAvg with Adam on the server (Reddi et al., arXiv 2003.00295, Algorithm 2; seed 001 §6),
//
//	Δ = x_avg − x,  m ← β1 m + (1−β1)Δ,  v ← β2 v + (1−β2)Δ²,
//	x ← x + η m̂/√(v̂ + ε),  m̂ = m/(1−β1^t),  v̂ = v/(1−β2^t),  x_avg = Σ_{i∈S} (n_i/N) w_i,
//
// or, with Server.Form = server.Reddi, x ← x + η m/(√v + τ) from v_0 = τ² (that of seed 002 too).
type FedAdam = FedOpt[server.Adam]
