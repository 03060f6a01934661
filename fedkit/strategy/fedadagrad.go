package strategy

import "fedkit.example/fedkit/server"

// FedAdagrad is FedAvg with Adagrad on the server (Reddi et al., arXiv 2003.00295, Algorithm 2; seed 001 §5),
//
//	Δ = x_avg − x,  m ← β1 m + (1−β1)Δ,  v ← v + Δ²,
//	x ← x + η m̂/√(v + ε),  m̂ = m/(1−β1^t),  x_avg = Σ_{i∈S} (n_i/N) w_i,
//
// or, with Server.Form = server.Reddi, x ← x + η m/(√v + τ) from v_0 = τ².
type FedAdagrad = FedOpt[server.Adagrad]
