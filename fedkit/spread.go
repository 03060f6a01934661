package fedkit

import (
	"math"
	"slices"
)

// Spread is how the accuracy of a round is spread over the clients, each on its own test examples, each counting the same.
type Spread struct {
	Mean, Worst              Float // Worst: mean over the tenth of the clients, at least one, that are worst off
	Min, Q1, Median, Q3, Max Float
}

// Spread returns how accuracy is spread over the clients; nil if they were not scored.
func (r *Record) Spread() *Spread {
	var a []float64
	for _, s := range r.Scores {
		switch v := float64(s.Accuracy); {
		case s.Examples <= 0:
		case v-v == 0:
			a = append(a, v)
		default: // not a number
			a = append(a, 0)
		}
	}
	if len(a) == 0 {
		return nil
	}
	slices.Sort(a)
	mean := func(a []float64) Float {
		sum := 0.0
		for _, v := range a {
			sum += v
		}
		return Float(sum / float64(len(a)))
	}
	at := func(q float64) Float {
		i, part := math.Modf(q * float64(len(a)-1))
		j := min(int(i)+1, len(a)-1)
		return Float(a[int(i)] + part*(a[j]-a[int(i)]))
	}
	return &Spread{mean(a), mean(a[:int(math.Ceil(0.1*float64(len(a))))]), at(0), at(0.25), at(0.5), at(0.75), at(1)}
}
