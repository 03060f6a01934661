package strategy

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/selection"
)

// SmartFedProx returns FedProx with adaptive μ whose clients are half those that drifted most and half those that drifted
// least, with the defaults of seed 004 (§1.2, §5.1): half of the clients a round, E = 1, B = 32, η = 0.1, μ = 0.1 kept in
// [0.001, 1], ρ = 0.5, T = 1, two random rounds at the start and one in ten later. All of them are fields of what it
// returns; the seed's other choices are Selector: nil (random) and selection.Explore{Then: selection.Diversity{}}.
func SmartFedProx() *FedProx {
	return &FedProx{
		Fraction: 0.5,
		Selector: selection.Explore{ColdStart: 2, Rate: 0.1, Then: selection.Hybrid{HighRatio: 0.5, Temperature: 1}},
		Local:    fedkit.Local{Epochs: 1, Batch: 32, LR: 0.1},
		Mu:       0.1,
		Adaptive: true,
		MuMin:    0.001,
		MuMax:    1,
	}
}
