package strategy_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"gonum.org/v1/gonum/floats"
)

// witness puts the first point into a cluster of its own, and keeps its input.
type witness struct{ seen **cluster.Points }

func (w witness) Cluster(p *cluster.Points, _ int, _ *rand.Rand) ([]int, error) {
	*w.seen = p
	labels := make([]int, p.Len())
	labels[0] = 1
	return labels, nil
}

// LCFL in plain Go: two rounds of FedAvg with equal weights, distances by the clients' losses on each other's models, and
// FedAvg within the clusters.
func TestLCFLAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	const seed = 3
	l := fedkit.Local{Epochs: 1, Batch: 8, LR: 0.1}
	fed := rivals(t, model.MLP(), uneven...)
	o := solver{fed, oracle.MLP{Sizes: []int{3, 1}, Regression: true}, l, seed}
	var seen *cluster.Points
	s := &strategy.LCFL{K: 2, Warmup: 2, Clusterer: witness{&seen}, Local: l}
	h := run(t, fed, s, fedkit.Options{Rounds: 3, Seed: seed})

	models, in := starts(fed, seed, 1), make([]int, fed.Size())
	w := make([][]float64, fed.Size())
	loss := func(i int, w []float64) float64 {
		x, y := rowsOf(&fed.Data.Train, fed.Clients[i].Train)
		v, _ := o.net.Gradient(w, x, y)
		return v
	}
	for round := 1; round <= 3; round++ {
		count, sum := make([]float64, len(models)), make([][]float64, len(models))
		for i := range w {
			w[i], _ = o.train(round, 1, i, l.Epochs, models[in[i]], []float64{1, 1, 1, 1}, make([]float64, 4))
			if sum[in[i]] == nil {
				sum[in[i]] = make([]float64, 4)
			}
			floats.Add(sum[in[i]], w[i])
			count[in[i]]++
		}
		for c := range models {
			models[c] = floats.ScaleTo(sum[c], 1/count[c], sum[c])
		}
		if round != 2 {
			continue
		}
		for i := range w {
			for j := range i {
				want := math.Abs(loss(i, w[i])-loss(i, w[j])) + math.Abs(loss(j, w[j])-loss(j, w[i]))
				if got := seen.Distances().At(i, j); math.Abs(got-want) > 1e-4*want {
					t.Errorf("clients %d and %d are %v apart, want %v", i, j, got, want)
				}
			}
		}
		in[0] = 1
		models = append(models, append([]float64(nil), models[0]...))
	}
	sameRows(t, s.State.Models, models, "models")
	// The clustering sends every client the models of all.
	const m, d = 6, 4
	for i, down := range []int{m, m + m*m, m} {
		travel(t, &h.Rounds[i], 4*d*down, 4*d*m)
	}
}
