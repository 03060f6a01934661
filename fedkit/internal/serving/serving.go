// Package serving has what strategies serve their clients. What only package fedkit needs of it is a function here, not a method, so
// that users do not see it.
package serving

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/rows"
	"gonum.org/v1/gonum/floats"
)

// Serving is which model each client uses: a row of Models by Assign or ByLoss, or a mixture of the rows by Mix, or of their
// predictions by Ensemble or Gate. If Models is nil, all use Global. If a strategy serves Clusters, Serve is called after every
// round, so that the record has them for rounds without evaluation too; else it is called for evaluations only, and once at the
// start. So serve Clusters from the start, all 0 before the first split. Training in Serve is part of the evaluation, and not
// recorded.
type Serving struct {
	Global   *rows.Matrix // global model [1, d], if the strategy has one
	Models   *rows.Matrix // [k, d]
	Assign   []int        // by client, the row it uses
	ByLoss   bool         // each client uses the row with the lowest loss on its training examples; instead of Assign
	Mix      [][]float64  // by client, the weight of every row, [M, k]; instead of Assign
	Clusters []int        // by client, its cluster for the record, −1 for none; default with ByLoss: the row it uses at an evaluation

	// Ensemble mixes the predictions of the rows, instead of Assign: by client, the weight π of every row, [M, k], which are ≥ 0 and
	// sum to 1. A client's prediction is Σ_k π_k softmax(h_k(x)), whose logarithm takes the place of a model's outputs in loss,
	// accuracy and metrics. Of tags it is Σ_k π_k σ(h_k(x)), whose log odds do, and for a regression Σ_k π_k h_k(x).
	Ensemble [][]float64
	// Gate is Ensemble with weights for each example, as by a gating network: by client and by its test example, in the order of
	// Clients[i].Test, [M][n, k]. Validation rows, which have no such weights, are then not scored.
	Gate [][][]float64

	// Centroids are the clusters' models, [K, d], for their distances in the record; default: Models, if Assign equals Clusters or
	// with ByLoss.
	Centroids *rows.Matrix
}

// ClusterModels returns the models of the clusters, nil if the strategy serves none.
func ClusterModels(s *Serving) *rows.Matrix {
	switch {
	case s.Centroids != nil:
		return s.Centroids
	case s.Clusters != nil && slices.Equal(s.Assign, s.Clusters):
		return s.Models
	}
	return nil
}

// MixesOutputs reports whether predictions are mixed.
func MixesOutputs(s *Serving) bool { return s.Ensemble != nil || s.Gate != nil }

// Weights returns the weights of the models for each client's examples, one client after the other, all or none of a client's.
func Weights(s *Serving, examples [][]int) (weights [][]float64) {
	for c, own := range examples {
		if s.Gate != nil && len(own) > 0 {
			weights = append(weights, s.Gate[c]...)
		} else if s.Ensemble != nil {
			weights = append(weights, slices.Repeat(s.Ensemble[c:c+1], len(own))...)
		}
	}
	return weights
}

// Check refuses a Serving that does not suit m clients and models of d parameters. Runs check what strategies serve.
func (s *Serving) Check(m, d int) error {
	if s.Global == nil && s.Models == nil {
		return fault.Invalid("Serving", "empty", "a global model or models")
	}
	for _, models := range []*rows.Matrix{s.Global, s.Models, s.Centroids} {
		if models == nil {
			continue
		}
		if err := rows.CheckCols(models, "Serving", d); err != nil {
			return err
		}
	}
	if s.Global != nil && s.Global.Rows() != 1 {
		return fault.Invalid("Serving.Global", fmt.Sprintf("[%d, %d]", s.Global.Rows(), s.Global.Cols()), fmt.Sprintf("[1, %d]: one model", d))
	}
	choices := 0
	for _, list := range []struct {
		name   string
		n      int // entries, m if it has none per client
		set    bool
		choice bool // of what a client uses
	}{
		{"Assign", len(s.Assign), s.Assign != nil, true}, {"ByLoss", m, s.ByLoss, true}, {"Mix", len(s.Mix), s.Mix != nil, true},
		{"Ensemble", len(s.Ensemble), s.Ensemble != nil, true}, {"Gate", len(s.Gate), s.Gate != nil, true}, {"Clusters", len(s.Clusters), s.Clusters != nil, false},
	} {
		switch {
		case !list.set:
			continue
		case list.n != m:
			return fault.Invalid("len(Serving."+list.name+")", list.n, fmt.Sprintf("%d, one per client", m))
		case list.choice && s.Models == nil:
			return fault.Invalid("Serving."+list.name, "given without Models", "with Models")
		case list.choice:
			choices++
		}
	}
	if s.Models == nil {
		return nil
	}
	if choices != 1 {
		return fault.Invalid("Serving", fmt.Sprintf("%d of Assign, ByLoss, Mix, Ensemble and Gate", choices), "one of them")
	}
	return s.checkChoice(s.Models.Rows())
}

