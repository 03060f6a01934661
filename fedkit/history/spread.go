package history

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Spread is the distribution of accuracy over the clients that have test examples, each weighted equally. A non-finite accuracy
// counts as 0.
type Spread struct {
	Mean   Float `json:"mean"`   // over clients
	Worst  Float `json:"worst"`  // mean over the worst tenth of the clients, rounded up
	Min    Float `json:"min"`    // of the worst client
	Q1     Float `json:"q1"`     // quartile, with linear interpolation as in NumPy
	Median Float `json:"median"` // with linear interpolation
	Q3     Float `json:"q3"`     // see Q1
	Max    Float `json:"max"`    // of the best client
}

// Training is the totals of a round's local training.
type Training struct {
	Clients int   `json:"clients"` // that took part
	Steps   int   `json:"steps"`   // total over clients
	Loss    Float `json:"loss"`    // mean training loss, each client weighted equally
}

// Summary has a record's totals and means over clients, where Keep or LoadLight left out the clients' own.
type Summary struct {
	Training *Training `json:"training,omitempty"` // of Results
	Mean     *Score    `json:"mean,omitempty"`     // of Scores
	Spread   *Spread   `json:"spread,omitempty"`   // of Scores

	Unseen       *Score `json:"unseen,omitempty"`         // mean of Unseen
	ChosenOnTest *Score `json:"chosen_on_test,omitempty"` // mean of ChosenOnTest

	Clients []int `json:"clients,omitempty"` // that took part, in a study's extract
}

// summary returns the totals and means of the whole record.
func (r *Record) summary() Summary {
	return Summary{Training: r.Training(), Mean: r.Mean(), Spread: r.Spread(), Unseen: r.MeanUnseen(), ChosenOnTest: r.MeanChosenOnTest()}
}

// Training returns the totals of the round's local training; nil if no client trained.
func (r *Record) Training() *Training {
	if r.Results == nil && r.Summary != nil {
		return r.Summary.Training
	}
	if len(r.Results) == 0 {
		return nil
	}
	t := &Training{Clients: len(r.Results)}
	for _, s := range r.Results {
		t.Steps += s.Steps
		t.Loss += s.Loss
	}
	t.Loss /= Float(len(r.Results))
	return t
}

// Spread returns the distribution of accuracy over clients; nil if the round was not evaluated, or no client has a test example.
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
