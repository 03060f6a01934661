package history

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Spread is how accuracy is spread over the clients that have test examples: each on its own, and each counting the same.
// An accuracy that is not finite counts as 0.
type Spread struct {
	Mean   Float `json:"mean"`   // over clients
	Worst  Float `json:"worst"`  // mean over the tenth of the clients, rounded up, that are worst off
	Min    Float `json:"min"`    // of the client that is worst off
	Q1     Float `json:"q1"`     // quartiles are interpolated between neighbors, as NumPy does
	Median Float `json:"median"` // of the clients
	Q3     Float `json:"q3"`     // see Q1
	Max    Float `json:"max"`    // of the client that is best off
}

// Training sums up what the clients of a round did.
type Training struct {
	Clients int   `json:"clients"` // that took part
	Steps   int   `json:"steps"`   // all together
	Loss    Float `json:"loss"`    // mean of their training losses, each client counting the same
}

// Summary is what a record knows of its clients all together. It has what Keep or LoadLight left out of the record.
type Summary struct {
	Training *Training `json:"training,omitempty"` // of Solves
	Mean     *Score    `json:"mean,omitempty"`     // of Scores
	Spread   *Spread   `json:"spread,omitempty"`   // of Scores

	Unseen       *Score `json:"unseen,omitempty"`         // mean of Unseen
	ChosenOnTest *Score `json:"chosen_on_test,omitempty"` // mean of ChosenOnTest
}

// summary sums up the whole record.
func (r *Record) summary() Summary {
	return Summary{Training: r.Training(), Mean: r.Mean(), Spread: r.Spread(), Unseen: r.MeanUnseen(), ChosenOnTest: r.MeanChosenOnTest()}
}

// Training returns what the round's clients did, all together; nil if nobody trained.
func (r *Record) Training() *Training {
	if r.Solves == nil && r.Summary != nil {
		return r.Summary.Training
	}
	if len(r.Solves) == 0 {
		return nil
	}
	t := &Training{Clients: len(r.Solves)}
	for _, s := range r.Solves {
		t.Steps += s.Steps
		t.Loss += s.Loss
	}
	t.Loss /= Float(len(r.Solves))
	return t
}

// Spread returns how accuracy is spread over the clients; nil if they were not scored, or none has a test example.
func (r *Record) Spread() *Spread {
	if r.Scores == nil && r.Summary != nil {
		return r.Summary.Spread
	}
	var a []float64
	for _, s := range r.Scores {
		switch v := float64(s.Accuracy); {
		case s.Examples <= 0:
		case math.IsNaN(v) || math.IsInf(v, 0):
			a = append(a, 0)
		default:
			a = append(a, v)
		}
	}
	if len(a) == 0 {
		return nil
	}
	slices.Sort(a)
	at := func(p float64) Float {
		k := int(p * float64(len(a)-1))
		share := p*float64(len(a)-1) - float64(k)
		return Float(a[k] + share*(a[min(k+1, len(a)-1)]-a[k]))
	}
	return &Spread{Mean: Float(stat.Mean(a, nil)), Worst: Float(stat.Mean(a[:(len(a)+9)/10], nil)),
		Min: Float(a[0]), Q1: at(0.25), Median: at(0.5), Q3: at(0.75), Max: Float(a[len(a)-1])}
}
