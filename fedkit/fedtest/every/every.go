// Package every has every strategy, for tests that hold for all of them.
package every

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/server"
	"fedkit.example/fedkit/strategy"
)

// Local is their local training.
var Local = fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}

// Strategies returns every strategy, with options that suit fedtest.Quadratic.
func Strategies() map[string]fedkit.Strategy {
	l := Local
	return map[string]fedkit.Strategy{
		"AdaptiveClustering":        &strategy.AdaptiveClustering{P: 3, SAProb: fedkit.Zero, Local: l},
		"AdaptiveClustering, reuse": &strategy.AdaptiveClustering{SAProb: 1, First: true, Reuse: true, Clusterer: cluster.KMeans{}, Local: l},

		"FedAvg":                   &strategy.FedAvg{Fraction: 0.5, Local: l},
		"FedAvg, proximal":         &strategy.FedAvg{Fraction: 0.5, Local: fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05, Prox: 0.1}},
		"FedAvg, kept memory":      &strategy.FedAvg{Fraction: 0.5, Local: fedkit.Local{Epochs: 2, Batch: 8, LR: 0.02, Optimizer: fedkit.Adam{}, KeepMemory: true}},
		"FedAvg, trimmed mean":     &strategy.FedAvg{Aggregator: aggregate.TrimmedMean{Share: 0.34}, Local: l},
		"FedAvg, Krum":             &strategy.FedAvg{Aggregator: aggregate.Krum{}, Local: l},
		"FedAvg, Multi-Krum":       &strategy.FedAvg{Aggregator: aggregate.MultiKrum{F: 1}, Local: l},
		"FedAC":                    &strategy.FedAC{K: 2, Fixed: true, Fraction: 0.5, Local: l},
		"FedAC, tuned":             &strategy.FedAC{K: 1, Every: 1, D: 2, Head: []string{"dense1/biases"}, Local: l},
		"FedAC, by loss":           &strategy.FedAC{Fixed: true, Fraction: 0.5, Weighting: strategy.WeightingFunc(ByLoss), Local: l},
		"FedAvg, geometric median": &strategy.FedAvg{Aggregator: aggregate.GeometricMedian{}, Local: l},
		"FedAvg, nearest mix":      &strategy.FedAvg{Aggregator: aggregate.NearestMix{F: 1}, Local: l},
		"FedMedian":                &strategy.FedMedian{Fraction: 0.5, Local: l},
		"FedMedian, clients chosen": &strategy.FedMedian{Fraction: 0.5, Local: l, Selector: selection.Fair{Wait: 3, Quota: 0.8,
			Then: selection.Explore{Then: selection.Annealed{Rounds: 4, Then: selection.Diversity{By: selection.Dissimilarity}}}}},
		"FedMiddleAvg": &strategy.FedMiddleAvg{Fraction: 0.5, Local: l},
		"FedAvgM":      &strategy.FedAvgM{Fraction: 0.5, Local: l},
		"FedAdagrad":   &strategy.FedAdagrad{Fraction: 0.5, Local: l, Server: server.Adagrad{LR: 0.5}},
		"FedAdam":      &strategy.FedAdam{Fraction: 0.5, Local: l, Server: server.Adam{LR: 0.05, Epsilon: 1e-3}},
		"FedYogi":      &strategy.FedYogi{Fraction: 0.5, Local: l, Server: server.Yogi{LR: 0.05, Epsilon: 1e-3}},
		"FedYogi, trimmed, hybrid": &strategy.FedYogi{Aggregator: aggregate.TrimmedMean{Share: 0.2}, Selector: selection.Explore{Then: selection.Hybrid{}},
			Fraction: 0.85, Local: l, Server: server.Yogi{LR: 0.05, Epsilon: 1e-3}},
		"FedYogi, Reddi": &strategy.FedYogi{Fraction: 0.5, Local: l, Server: server.Yogi{LR: 0.05, Epsilon: 0.03, Form: server.Reddi}},
		"FedOpt": &strategy.FedOpt{Fraction: 0.5, Aggregator: aggregate.Median{}, Selector: fedkit.SelectorFunc(Sorted), Local: l,
			Server: server.Momentum{Beta: 0.5}},
		"FedProx": &strategy.FedProx{Fraction: 0.5, Local: l},
		"FedProx, adaptive": &strategy.FedProx{Fraction: 0.5, Local: l, Adaptive: true, Aggregator: aggregate.Median{},
			Server: server.Momentum{}},
		"SmartFedProx": &strategy.SmartFedProx{},
		"SCAFFOLD":     &strategy.SCAFFOLD{Fraction: 0.5, Local: l},
		"SCAFFOLD, gradients": &strategy.SCAFFOLD{Fraction: 0.5, Gradients: true, Server: server.SGD{LR: 0.5},
			Local: fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05, Optimizer: fedkit.Momentum{Beta: 0.5}}},
		"SCAFFOLD, by examples":     &strategy.SCAFFOLD{Fraction: 0.5, Weighting: strategy.ByExamples{}, Local: l},
		"FedAsync":                  &strategy.FedAsync{Concurrency: 3, Local: l},
		"FedAsync, updates":         &strategy.FedAsync{Concurrency: 4, Updates: true, Staleness: strategy.Hinge{A: 2, B: 1}, Local: l},
		"FedBuff":                   &strategy.FedBuff{Concurrency: 4, K: 2, Server: server.Momentum{}, Local: l},
		"CCFL":                      &strategy.CCFL{Concurrency: 4, M: 2, StepsMax: 4, Server: server.Adagrad{LR: 0.5, Form: server.Reddi}, Local: fedkit.Local{Batch: 8, LR: 0.05}},
		"CCFL, AMSGrad":             &strategy.CCFL{Concurrency: 5, M: 3, StepsMin: 2, StepsMax: 2, Server: server.AMSGrad{LR: 0.1}, Local: fedkit.Local{Batch: 8, LR: 0.05}},
		"FedEff":                    &strategy.FedEff{Local: l},
		"FedEff, some":              &strategy.FedEff{Tau: 0.8, Schedule: fedkit.Cosine{Rounds: 6, Floor: 0.5}, Unit: fedkit.Zero, Fraction: 0.5, Local: l},
		"FedEff, equal epochs":      &strategy.FedEff{Equal: true, Schedule: fedkit.Cosine{Rounds: 6, Floor: 0.5}, Fraction: 0.5, Local: l},
		"FedEff, initialized":       &strategy.FedEff{Initialize: true, Fraction: 0.5, Local: l},
		"FedSplit":                  &strategy.FedSplit{Local: l},
		"FedSplit, sketched":        &strategy.FedSplit{Newton: 2, Sketch: 40, Step: 0.5},
		"FedSplit, exact":           &strategy.FedSplit{Exact: true, Step: 0.5},
		"FedRep":                    &strategy.FedRep{Head: []string{"dense1/biases"}, HeadEpochs: 3, Fraction: 0.5, Local: l},
		"FedRep, no head":           &strategy.FedRep{Head: []string{}, Fraction: 0.5, Local: l},
		"FedSGD":                    &strategy.FedSGD{Fraction: 0.5, LR: 0.3},
		"FedSGD, batches":           &strategy.FedSGD{LR: 0.1, Batch: 8},
		"LocalOnly":                 &strategy.LocalOnly{Local: l},
		"LocalOnly, some":           &strategy.LocalOnly{Fraction: 0.5, Local: l},
		"IFCA":                      &strategy.IFCA{K: 2, Fraction: 0.5, Local: l},
		"IFCA, gradients":           &strategy.IFCA{K: 2, Gradients: true, Gamma: 0.5},
		"IFCA, stochastic":          &strategy.IFCA{K: 2, Fraction: 0.5, Gradients: true, Batch: 8, AllClients: true},
		"IFCA, restarts":            &strategy.IFCA{K: 2, Fraction: 0.5, Restarts: 2, Trial: 2, Local: l},
		"OneShot":                   &strategy.OneShot{K: 2, WorkFactor: 2, Fraction: 0.5, Local: l},
		"OneShot, any k":            &strategy.OneShot{Clusterer: cluster.Agglomerative{}, Local: l},
		"CFL":                       &strategy.CFL{Eps1: 100, Eps2: fedkit.Zero, GammaMax: 0.01, Complete: true, Local: l},
		"CFL, some":                 &strategy.CFL{Eps1: 100, Eps2: fedkit.Zero, First: 2, Fraction: 0.84, Local: l},
		"LCFL":                      &strategy.LCFL{K: 2, Warmup: 2, Fraction: 0.5, Local: l},
		"LCFL, any k":               &strategy.LCFL{Warmup: 1, Clusterer: cluster.KMeans{}, Local: l},
		"FLHC":                      &strategy.FLHC{K: 2, Warmup: 1, Fraction: 0.5, Local: l},
		"FLHC, number found":        &strategy.FLHC{Warmup: 1, Cosine: true, Clusterer: cluster.Agglomerative{Linkage: cluster.Average, Height: 0.5}, Local: l},
		"FedPRISM":                  &strategy.FedPRISM{K: 2, Every: 2, Fraction: 0.5, Local: l, Center: true, Temperature: 0.2},
		"FedCluster":                &strategy.FedCluster{K: 2, Fraction: 0.5, Local: l},
		"FedCluster, chosen":        &strategy.FedCluster{K: 3, Selector: fedkit.SelectorFunc(Sorted), Fraction: 0.85, Local: l},
		"FedSC":                     &strategy.FedSC{K: 2, Updates: true, Fraction: 0.5, Local: l},
		"FedSC, parallel":           &strategy.FedSC{Updates: true, Parallel: true, Fraction: 0.5, Local: l},
		"FedClust":                  &strategy.FedClust{K: 2, Fraction: 0.5, Local: l},
		"FedClust, number found":    &strategy.FedClust{Clusterer: cluster.Agglomerative{Linkage: cluster.Average, Height: 1}, Layers: []string{"dense1/weights"}, Every: 3, Fraction: 0.7, Local: l},
		"FedClust, once":            &strategy.FedClust{Once: true, Fraction: 0.5, Local: l},
		"FedClust, several models":  &strategy.FedClust{K: 2, MultiStart: true, Every: 2, Clusterer: cluster.KMeans{}, Local: l},
		"FeSEM":                     &strategy.FeSEM{Fraction: 0.5, Local: l},
		"FeSEM, random clusters":    &strategy.FeSEM{K: 3, Random: true, Local: l},
		"FedPRISM, covariance":      &strategy.FedPRISM{K: 2, M: 1, Every: 2, Fraction: 0.7, Local: l, Clusterer: cluster.Spectral{}, Updates: true},
		"FedPRISM, adaptive":        &strategy.FedPRISM{K: 2, Every: 2, Fraction: 0.7, Local: l, AlphaStep: 0.2, Average: true, Center: true, Clusterer: cluster.Agglomerative{}},
		"FedPRISM, average linkage": &strategy.FedPRISM{K: 3, Every: 2, Local: l, Clusterer: cluster.Agglomerative{Linkage: cluster.Average}, Temperature: 0.1},
	}
}

