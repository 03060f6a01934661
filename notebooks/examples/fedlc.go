package examples

import (
	"math"
	"slices"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/strategy"
	. "github.com/gomlx/gomlx/core/graph"
)

// FedLC calibrates logits by a client's label counts (Zhang et al., arXiv 2209.00189, §4): with n_ic examples of class c at
// client i, it trains on
//
//	cross entropy of softmax(logit_c − τ n_ic^(−1/4)),  x ← Σ_{i∈S} (n_i/N) w_i,
//
// so that rare classes get wider margins. A class without examples at the client counts as n_ic = 1e-8, which leaves it
// out of the softmax. x is [1, d]. Identity: with τ = 0 it is FedAvg.
type FedLC struct {
	Fraction float64      // share of the clients in a round, in (0, 1]; default all
	Local    fedkit.Local // local solver: E epochs, B examples per batch, η
	Tau      float64      `range:"[0,inf)" default:"1"` // τ, strength of the calibration
	strategy.State
}

// Check implements fedkit.Checker.
func (s *FedLC) Check(fed *fedkit.Federation, _ int) error {
	return labeled(fed, "logits are calibrated by labels")
}

// Round implements fedkit.Strategy.
func (s *FedLC) Round(r *fedkit.Round) error {
	var clients []partition.Client
	S := r.Select(nil, s.Fraction)
	for _, c := range S {
		clients = append(clients, r.Fed.Clients[c])
	}
	var offset []float32
	for _, n := range slices.Concat(partition.Labels(r.Fed.Data, clients)...) {
		offset = append(offset, float32(-s.Tau*math.Pow(max(float64(n), 1e-8), -0.25)))
	}
	u := r.Train(fedkit.Job{Clients: S, Start: s.X, Local: s.Local, Objective: calibrated{},
		Extra: map[string]*fedkit.Matrix{"offset": fedkit.NewMatrix(offset, len(S), r.Fed.Data.Classes)}})
	s.X = u.Models.Mean(u.Examples())
	return r.Err()
}

type calibrated struct{}

// Loss implements fedkit.Objective. It reports the loss without offsets.
func (calibrated) Loss(b *fedkit.Batch) *Node {
	b.Report(b.Loss(b.Out))
	return b.Loss(Add(b.Out, InsertAxes(b.Extra("offset"), 1)))
}
