package engine

import (
	"math"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Mixing detects a task that mixes examples: it returns which result depends on more than the example itself, and on what, such
// as "Task.Forward" and "the other examples of its batch"; "" if none does. Padding would change such a result. In training mode, a
// result may depend on the other examples of a batch, but not on its padding.
//
// Most graphs show by themselves that they mix nothing. Otherwise it runs the model with parameters w on one example in several batches. The
// interpreter does so in milliseconds; if it fails, or finds something, the device decides. features may be nil.
func (t *Task) Mixing(d *datasets.Dataset, features func(p []*graph.Node, x *graph.Node) *graph.Node, w []float32) (what, from string) {
	if (&mixing{task: t, data: d, features: features, w: w}).proven() {
		return "", ""
	}
	for _, call := range []func(*xla.Program, ...any) ([]*tensors.Tensor, error){(*xla.Program).Interpret, (*xla.Program).Call} {
		m := &mixing{task: t, data: d, features: features, w: w, call: call}
		m.program = withVariables(xla.NewProgram(t.Name, m.build), t)
		var err error
		if what, from, err = m.find(); err == nil && what == "" {
			break
		}
	}
	return what, from
}

// mixing is one check of a task.
type mixing struct {
	task     *Task
	data     *datasets.Dataset
	features func(p []*graph.Node, x *graph.Node) *graph.Node
	w        []float32
	program  *xla.Program
	call     func(*xla.Program, ...any) ([]*tensors.Tensor, error)
	names    []string // of the program's results
	smooth   int      // how many of them, the first ones, are deterministic and robust to rounding
	predicts int      // how many of them, the first ones, are of evaluation
}

// proven reports whether the graph shows that the first client's first example is all that a result depends on.
func (m *mixing) proven() bool {
	lanes, size := 2, 2
	if m.task.Alone {
		lanes = 1
	}
	program := withVariables(xla.NewProgram(m.task.Name, m.build), m.task)
	reached, err := program.Reach(m.shapes(lanes, size), m.shapes(lanes, size+1), 1, 2)
	for i, r := range reached {
		if r&^xla.Rows > 1 || r&xla.Rows != 0 && i < m.smooth {
			return false
		}
	}
	return err == nil
}

// shapes are those of the program's arguments: see run.
func (m *mixing) shapes(lanes, size int) []shapes.Shape {
	label := dtypes.Int32
	if m.data.Train.Labels == nil {
		label = dtypes.Float32
	}
	return []shapes.Shape{
		shapes.Make(dtypes.Float32, lanes, len(m.w)), shapes.Make(dtypes.Float32, append([]int{lanes, size}, m.data.Shape...)...),
		shapes.Make(label, m.data.TruthShape(lanes, size)...), shapes.Make(dtypes.Uint64, lanes, 3), shapes.Make(dtypes.Float32, lanes, size),
	}
}

// find compares the results over the batches.
func (m *mixing) find() (what, from string, err error) {
	row := func(i int) int { return i * (m.data.Train.Len() - 1) / 4 }
	a, b, c, d, e := row(0), row(1), row(2), row(3), row(4)
	first := [][]int{{a, b, c}, {b, c, d}}
	want, err := m.run(first, 0)
	if err != nil {
		return "", "", err
	}
	smooth, predicts, all := m.smooth, m.predicts, len(m.names)
	for _, trial := range []struct {
		batches    [][]int // of the first client and of another one
		padding    int     // how many rows of each batch, the last ones, only fill it
		from       string
		begin, end int // which results to compare
	}{
		{[][]int{{a, d, e}, {b, c, d}}, 0, "the other examples of its batch", 0, predicts},
		{[][]int{{a, b, e}, {b, c, d}}, 1, "the other examples of its batch, also on rows that only fill it", predicts, all},
		{[][]int{{a, b, c}, {e, a, b}}, 0, "the examples of other clients", 0, all},
		{[][]int{{a, b}, {b, c}}, 0, "the number of examples in its batch", 0, smooth},
	} {
		if m.task.Alone && slices.Equal(trial.batches[0], first[0]) || trial.begin == trial.end {
			continue // it never sees the other client, or has no training mode
		}
		want := want
		if trial.padding > 0 {
			if want, err = m.run(first, trial.padding); err != nil {
				return "", "", err
			}
		}
		got, err := m.run(trial.batches, trial.padding)
		if err != nil {
			return "", "", err
		}
		for i := trial.begin; i < trial.end; i++ {
			if !alike(got[i], want[i]) {
				return m.names[i], trial.from, nil
			}
		}
	}
	return "", "", nil
}

// run returns the model's results for the first client's first example. The last rows of each batch may be padding.
func (m *mixing) run(batches [][]int, padding int) (results [][]float32, err error) {
	if m.task.Alone {
		batches = batches[:1]
	}
	s, lanes, size := &m.data.Train, len(batches), len(batches[0])
	var w, x, targets, used []float32
	var labels []int32
	for _, rows := range batches {
		w = append(w, m.w...)
		for i, r := range rows {
			used = append(used, 1)
			if i >= size-padding {
				used[len(used)-1] = 0
			}
			x = append(x, s.Row(r, nil)...)
		}
		l, t := s.Truth(rows)
		labels, targets = append(labels, l...), append(targets, t...)
	}
	arguments := []any{of(w, lanes, len(m.w)), of(x, append([]int{lanes, size}, m.data.Shape...)...), nil, of(make([]uint64, 3*lanes), lanes, 3), of(used, lanes, size)}
	if s.Labels != nil {
		arguments[2] = of(labels, m.data.TruthShape(lanes, size)...)
	} else {
		arguments[2] = of(targets, m.data.TruthShape(lanes, size)...)
	}
	out, err := m.call(m.program, arguments...)
	for _, o := range out {
		values, e := xla.Host(o)
		if e != nil {
			return nil, e
		}
		results = append(results, values)
	}
	return results, err
}

// of returns a tensor on the host.
func of[T float32 | int32 | uint64](values []T, dims ...int) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(values, dims...)
}

