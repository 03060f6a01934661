package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Spread is the distribution of accuracy over the clients that have test examples, each weighted equally. A non-finite accuracy
// counts as 0. For a regression it is that of R², over the clients that have one: it is not defined for a single example, for equal
// targets and for outputs that are NaN.
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

// sums returns those of what was left out.
func (r *Record) sums() *Summary { return cmp.Or(r.Summary, &Summary{}) }

// Training returns the totals of the round's local training; nil if no client trained.
func (r *Record) Training() *Training {
	if len(r.Results) == 0 {
		return r.sums().Training
	}
	t := &Training{Clients: len(r.Results)}
	for _, s := range r.Results {
		t.Steps += s.Steps
		t.Loss += s.Loss
	}
	t.Loss /= Float(len(r.Results))
	return t
}

// Spread returns the distribution of accuracy, or R², over clients; nil if the round was not evaluated, or no client has one.
func (r *Record) Spread() *Spread {
	var a []float64
	some := false // has a value
	for _, s := range r.Scores {
		main := s.Main()
		v := main.Of(&s)
		if s.Examples <= 0 || main == R2 && math.IsNaN(v) {
			continue
		}
		if some = some || !math.IsNaN(v); main == Accuracy && (math.IsNaN(v) || math.IsInf(v, 0)) {
			v = 0
		}
		a = append(a, v)
	}
	if !some {
		return r.sums().Spread
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

// Clustering is the quality of a round's clustering. Clients that are in no cluster yet are left out.
type Clustering struct {
	Count int `json:"count"` // non-empty clusters

	// Agreement with the true groups: see cluster.Agreement. NaN if the federation has fewer than two.
	ARI    Float `json:"ari"`
	NMI    Float `json:"nmi"`    // see ARI
	Purity Float `json:"purity"` // see ARI

	// Distances are Euclidean, between the models of clusters 0 and 1, 0 and 2, …, 1 and 2, …; nil if the strategy does not have
	// a model for each cluster, or if there are more than 64.
	Distances []Float `json:"distances,omitempty"`
}

// String returns "clusters: 3; ARI 0.91, NMI 0.94, purity 0.97; models 0.2 to 1.4 apart".
func (c Clustering) String() string {
	words := fmt.Sprintf("clusters: %d", c.Count)
	if !math.IsNaN(float64(c.ARI)) {
		words += fmt.Sprintf("; ARI %.3g, NMI %.3g, purity %.3g", c.ARI, c.NMI, c.Purity)
	}
	if len(c.Distances) > 0 {
		words += fmt.Sprintf("; models %.3g to %.3g apart", slices.Min(c.Distances), slices.Max(c.Distances))
	}
	return words
}
