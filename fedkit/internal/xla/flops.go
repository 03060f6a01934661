package xla

import (
	"reflect"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Work is what a program takes. A loop's body counts once, but for those of Loop.Repeat, since the graph does not give its trip count.
type Work struct {
	Operations   float64 // floating-point operations of matrix products and convolutions, two per multiply-add
	Convolutions float64 // those of the convolutions alone
	Values       float64 // numbers that operations have as results; XLA fuses many of them and keeps them nowhere
	Loops        bool    // whether it has a Loop.Repeat
}

// Work returns the work of the program for arguments of the given shapes.
func (p *Program) Work(arguments ...shapes.Shape) (w Work, err error) {
	defer Caught(&err)
	g, _ := p.shared(nil, arguments)
	for _, n := range g.Nodes() {
		w.Operations += 2 * times(n) * multiplyAdds(n)
		if n.Type() == graph.NodeTypeConvGeneral {
			w.Convolutions += 2 * multiplyAdds(n)
		}
		w.Values += float64(n.Shape().Size())
		w.Loops = w.Loops || times(n) > 1
	}
	return w, nil
}

// Kernel returns the spatial shape of a convolution's kernel, and nil for any other node.
func Kernel(n *graph.Node) (extent []int) {
	if n.Type() != graph.NodeTypeConvGeneral {
		return nil
	}
	axes := fieldOf(detail(n, "axes"), "KernelSpatial")
	for i := range axes.Len() {
		extent = append(extent, n.Inputs()[1].Shape().Dim(int(axes.Index(i).Int())))
	}
	return extent
}

// multiplyAdds counts the multiply-adds of a product or convolution: for each value of the result, one per value of the
// contracted axes, or of the kernel of its channel.
func multiplyAdds(n *graph.Node) float64 {
	switch n.Type() {
	case graph.NodeTypeDotGeneral:
		lhs, each := n.Inputs()[0].Shape(), 1
		axes := detail(n, "lhsContractingAxes")
		for i := range axes.Len() {
			each *= lhs.Dim(int(axes.Index(i).Int()))
		}
		return float64(n.Shape().Size()) * float64(each)
	case graph.NodeTypeConvGeneral:
		kernel := n.Inputs()[1].Shape()
		channels := kernel.Dim(int(fieldOf(detail(n, "axes"), "KernelOutputChannels").Int()))
		return float64(n.Shape().Size()) * float64(kernel.Size()/channels)
	}
	return 0
}

// detail returns an option of a node's operation. GoMLX exports it only as text, so it is read from a private field.
func detail(n *graph.Node, name string) reflect.Value {
	return fieldOf(fieldOf(reflect.ValueOf(n).Elem(), "inputs").Elem().Elem(), name)
}
