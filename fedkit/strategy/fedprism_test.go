package strategy_test

import (
	"math"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

// With two clients per round and three clusters, one cluster is empty. The round's clients give it no weight, and
// others keep theirs.
func TestFedPRISMGivesEmptyClustersNoWeight(t *testing.T) {
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 6, Alpha: 0.5, Seed: 3}, model.LogisticRegression()))(t)
	for _, center := range []bool{false, true} {
		s := &strategy.FedPRISM{K: 3, Every: 1, Fraction: 1. / 3, Center: center, Local: fedkit.Local{Batch: 32, LR: 0.1}}
		h := run(t, fed, s, fedkit.Options{Rounds: 1, Seed: 2})
		in := map[int]bool{}
		for _, c := range h.Last().Clients() {
			in[c] = true
		}
		empty := map[int]int{} // how many clients give a cluster no weight
		for i, w := range s.State.W {
			if math.Abs(floats.Sum(w)-1) > 1e-12 {
				t.Errorf("client %d has weights %v", i, w)
			}
			for c := range w {
				switch {
				case !in[i] && w[c] != 1./3:
					t.Errorf("client %d took no part, and has weights %v", i, w)
				case in[i] && w[c] == 0:
					empty[c]++
				}
			}
		}
		if len(in) != 2 || len(empty) != 1 || empty[0]+empty[1]+empty[2] != 2 {
			t.Errorf("Center = %v: of two clients, %v give a cluster no weight: want one cluster and both; W = %v", center, empty, s.State.W)
		}
	}
}
