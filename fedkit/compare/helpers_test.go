package compare

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"

	"fedkit.example/fedkit/history"
)

// ran returns a run whose evaluated rounds have these accuracies of the global model; NaN is a round not evaluated.
func ran(name string, accuracy ...float64) *history.History {
	h := &history.History{Name: name}
	for i, a := range accuracy {
		r := history.Record{Round: i + 1, Seconds: 0.5, BytesUp: 1000, BytesDown: 2000}
		if a == a {
			r.Global = &history.Score{Accuracy: history.Float(a), Loss: history.Float(1 - a), Examples: 10}
		}
		h.Rounds = append(h.Rounds, r)
	}
	return h
}

// seeded gives the run a seed.
func seeded(seed uint64, h *history.History) *history.History {
	h.Seed = seed
	return h
}

// scored gives round i (from 0) of h these accuracies of the clients, on these numbers of examples.
func scored(h *history.History, i int, accuracy []float64, examples []int) *history.History {
	for c, a := range accuracy {
		h.Rounds[i].Scores = append(h.Rounds[i].Scores,
			history.Score{Accuracy: history.Float(a), Loss: history.Float(1 - a), Examples: examples[c]})
	}
	return h
}

var nan = math.NaN()

func close(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || scalar.EqualWithinAbsOrRel(a, b, 1e-9, 1e-9)
}

func near(a, b []float64) bool { return floats.EqualApprox(a, b, 1e-12) }

// personal returns a run that served personal models beside a global one.
func personal(name string) *history.History {
	h := ran(name, 0.5, 0.6)
	for i := range h.Rounds {
		h.Rounds[i].Personal = true
		scored(h, i, []float64{0.7 + 0.1*float64(i), 0.9}, []int{1, 1})
	}
	return h
}

// ordinary returns a run with one model, which the clients were scored under too.
func ordinary(name string) *history.History {
	return scored(scored(ran(name, 0.4, 0.5), 0, []float64{0.4, 0.4}, []int{1, 1}), 1, []float64{0.3, 0.7}, []int{1, 1})
}
