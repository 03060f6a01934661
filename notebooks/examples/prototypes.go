package examples

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/model"
	. "github.com/gomlx/gomlx/core/graph"
)

// prototypes is FedProto's objective.
type prototypes struct {
	lambda float64
	layer  string
}

// Loss implements fedkit.Objective. It reports the task's own loss.
func (o prototypes) Loss(b *fedkit.Batch) *Node {
	z := model.Flatten(b.Layer(o.layer, b.Params)) // [C, B, f]
	f := z.Shape().Dim(-1)
	c := Reshape(b.Extra("prototypes"), z.Shape().Dim(0), -1, f+1)
	c = Einsum("cbk,ckf->cbf", OneHot(b.Y, c.Shape().Dim(1), z.DType()), c) // of each example's class
	away := ReduceMean(Square(Sub(z, SliceAxis(c, -1, AxisRange(0, f)))), -1)
	loss := b.Loss(b.Out)
	b.Report(loss)
	return Add(loss, MulScalar(Mul(away, Squeeze(SliceAxis(c, -1, AxisElem(f)), -1)), o.lambda))
}
