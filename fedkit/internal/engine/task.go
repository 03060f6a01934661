package engine

import (
	"sync"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	mlmodel "github.com/gomlx/gomlx/ml/model"
)

// Task is the learning problem. All functions are batched over clients: parameters, inputs and labels have a leading axis C.
type Task struct {
	Name     string
	Shapes   [][]int                                          // of the parameters, in their order in a row [d]
	Forward  func(p []*graph.Node, x *graph.Node) *graph.Node // p[l] [C, Shapes[l]…], x [C or 1, B, …] → outputs [C, B, …]
	Loss     func(out, y *graph.Node) *graph.Node             // [C, B]
	Accuracy func(out, y *graph.Node) *graph.Node             // [C, B]

	// Layer returns the output of an inner layer by name, [C, B, …].
	Layer func(name string, p []*graph.Node, x *graph.Node) *graph.Node

	// Train is Forward in training mode; nil: the same as Forward. used [C, B] is 0 for rows that only fill a batch, nil if there are
	// none. end returns a penalty [C] to add to the mean loss, or nil, and the parameters with the running values that follow.
	Train   func(key, used *graph.Node, p []*graph.Node, x *graph.Node) (out *graph.Node, end func() (penalty *graph.Node, next []*graph.Node))
	Random  bool   // Train needs key, random bits [C, 3] uint64
	Alone   bool   // each program trains one client
	Running []bool // by parameter, whether Train sets its values in place of the optimizer; nil: none

	// Variables are the parameters of a GoMLX model function, nil for any other task. Such a task has no client axis, and is Alone.
	Variables []*mlmodel.Variable
}

// Dim returns d.
func (t *Task) Dim() (d int) {
	for _, shape := range t.Shapes {
		d += size(shape)
	}
	return d
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Split cuts rows [C, d] into the parameters they hold, [C, shape…] each.
func (t *Task) Split(rows *graph.Node) []*graph.Node {
	c, from := rows.Shape().Dimensions[0], 0
	p := make([]*graph.Node, len(t.Shapes))
	for l, shape := range t.Shapes {
		p[l] = graph.Slice(rows, graph.AxisRange(), graph.AxisRange(from, from+size(shape)))
		p[l] = graph.Reshape(p[l], append([]int{c}, shape...)...)
		from += size(shape)
	}
	return p
}

// Join is the inverse of Split.
func Join(p []*graph.Node) *graph.Node {
	flat := make([]*graph.Node, len(p))
	for l, v := range p {
		flat[l] = graph.Reshape(v, v.Shape().Dimensions[0], -1)
	}
	return graph.Concatenate(flat, 1)
}

// Arguments returns the shapes of a program's arguments: the parameters of some lanes, x and y for as many sets of examples, or one
// for all lanes, and random bits. See Inputs.
func (t *Task) Arguments(d *datasets.Dataset, lanes, sets, batch int) (all []shapes.Shape) {
	for _, shape := range t.Shapes {
		all = append(all, shapes.Make(dtypes.Float32, append([]int{lanes}, shape...)...))
	}
	label := dtypes.Int32
	if d.Classes == 0 {
		label = dtypes.Float32
	}
	return append(all, shapes.Make(dtypes.Float32, append([]int{sets, batch}, d.Shape...)...),
		shapes.Make(label, d.TruthShape(sets, batch)...), shapes.Make(dtypes.Uint64, lanes, 3))
}

// Inputs splits the nodes of Arguments.
func (t *Task) Inputs(in []*graph.Node) (p []*graph.Node, x, y, key *graph.Node) {
	l := len(t.Shapes)
	return in[:l:l], in[l], in[l+1], in[l+2]
}

// Work returns the work of a forward pass for a batch.
func (t *Task) Work(d *datasets.Dataset, batch int) (xla.Work, error) {
	return xla.NewProgram(t.Name, func(in []*graph.Node) []*graph.Node {
		p, x, _, _ := t.Inputs(in)
		return []*graph.Node{t.Forward(p, x)}
	}).Work(t.Arguments(d, 1, 1, batch)...)
}

// running reports whether parameter l is a running value.
func (t *Task) running(l int) bool { return t.Running != nil && t.Running[l] }

// trained returns the entries of the parameters that are not running values.
func (t *Task) trained(p []*graph.Node) []*graph.Node {
	if t.Running == nil {
		return p
	}
	var some []*graph.Node
	for l, v := range p {
		if !t.Running[l] {
			some = append(some, v)
		}
	}
	return some
}

// examples gathers rows [C, B] of a part of the data: inputs [C, B, shape…] as float32, and labels or targets, [C, B] or [C, B, t].
func examples(d *datasets.Dataset, part datasets.Part, in nodes, rows *graph.Node) (x, labels *graph.Node) {
	at := graph.InsertAxes(rows, -1)
	x, labels = graph.Gather(in["features"], at), graph.Gather(in["labels"], at)
	if x.DType() != dtypes.Float32 { // images are kept as bytes
		x = graph.ConvertDType(x, dtypes.Float32)
		split := &d.Train
		if part == datasets.TestPart {
			split = &d.Test
		}
		x = graph.MulScalar(x, float64(split.Scale))
		if split.Shift != 0 {
			x = graph.AddScalar(x, float64(split.Shift))
		}
	}
	return graph.Reshape(x, append(append([]int{}, rows.Shape().Dimensions...), d.Shape...)...), labels
}

// touchVariables makes the variables of a GoMLX model function known to the graph before any closure is built: a
// variable first met inside a loop body would become a parameter of the body.
func touchVariables(t *Task, g *graph.Graph) {
	for _, v := range t.Variables {
		v.NodeValue(g)
	}
}

// withVariables feeds the parameters that touchVariables adds. Their values are never read: the rows of models take their
// place.
func withVariables(p *xla.Program, t *Task) *xla.Program {
	if t.Variables == nil {
		return p
	}
	return p.WithSide(sync.OnceValue(func() (values []*tensors.Tensor) {
		for _, v := range t.Variables {
			values = append(values, tensors.FromShape(v.Shape()))
		}
		return values
	}))
}
