package xla

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Rows is the bit of Reach for the number of rows.
const Rows = 1 << 7

// Reach returns what each result of a program depends on, without compiling it: bit i for row i of marked arguments, which are counted
// over their first two axes, up to seven; and Rows if it may change with the number of rows, of which others have more or fewer. It
// may find more than there is, never less: what it does not know depends on everything.
func (p *Program) Reach(arguments, others []shapes.Shape, marked ...int) (reached []uint8, err error) {
	defer Caught(&err)
	g, results := p.shared(nil, arguments)
	other, _ := p.shared(nil, others)
	a, b := g.Nodes(), other.Nodes()
	if len(a) != len(b) {
		return nil, errors.New("the graph changes with the number of rows")
	}
	r := reach{of: map[*graph.Node][]uint8{}}
	for i, n := range a {
		if r.n, r.other = n, b[i]; n.Type() != b[i].Type() {
			return nil, errors.New("the graph changes with the number of rows")
		}
		r.of[n] = r.node(arguments, marked)
	}
	for _, n := range results {
		reached = append(reached, union(r.of[n]))
	}
	return reached, nil
}

// Larger constants would not be kept in the graph, and could not be compared.
func init() { graph.MinConstValueSizeToKeep = 1 << 20 }

// reach is what the numbers of nodes depend on, row-major; a single entry is that of all of a node's numbers.
type reach struct {
	of       map[*graph.Node][]uint8
	n, other *graph.Node // the node at hand, and that for another number of rows
}

func union(masks []uint8) (all uint8) {
	for _, m := range masks {
		all |= m
	}
	return all
}

// all is the same for all numbers of the node: what any number of its operands depends on, and more.
func (r *reach) all(more uint8) []uint8 {
	for _, in := range r.n.Inputs() {
		more |= union(r.of[in])
	}
	return []uint8{more}
}

// ints is an option of the node that is a list of numbers.
func ints(n *graph.Node, name string) (list []int) {
	v := detail(n, name)
	for i := range v.Len() {
		list = append(list, int(v.Index(i).Int()))
	}
	return list
}

// sized reports whether an axis of node i of the inputs has another size for other numbers of rows.
func (r *reach) sized(i, axis int) bool {
	return r.n.Inputs()[i].Shape().Dim(axis) != r.other.Inputs()[i].Shape().Dim(axis)
}

// counts is Rows if any of the axes of an input has another size for other numbers of rows.
func (r *reach) counts(i int, axes []int) uint8 {
	if slices.ContainsFunc(axes, func(axis int) bool { return r.sized(i, axis) }) {
		return Rows
	}
	return 0
}

// same reports whether the options of the node, other than shapes and operands, do not change with the number of rows.
func (r *reach) same(names ...string) bool {
	for _, name := range names {
		if fmt.Sprint(detail(r.n, name)) != fmt.Sprint(detail(r.other, name)) {
			return false
		}
	}
	return true
}

