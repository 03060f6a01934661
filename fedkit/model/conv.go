package model

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// ConvPool is a convolution of stride 1 without padding, max pooling over pool × pool windows, bias and ReLU, for each
// client: x [C, ch, h, w, B] with the batch last, w [C, o, ch, k, k], b [C, o]; result [C, o, (h−k+1)/pool, (w−k+1)/pool, B].
// Both h and w must be divisible by pool, and so must h−k+1 and w−k+1.
//
// XLA's own convolution is slow on CPUs. Here the image is split into its pool × pool phases, so that every position of
// a pooling window is a row of one matrix product over u × u windows of phases, u = ⌈(k+pool−1)/pool⌉. The maximum is
// then taken over pool² groups of rows, and bias and ReLU see only what survives it. At a tie the gradient goes to the first
// position of the window, row by row.
func ConvPool(x, w, b *Node, pool int) *Node {
	d, k := w.Shape().Dimensions, w.Shape().Dimensions[3]
	c, o := d[0], d[1]
	u := (k + pool - 1 + pool - 1) / pool
	x = phases(x, pool)
	xd := x.Shape().Dimensions
	oh, ow, batch := xd[2]-u+1, xd[3]-u+1, xd[4]
	if xd[0] == 1 && c > 1 { // the same examples for all clients
		x = BroadcastToDims(x, append([]int{c}, xd[1:]...)...)
	}
	y := DotGeneral(blockWeights(w, pool, u), []int{2}, []int{0}, patches(x, u), []int{1}, []int{0}) // [C, pool²·o, oh·ow·B]
	var best *Node
	for q := range pool * pool {
		rows := Slice(y, AxisRange(), AxisRange(q*o, (q+1)*o))
		if best == nil {
			best = rows
		} else {
			best = Max(best, rows)
		}
	}
	return Reshape(ReLU(Add(best, InsertAxes(b, -1))), c, o, oh, ow, batch)
}

// phases is [C, ch, h, w, B] → [C, ch·p·p, h/p, w/p, B].
func phases(x *Node, p int) *Node {
	if p == 1 {
		return x
	}
	d := x.Shape().Dimensions
	x = Reshape(x, d[0], d[1], d[2]/p, p, d[3]/p, p, d[4])
	return Reshape(TransposeAllAxes(x, 0, 1, 3, 5, 2, 4, 6), d[0], d[1]*p*p, d[2]/p, d[3]/p, d[4])
}

// patches is im2col for u × u windows: [C, f, h, w, B] → [C, u·u·f, oh·ow·B].
func patches(x *Node, u int) *Node {
	d := x.Shape().Dimensions
	oh, ow := d[2]-u+1, d[3]-u+1
	var all []*Node
	for i := range u {
		for j := range u {
			all = append(all, Slice(x, AxisRange(), AxisRange(), AxisRange(i, i+oh), AxisRange(j, j+ow)))
		}
	}
	return Reshape(Concatenate(all, 1), d[0], u*u*d[1], oh*ow*d[4])
}

// blockWeights spreads a kernel over the phases: [C, o, ch, k, k] → [C, p·p·o, u·u·ch·p·p], one row group per
// position (di, dj) in the pooling window, where tap (i, j) meets row i+di and column j+dj. Spreading is a product
// with a constant of zeros and ones, which has a gradient.
func blockWeights(w *Node, p, u int) *Node {
	d := w.Shape().Dimensions
	c, o, ch, k := d[0], d[1], d[2], d[3]
	side := u * p
	spread := make([][]float32, k*k)
	for tap := range spread {
		spread[tap] = make([]float32, p*p*side*side)
		for q := range p * p {
			spread[tap][(q*side+tap/k+q/p)*side+tap%k+q%p] = 1
		}
	}
	w = DotGeneral(Reshape(w, c, o*ch, k*k), []int{2}, nil, Const(w.Graph(), spread), []int{0}, nil)
	w = Reshape(w, c, o, ch, p*p, u, p, u, p)
	return Reshape(TransposeAllAxes(w, 0, 3, 1, 4, 6, 2, 5, 7), c, p*p*o, u*u*ch*p*p)
}
