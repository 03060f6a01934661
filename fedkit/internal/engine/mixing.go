package engine

import (
	"math"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Mixing detects a task that mixes examples: it returns which result depends on more than the example itself, and on what, such
// as "Task.Forward" and "the other examples of its batch"; "" if none does. Padding would change such a result.
//
// It runs the model with parameters w on one example in several batches. The interpreter does so in milliseconds; if it fails, or
// finds something, the device decides. features may be nil.
func (t *Task) Mixing(d *datasets.Dataset, features func(p []*graph.Node, x *graph.Node) *graph.Node, w []float32) (what, from string) {
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
}

// find compares the results over the batches.
func (m *mixing) find() (what, from string, err error) {
	row := func(i int) int { return i * (m.data.Train.Len() - 1) / 4 }
	a, b, c, d, e := row(0), row(1), row(2), row(3), row(4)
	first := [][]int{{a, b, c}, {b, c, d}}
	want, err := m.run(first)
	if err != nil {
		return "", "", err
	}
	smooth, all := m.smooth, len(m.names)
	for _, trial := range []struct {
		batches [][]int // of the first client and of another one
		from    string
		names   int // how many results to compare
	}{
		{[][]int{{a, d, e}, {b, c, d}}, "the other examples of its batch", all},
		{[][]int{{a, b, c}, {e, a, b}}, "the examples of other clients", all},
		{[][]int{{a, b}, {b, c}}, "the number of examples in its batch", smooth},
	} {
		if m.task.alone() && slices.Equal(trial.batches[0], first[0]) {
			continue // it never sees the other client
		}
		got, err := m.run(trial.batches)
		if err != nil {
			return "", "", err
		}
		for i, name := range m.names[:trial.names] {
			if !alike(got[i], want[i]) {
				return name, trial.from, nil
			}
		}
	}
	return "", "", nil
}

// run returns the model's results for the first client's first example.
func (m *mixing) run(batches [][]int) (results [][]float32, err error) {
	if m.task.alone() {
		batches = batches[:1]
	}
	s, lanes, size := &m.data.Train, len(batches), len(batches[0])
	var w, x, targets []float32
	var labels []int32
	for _, rows := range batches {
		w = append(w, m.w...)
		for _, r := range rows {
			x = append(x, s.Row(r, nil)...)
		}
		l, t := s.Truth(rows)
		labels, targets = append(labels, l...), append(targets, t...)
	}
	arguments := []any{of(w, lanes, len(m.w)), of(x, append([]int{lanes, size}, m.data.Shape...)...), nil, of(make([]uint64, 3*lanes), lanes, 3)}
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
	p, x, y, key := t.Split(in[0]), in[1], in[2], in[3]
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
	if t.Train != nil {
		end := t.Train(key)
		add("Task.Forward in training mode", first(t.Forward(p, x)))
		if penalty := end(); penalty != nil {
			add("the penalty of Task.Train", penalty)
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