// build builds the graph of all results of the task for the first client's first example.
func (m *mixing) build(in []*graph.Node) (results []*graph.Node) {
	t := m.task
	touchVariables(t, in[0].Graph())
	p, x, y, key, used := t.Split(in[0]), in[1], in[2], in[3], in[4]
	m.names = nil
	add := func(name string, n *graph.Node) {
		m.names, results = append(m.names, name), append(results, n)
	}
	first := func(n *graph.Node) *graph.Node { return graph.Slice(n, graph.AxisElem(0), graph.AxisElem(0)) }
	out := t.Forward(p, x)
	add("Task.Forward", first(out))
	add("Task.Loss", first(t.Loss(out, y)))
	if m.features != nil {
		add("Task.Features", first(m.features(p, x)))
	}
	m.smooth = len(results)
	add("Task.Accuracy", first(t.Accuracy(out, y)))
	m.predicts = len(results)
	if t.Train != nil {
		out, end := t.Train(key, used, p, x)
		penalty, next := end()
		add("Task.Forward in training mode", first(out))
		if penalty != nil {
			add("the penalty of Task.Train", graph.Slice(penalty, graph.AxisElem(0)))
		}
		for l, v := range next {
			if t.running(l) {
				add("a running value after a step", graph.Slice(v, graph.AxisElem(0)))
			}
		}
	}
	return results
}

// alike reports whether results are equal up to rounding, which depends on the batch size.
func alike(a, b []float32) bool {
	var most, apart float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		if x == y || math.IsNaN(x) && math.IsNaN(y) {
			continue
		}
		apart = math.Max(apart, math.Abs(x-y)) // NaN stays NaN
		most = math.Max(most, math.Max(math.Abs(x), math.Abs(y)))
	}
	return apart <= 1e-3*most
}