// node returns what the numbers of the node depend on.
func (r *reach) node(arguments []shapes.Shape, marked []int) []uint8 {
	n, in := r.n, r.n.Inputs()
	dims := n.Shape().Dimensions
	one := func(i int) (masks []uint8, dims []int) { return r.of[in[i]], in[i].Shape().Dimensions }
	switch n.Type() {
	case graph.NodeTypeParameter:
		for _, m := range marked {
			if m < len(arguments) && n.GetParameterName() == fmt.Sprint("arg", m) {
				rows := dims[0] * dims[1]
				return each(n.Shape().Size(), func(i int) uint8 { return 1 << (i / (n.Shape().Size() / rows)) })
			}
		}
		return []uint8{0}
	case graph.NodeTypeConstant:
		value := func(n *graph.Node) *tensors.Tensor {
			t, _ := reflect.NewAt(detail(n, "tensor").Type(), detail(n, "tensor").Addr().UnsafePointer()).Elem().Interface().(*tensors.Tensor)
			return t
		}
		if a, b := value(n), value(r.other); a == nil || b == nil || !a.Equal(b) {
			return []uint8{Rows}
		}
		return []uint8{0}
	case graph.NodeTypeIota:
		if axis := int(detail(n, "iotaAxis").Int()); dims[axis] != r.other.Shape().Dim(axis) {
			return []uint8{Rows}
		}
		return []uint8{0}
	}
	switch n.Type() {
	case graph.NodeTypeReshape:
		x, d := one(0)
		if !reshapesRows(d, r.other.Inputs()[0].Shape().Dimensions, dims, r.other.Shape().Dimensions) {
			return r.all(Rows)
		}
		return x
	case graph.NodeTypeTranspose:
		x, d := one(0)
		permutation := ints(n, "permutation")
		return moved(x, d, dims, func(from, to []int) bool {
			for i, axis := range permutation {
				from[axis] = to[i]
			}
			return true
		})
	case graph.NodeTypeBroadcastInDim:
		x, d := one(0)
		axes := ints(n, "broadcastAxes")
		return moved(x, d, dims, func(from, to []int) bool {
			for i, axis := range axes {
				from[i] = min(to[axis], d[i]-1)
			}
			return true
		})
	case graph.NodeTypeSlice:
		x, d := one(0)
		if !r.same("starts", "strides") {
			return r.all(Rows)
		}
		starts, strides := ints(n, "starts"), ints(n, "strides")
		return moved(x, d, dims, func(from, to []int) bool {
			for i := range from {
				step := 1
				if len(strides) > 0 {
					step = strides[i]
				}
				from[i] = starts[i] + to[i]*step
			}
			return true
		})
	case graph.NodeTypeConcatenate:
		axis := int(detail(n, "axis").Int())
		offset, out := 0, make([]uint8, n.Shape().Size())
		for i := range in {
			x, d := one(i)
			if r.sized(i, axis) {
				return r.all(Rows)
			}
			part := moved(x, d, dims, func(from, to []int) bool {
				copy(from, to)
				from[axis] -= offset
				return from[axis] >= 0 && from[axis] < d[axis]
			})
			for j := range out {
				out[j] |= part[j%len(part)]
			}
			offset += d[axis]
		}
		return out
	case graph.NodeTypeReduceSum, graph.NodeTypeReduceMax, graph.NodeTypeReduceMin, graph.NodeTypeReduceProduct, graph.NodeTypeReduceLogicalAnd,
		graph.NodeTypeReduceLogicalOr:
		x, d := one(0)
		axes := ints(n, "axes")
		if len(axes) == 0 { // all of them
			for a := range d {
				axes = append(axes, a)
			}
		}
		return folded(x, d, axes, r.counts(0, axes))
	case graph.NodeTypeArgMinMax:
		x, d := one(0)
		axes := []int{int(detail(n, "axis").Int())}
		return folded(x, d, axes, r.counts(0, axes))
	case graph.NodeTypeDotGeneral:
		return r.product(dims)
	case graph.NodeTypeConvGeneral:
		return r.convolution(dims)
	case graph.NodeTypeReduceWindow:
		return r.pooling(dims)
	case graph.NodeTypeBitcast, graph.NodeTypeDynamicSlice, graph.NodeTypeGather, graph.NodeTypePad, graph.NodeTypeReverse, graph.NodeTypeRNGBitGenerator,
		graph.NodeTypeSplitNode:
		if n.String() == r.other.String() && union(r.all(0)) == 0 { // with its operands' shapes and all options
			return []uint8{0}
		}
		return r.all(Rows)
	case graph.NodeTypeAbs, graph.NodeTypeAdd, graph.NodeTypeConvertDType, graph.NodeTypeCos, graph.NodeTypeDiv, graph.NodeTypeEqual, graph.NodeTypeErf,
		graph.NodeTypeBitwiseAnd, graph.NodeTypeBitwiseOr, graph.NodeTypeBitwiseXor, graph.NodeTypeExp, graph.NodeTypeFloor, graph.NodeTypeShiftLeft,
		graph.NodeTypeShiftRightLogical, graph.NodeTypeGreaterOrEqual, graph.NodeTypeGreaterThan, graph.NodeTypeIdentity,
		graph.NodeTypeLessOrEqual, graph.NodeTypeLessThan, graph.NodeTypeLog, graph.NodeTypeLogicalAnd, graph.NodeTypeLogicalNot, graph.NodeTypeLogicalOr,
		graph.NodeTypeLogistic, graph.NodeTypeMax, graph.NodeTypeMin, graph.NodeTypeMul, graph.NodeTypeNeg, graph.NodeTypeNotEqual, graph.NodeTypeOptimizationBarrier,
		graph.NodeTypePow, graph.NodeTypeRsqrt, graph.NodeTypeSign, graph.NodeTypeSin, graph.NodeTypeSqrt, graph.NodeTypeSub, graph.NodeTypeTanh, graph.NodeTypeWhere:
		out := []uint8{0}
		for i := range in {
			x, d := one(i)
			if len(x) > 1 && !slices.Equal(d, dims) {
				if len(d) != len(dims) {
					return r.all(Rows)
				}
				x = moved(x, d, dims, func(from, to []int) bool {
					for a := range from {
						from[a] = min(to[a], d[a]-1) // an axis of size 1 fits all
					}
					return true
				})
			}
			out = joined(out, x)
		}
		return out
	}
	return []uint8{0xff} // such as a loop, whose body may read any node
}

// reshapesRows reports whether a reshape splits or joins axes that have another size for other numbers of rows at one of their ends: as many
// numbers are before or after them as in the result.
func reshapesRows(from, fromOther, to, toOther []int) bool {
	ends := func(d, other []int) (before, after int) {
		first, last := len(d), -1
		for i := range d {
			if d[i] != other[i] {
				first, last = min(first, i), i
			}
		}
		return shapes.Make(dtypes.Int32, d[:first]...).Size(), shapes.Make(dtypes.Int32, d[last+1:]...).Size()
	}
	before, after := ends(from, fromOther)
	beforeTo, afterTo := ends(to, toOther)
	return before == beforeTo || after == afterTo
}

