package server_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/server"
)

// Reddi's form against Flower 1.41.0 (flwr.serverapp.strategy, NumPy 2.4.6, in float64; testdata/flower.py). Flower's
// rules differ from arXiv 2003.00295 in two places, and its momentum from ours in one. Only what is equal is compared:
//
//   - It starts v at 0, the paper at τ². Cases with v0 = τ² had Flower's own v_t set before the first round; in the others
//     τ = 1e-9, and τ² is negligible next to Δ².
//   - Its FedAdam multiplies η by √(1−β2^{t+1})/(1−β1^{t+1}), which the paper does not: here each round's η includes it.
//   - Its FedAvgM is m ← βm + Δ: ours with η/(1−β). Its FedAdagrad has β1 = 0, as in the paper's experiments.
func TestAgainstFlower(t *testing.T) {
	b := expect.Value(os.ReadFile("testdata/flower.json"))(t)
	var flower struct {
		Start  []float32
		Deltas [][]float32
		Cases  []struct {
			Strategy string
			Options  map[string]float64
			V0       float64
			X        [][]float64
		}
	}
	expect.OK(t, json.Unmarshal(b, &flower))
	for _, c := range flower.Cases {
		o := c.Options
		rule := map[string]func(t int) fedkit.ServerOptimizer{
			"FedAvgM":    always(server.Momentum{LR: o["server_learning_rate"] / (1 - o["server_momentum"]), Beta: o["server_momentum"] + fedkit.Zero}),
			"FedAdagrad": always(server.Adagrad{LR: o["eta"], Beta1: fedkit.Zero, Epsilon: o["tau"], Form: server.Reddi}),
			"FedAdam": func(t int) fedkit.ServerOptimizer {
				eta := o["eta"] * math.Sqrt(1-math.Pow(o["beta_2"], float64(t+1))) / (1 - math.Pow(o["beta_1"], float64(t+1)))
				return server.Adam{LR: eta, Beta1: o["beta_1"], Beta2: o["beta_2"], Epsilon: o["tau"], Form: server.Reddi}
			},
			"FedYogi": always(server.Yogi{LR: o["eta"], Beta1: o["beta_1"], Beta2: o["beta_2"], Epsilon: o["tau"], Form: server.Reddi}),
		}[c.Strategy]
		got := models(t, rule, flower.Start, flower.Deltas)
		for i, want := range c.X {
			if far := distance(got[i], want, precision.Double(flower.Start)); !(far <= 1e-5) {
				t.Errorf("%s, %v, v0 = %g: round %d is %.2g away", c.Strategy, o, c.V0, i+1, far)
				break
			}
		}
	}
	if len(flower.Cases) != 8 {
		t.Errorf("%d cases, want 8", len(flower.Cases))
	}
}