// checkChoice refuses rows and weights that do not suit k models.
func (s *Serving) checkChoice(k int) error {
	for c, a := range s.Assign {
		if a < 0 || a >= k {
			return fault.Invalid("Serving.Assign", a, fmt.Sprintf("in [0, %d) (client %d)", k, c))
		}
	}
	err := cmp.Or(checkWeights("Mix", s.Mix, k, false), checkWeights("Ensemble", s.Ensemble, k, true))
	for c, weights := range s.Gate {
		err = cmp.Or(err, checkWeights("Gate["+strconv.Itoa(c)+"]", weights, k, true))
	}
	return err
}

// checkWeights refuses rows without a weight for each of k models, or that are no distribution if they must be one.
func checkWeights(name string, all [][]float64, k int, distribution bool) error {
	for i, weights := range all {
		field := "Serving." + name + "[" + strconv.Itoa(i) + "]"
		switch {
		case len(weights) != k:
			return fault.Invalid("len("+field+")", len(weights), fmt.Sprintf("%d, one per model", k))
		case distribution && !(floats.Min(weights) >= 0 && math.Abs(floats.Sum(weights)-1) <= 1e-3):
			return fault.Invalid(field, weights, "weights ≥ 0 that sum to 1")
		}
	}
	return nil
}

// Clone shares only the models with a State, which are immutable.
func Clone(s Serving) *Serving {
	s.Assign, s.Clusters, s.Mix, s.Ensemble, s.Gate = slices.Clone(s.Assign), slices.Clone(s.Clusters), cloneRows(s.Mix), cloneRows(s.Ensemble), slices.Clone(s.Gate)
	for i := range s.Gate {
		s.Gate[i] = cloneRows(s.Gate[i])
	}
	return &s
}

func cloneRows(all [][]float64) [][]float64 {
	all = slices.Clone(all)
	for i := range all {
		all[i] = slices.Clone(all[i])
	}
	return all
}

// maxCentroids is the largest number of clusters whose distances are recorded.
const maxCentroids = 64

// Clustering returns the quality of the clusters that a strategy serves, against the clients' true groups; nil if it serves none.
func Clustering(s *Serving, truth []int) (*history.Clustering, error) {
	if s.Clusters == nil {
		return nil, nil
	}
	c := &history.Clustering{}
	names := slices.Clone(s.Clusters)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name >= 0 {
			c.Count++
		}
	}
	agree := cluster.Agreement{ARI: math.NaN(), NMI: math.NaN(), Purity: math.NaN()}
	if slices.Max(truth) > slices.Min(truth) {
		agree = cluster.Agree(s.Clusters, truth)
	}
	c.ARI, c.NMI, c.Purity = history.Float(agree.ARI), history.Float(agree.NMI), history.Float(agree.Purity)
	models := ClusterModels(s)
	if models == nil && s.ByLoss {
		models = s.Models
	}
	if models.Rows() < 2 || models.Rows() > maxCentroids {
		return c, nil
	}
	p, err := models.Points()
	if err != nil {
		return c, err
	}
	for _, v := range p.Distances().Values() {
		c.Distances = append(c.Distances, history.Float(v))
	}
	return c, nil
}