// each is a list of n masks.
func each(n int, mask func(i int) uint8) []uint8 {
	all := make([]uint8, n)
	for i := range all {
		all[i] = mask(i)
	}
	return all
}

// joined is the union of two lists, number by number.
func joined(a, b []uint8) []uint8 {
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(b) == 1 && b[0] == 0 {
		return a
	}
	return each(len(a), func(i int) uint8 { return a[i] | b[i%len(b)] })
}

// moved is a list for numbers that come from others: where sets from which, for number to of the result; false: from none.
func moved(x []uint8, d, dims []int, where func(from, to []int) bool) []uint8 {
	if len(x) == 1 && x[0] == 0 {
		return x
	}
	size := 1
	for _, n := range dims {
		size *= n
	}
	from, to := make([]int, len(d)), make([]int, len(dims))
	return each(size, func(int) (mask uint8) {
		if where(from, to) {
			at := 0
			for i, n := range d {
				at = at*n + from[i]
			}
			mask = x[min(at, len(x)-1)]
		}
		for a := len(to) - 1; a >= 0; a-- {
			if to[a]++; to[a] < dims[a] {
				break
			}
			to[a] = 0
		}
		return mask
	})
}

// folded is the union over axes, and more.
func folded(x []uint8, d, axes []int, more uint8) []uint8 {
	if len(x) == 1 {
		return []uint8{x[0] | more}
	}
	size, strides := 1, make([]int, len(d)) // in the result
	for a := len(d) - 1; a >= 0; a-- {
		if !slices.Contains(axes, a) {
			strides[a] = size
			size *= d[a]
		}
	}
	out, at := each(size, func(int) uint8 { return more }), make([]int, len(d))
	for _, m := range x {
		to := 0
		for a, i := range at {
			to += i * strides[a]
		}
		out[to] |= m
		for a := len(at) - 1; a >= 0; a-- {
			if at[a]++; at[a] < d[a] {
				break
			}
			at[a] = 0
		}
	}
	return out
}

// product is node for a product: of each operand, the union over the contracted axes.
func (r *reach) product(dims []int) []uint8 {
	out, free := []uint8{0}, len(ints(r.n, "lhsBatchAxes"))
	for i, side := range []string{"lhs", "rhs"} {
		d, contracted, batch := r.n.Inputs()[i].Shape().Dimensions, ints(r.n, side+"ContractingAxes"), ints(r.n, side+"BatchAxes")
		x := folded(r.of[r.n.Inputs()[i]], d, contracted, r.counts(i, contracted))
		var kept, places []int // axes of x, and where they are in the result
		for axis := range d {
			if slices.Contains(contracted, axis) {
				continue
			}
			kept = append(kept, d[axis])
			if at := slices.Index(batch, axis); at >= 0 {
				places = append(places, at)
			} else {
				places = append(places, free)
				free++
			}
		}
		out = joined(out, moved(x, kept, dims, func(from, to []int) bool {
			for a, place := range places {
				from[a] = to[place]
			}
			return true
		}))
	}
	return out
}

// convolution is node for a convolution: each number depends on all pixels and channels of its example, and on all of the kernel.
func (r *reach) convolution(dims []int) []uint8 {
	axes := detail(r.n, "axes")
	batch, to := int(field(axes, "InputBatch").Int()), int(field(axes, "OutputBatch").Int())
	d := r.n.Inputs()[0].Shape().Dimensions
	if union(r.of[r.n.Inputs()[1]]) != 0 || int(detail(r.n, "batchGroupCount").Int()) > 1 || !r.same("strides", "paddings") {
		return r.all(Rows)
	}
	return r.byAxis(d, dims, batch, to)
}

// byAxis is the union over all axes but one, which is axis to in the result.
func (r *reach) byAxis(d, dims []int, axis, to int) []uint8 {
	var others []int
	for a := range d {
		if a != axis {
			others = append(others, a)
		}
	}
	x := folded(r.of[r.n.Inputs()[0]], d, others, r.counts(0, others))
	return moved(x, d[axis:axis+1], dims, func(from, at []int) bool {
		from[0] = at[to]
		return true
	})
}

// pooling is node for a pooling: the union over all of the pooled axes.
func (r *reach) pooling(dims []int) []uint8 {
	d := r.n.Inputs()[0].Shape().Dimensions
	var pooled []int
	for a, size := range ints(r.n, "windowDimensions") {
		if size > 1 || d[a] != dims[a] {
			pooled = append(pooled, a)
		}
	}
	x := folded(r.of[r.n.Inputs()[0]], d, pooled, r.counts(0, pooled))
	var kept, places []int
	for a := range d {
		if !slices.Contains(pooled, a) {
			kept, places = append(kept, d[a]), append(places, a)
		}
	}
	return moved(x, kept, dims, func(from, to []int) bool {
		for i, a := range places {
			from[i] = to[a]
		}
		return true
	})
}