// Warmup is the rounds of a strategy after which all of its programs have run once: the first clustering, and the first round after it.
func Warmup(s fedkit.Strategy) int {
	switch s := s.(type) {
	case *strategy.FedPRISM:
		if s.AlphaStep > 0 {
			return s.Every + 2 // until models differ
		}
		return s.Every
	case *strategy.OneShot:
		return 2
	case *strategy.IFCA: // until the best set goes on
		if s.Restarts > 1 {
			return s.Restarts*s.Trial + 1
		}
	case *strategy.LCFL:
		return s.Warmup + 1
	case *strategy.FLHC:
		return s.Warmup + 2
	case *strategy.CFL: // by then every cluster has one client
		return 10
	case *strategy.FedAC:
		if !s.Fixed { // until every number of clusters has occurred
			return 100
		}
		return 2
	case *strategy.FedEff:
		if s.Schedule != nil || s.Initialize { // until every number of participants and of epochs has occurred
			return 40
		}
	case *strategy.AdaptiveClustering:
		return 3 // p falls from 3 to 2 and 1
	case *strategy.FedClust, *strategy.FeSEM:
		return 8 // every client has a cluster
	}
	return 0
}

// Sorted selects the first n clients.
func Sorted(r *fedkit.Round, n int) []int { return r.AllClients()[:n] }

// ByLoss weighs clients by their training loss.
func ByLoss(s fedkit.ClientResult) float64 { return float64(s.Loss) + 1e-3 }
