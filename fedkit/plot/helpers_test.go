package plot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"

	"gonum.org/v1/gonum/floats"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/sim"
)

// synthetic returns a run of this many rounds whose accuracy rises toward top, and is evaluated once every few of them.
func synthetic(name string, seed uint64, rounds, every, clients int, top float64) *fedkit.History {
	r := rand.New(rand.NewPCG(seed, 7))
	h := &fedkit.History{Name: name, Strategy: "FedAvg", Clients: clients, Seed: seed}
	skill := make([]float64, clients)
	for i := range skill {
		skill[i] = 0.08 * r.NormFloat64()
	}
	for i := 1; i <= rounds; i++ {
		rec := fedkit.Record{Round: i, Seconds: 0.25, BytesDown: 1_250_000, BytesUp: 1_250_000}
		if i%every == 0 || i == rounds {
			a := top - top*0.8*math.Exp(-4*float64(i)/float64(rounds)) + 0.012*r.NormFloat64()
			rec.Global = &fedkit.Score{Loss: fedkit.Float(-math.Log(max(a, 0.05))), Accuracy: fedkit.Float(a), Examples: 1000}
			for c := range clients {
				x := min(1, max(0, a+skill[c]+0.02*r.NormFloat64()))
				rec.Scores = append(rec.Scores, fedkit.Score{Loss: fedkit.Float(1 - x), Accuracy: fedkit.Float(x), Examples: 20 + c%7})
			}
		}
		if i >= 3 {
			for c := range clients {
				k := c * 4 / clients
				if r.Float64() < 0.5*math.Exp(-float64(i)/6) {
					k = r.IntN(4)
				}
				rec.Clusters = append(rec.Clusters, k)
			}
		}
		h.Rounds = append(h.Rounds, rec)
	}
	return h
}

func federation(clients, classes, groups int, alpha float64) *fedkit.Federation {
	r := rand.New(rand.NewPCG(uint64(clients), 1))
	fed := &fedkit.Federation{Data: &datasets.Dataset{Name: "digits", Shape: []int{8, 8}, Classes: classes},
		Rule: fmt.Sprintf("%d clients, Dirichlet α = %g", clients, alpha)}
	for c := range clients {
		cl := partition.Client{Group: c * groups / clients}
		for l := range classes {
			n := int(40 * math.Pow(r.Float64(), 1/alpha))
			for range n {
				cl.Train = append(cl.Train, len(fed.Data.Train.Labels))
				fed.Data.Train.Labels = append(fed.Data.Train.Labels, int32(l))
			}
		}
		fed.Clients = append(fed.Clients, cl)
	}
	return fed
}

// history returns a run whose evaluated rounds have these accuracies of the global model; NaN is a round not evaluated.
func historyOf(name string, accuracy ...float64) *fedkit.History {
	h := &fedkit.History{Name: name}
	for i, a := range accuracy {
		r := fedkit.Record{Round: i + 1, Seconds: 0.5, BytesUp: 1000, BytesDown: 2000}
		if a == a {
			r.Global = &fedkit.Score{Accuracy: fedkit.Float(a), Loss: fedkit.Float(1 - a), Examples: 10}
		}
		h.Rounds = append(h.Rounds, r)
	}
	return h
}

// seeded gives the run a seed.
func seeded(seed uint64, h *fedkit.History) *fedkit.History {
	h.Seed = seed
	return h
}

// scored gives round i (from 0) of h these accuracies of the clients, on these numbers of examples.
func scored(h *fedkit.History, i int, accuracy []float64, examples []int) *fedkit.History {
	for c, a := range accuracy {
		h.Rounds[i].Scores = append(h.Rounds[i].Scores,
			fedkit.Score{Accuracy: fedkit.Float(a), Loss: fedkit.Float(1 - a), Examples: examples[c]})
	}
	return h
}

// timed gives the run a clock, whose rounds end at these times.
func timed(h *fedkit.History, clock ...float64) *fedkit.History {
	h.Devices = config.Of(sim.Devices{})
	for i, c := range clock {
		h.Rounds[i].Clock = fedkit.Float(c)
	}
	return h
}

var nan = math.NaN()

func near(a, b []float64) bool { return floats.EqualApprox(a, b, 1e-12) }

// over draws a quantity over rounds.
func over(q compare.Quantity) func(h ...*fedkit.History) *chart.Figure {
	return func(h ...*fedkit.History) *chart.Figure { return Over(q, h...) }
}

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }
