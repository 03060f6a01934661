package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

type sgd struct{}

func (sgd) Slots() int { return 0 }
func (sgd) Direction(_, g []*graph.Node, _ [][]*graph.Node, _ *graph.Node) ([]*graph.Node, [][]*graph.Node) {
	return g, nil
}

// least is least squares y = x w with clients of the given sizes; x is 1 and y is 3 everywhere.
func least(t *testing.T, sizes ...int) *Engine {
	t.Helper()
	d := &datasets.Dataset{Name: "ones", Shape: []int{1}}
	var rows [][]int
	for _, n := range sizes {
		var own []int
		for range n {
			own = append(own, d.Train.Len())
			d.Train.Floats, d.Train.Targets = append(d.Train.Floats, 1), append(d.Train.Targets, 3)
		}
		rows = append(rows, own)
	}
	d.Test = d.Train
	residual := func(out, y *graph.Node) *graph.Node { return graph.MulScalar(graph.Square(graph.Sub(out, y)), 0.5) }
	e, err := New(Task{Name: "line", Shapes: [][]int{{1}}, Loss: residual, Accuracy: residual,
		Forward: func(p []*graph.Node, x *graph.Node) *graph.Node { return graph.Mul(graph.Squeeze(x, -1), p[0]) }}, d, rows)
	expect.OK(t, err)
	return e
}

func (e *Engine) job(t *testing.T, clients ...int) *Job {
	t.Helper()
	start := expect.Value(xla.Upload([]float32{1}, 1, 1))(t)
	return &Job{Clients: clients, Batch: 2, Epochs: 1, Rate: slices.Repeat([]float64{0.5}, len(clients)), Optimizer: sgd{}, Start: start,
		Order: func(client, epoch int) *rand.Rand { return rand.New(rand.NewPCG(uint64(client), uint64(epoch))) }}
}

// elsewhere is a remote device that counts its calls and the rows sent to it.
type elsewhere struct {
	Here
	calls atomic.Int64
	rows  atomic.Int64
}

func (*elsewhere) Remote() bool { return true }

func (d *elsewhere) Run(ctx context.Context, p *xla.Program, arguments []any) ([]Value, error) {
	d.calls.Add(1)
	for i, a := range arguments {
		r, ok := a.(Rows)
		if !ok {
			continue
		}
		all, err := xla.Host(r.Of)
		if err != nil {
			return nil, err
		}
		var some []float32
		for _, at := range r.At {
			some = append(some, all[at]) // d is 1
		}
		d.rows.Add(int64(len(some)))
		if arguments[i], err = xla.Upload(some, len(some), 1); err != nil {
			return nil, err
		}
	}
	return d.Here.Run(ctx, p, arguments)
}

// Programs of many lanes are half as many in flight, and those that take much memory are fewer. Results do not depend on it.
func TestInFlight(t *testing.T) {
	e := least(t, 2, 2, 2)
	job, k := e.job(t, 0, 1, 2), solver{lanes: 3, batch: 2}
	e.width, e.free = Width{Narrow: 3}, 1e9
	expect.That(t, e.inFlight(job, k, Here(4)) == 4, "few lanes: %d in flight", e.inFlight(job, k, Here(4)))
	e.width.Narrow = 2
	expect.That(t, e.inFlight(job, k, Here(4)) == 2 && e.inFlight(job, k, Here(1)) == 1, "many lanes: %d in flight", e.inFlight(job, k, Here(4)))
	away := &elsewhere{Here: 4}
	expect.That(t, e.inFlight(job, k, away) == 4, "on workers: %d in flight", e.inFlight(job, k, away))
	e.free = 0
	expect.That(t, e.inFlight(job, k, Here(4)) == 1, "without memory: %d in flight", e.inFlight(job, k, Here(4)))
}

// A solve calls the device once per group of the plan; each step moves w halfway to 3. A remote device gets only its own clients'
// starts, and returns the same models.
func TestSolveOnADevice(t *testing.T) {
	sizes := []int{2, 4, 6, 2, 2, 8, 40}
	e, away := least(t, sizes...), &elsewhere{Here: 3}
	job := e.job(t, 0, 1, 2, 3, 4, 5, 6)
	starts := []float32{1, 2, 4, 5, 6, 7, 8}
	job.Start = expect.Value(xla.Upload(starts, 7, 1))(t)
	for _, on := range []Device{Here(1), away} {
		out := expect.Value(e.Solve(context.Background(), job, on))(t)
		rows := expect.Value(hosts(out.Models))(t)
		models := slices.Concat(rows...)
		for i, n := range sizes {
			want := starts[i]
			for range n / 2 {
				want += (3 - want) / 2
			}
			if got := models[out.Place[i]]; out.Steps[i] != n/2 || got-want > 1e-6 || want-got > 1e-6 {
				t.Errorf("%T: client %d: %v after %d steps, want %v after %d", on, i, got, out.Steps[i], want, n/2)
			}
		}
	}
	p := e.plan(job)
	if n := away.calls.Load(); n != int64(p.groups()) || n < 2 {
		t.Errorf("%d calls for %d groups", n, p.groups())
	}
	if n := int(away.rows.Load()); n != p.groups()*p.design.lanes {
		t.Errorf("%d rows sent, want one for each of %d lanes", n, p.groups()*p.design.lanes)
	}
}

// An evaluation calls the device too, and a remote one gets only the models that it scores.
func TestEvaluateOnADevice(t *testing.T) {
	e, away := least(t, 40, 40, 40), &elsewhere{Here: 2}
	models := expect.Value(xla.Upload([]float32{1, 2, 3}, 3, 1))(t)
	v := &Evaluation{Models: models, Rows: []int{0, 1, 2, 3}, Which: []int{2, 1, 0, 2}}
	for _, on := range []Device{Here(1), away} {
		s := expect.Value(e.Evaluate(context.Background(), v, on))(t)
		if want := []float32{0, 0.5, 2, 0}; !slices.Equal(s.Loss[0], want) {
			t.Errorf("%T: losses %v, want %v", on, s.Loss[0], want)
		}
	}
	if away.calls.Load() == 0 {
		t.Error("the device was not asked")
	}
}

// The first call of a program is repeated with other rows, unless they are all the same; if it tells nothing, so is the next.
func TestFirstCallsAreRepeated(t *testing.T) {
	e, away := least(t, 4, 4), &elsewhere{Here: 1}
	one, zero := expect.Value(xla.Upload([]float32{1}, 1, 1))(t), expect.Value(xla.Upload([]float32{0}, 1, 1))(t)
	evaluate := func(models *tensors.Tensor, want int64) {
		t.Helper()
		_ = expect.Value(e.Evaluate(context.Background(), &Evaluation{Models: models, Rows: []int{0, 1, 2, 3}}, away))(t)
		if n := away.calls.Swap(0); n != want {
			t.Errorf("%d calls, want %d", n, want)
		}
	}
	evaluate(one, 1)
	for i := range e.data.Train.Floats {
		e.data.Train.Floats[i] = float32(i)
	}
	e = expect.Value(New(e.task, e.data, e.rows))(t)
	evaluate(zero, 2)
	evaluate(zero, 2)
	evaluate(one, 2)
	evaluate(one, 1)
	for _, want := range []int64{1 + 2, 1} {
		_ = expect.Value(e.Solve(context.Background(), e.job(t, 0, 1), away))(t)
		if n := away.calls.Swap(0); n != want {
			t.Errorf("%d calls of a solve, want %d", n, want)
		}
	}
}

// Every client of a job has one lane, those with the most steps come first, and idle lanes are the last. Clients that fit one program
// keep their order, whatever their sizes, so that no round needs a program of its own.
func TestPlan(t *testing.T) {
	e := least(t, 2, 4, 6, 2, 2, 8, 40)
	p := e.plan(e.job(t, 6, 0, 2, 4, 5))
	var seen []int
	for g := range p.groups() {
		for _, i := range p.lanes(g) {
			if i >= 0 {
				seen = append(seen, i)
			}
		}
	}
	if !slices.Equal(seen, []int{0, 4, 2, 1, 3}) {
		t.Errorf("clients of the job in the order %v, want 0 4 2 1 3", seen)
	}
	if tail := p.order[len(seen):]; slices.ContainsFunc(tail, func(i int) bool { return i != -1 }) {
		t.Errorf("lanes %v, want idle ones after the clients", p.order)
	}
	if p := e.plan(e.job(t, 0, 6, 3)); !slices.Equal(p.order, []int{0, 1, 2}) {
		t.Errorf("lanes %v, want 0, 1, 2", p.order)
	}
}

// Inputs come by name, and terms that a job does not use are left out.
func TestInputsByName(t *testing.T) {
	e := least(t, 2, 4)
	job := e.job(t, 0, 1)
	job.Prox, job.Mask = []float64{1, 1}, job.Start
	p := e.plan(job)
	var names []string
	for _, in := range e.inputs(job, &p, 0, false) {
		names = append(names, in.name)
	}
	if want := []string{"features", "labels", "batches", "first", "last", "rows", "start", "steps", "rate", "prox", "mask"}; !slices.Equal(names, want) {
		t.Errorf("inputs %v, want %v", names, want)
	}
}

// A long call does not delay cancellation.
func TestStoppingDoesNotWaitForLongCalls(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	forever := make(chan struct{})
	defer close(forever)
	err := parallel(ctx, 2, 5, func(int) error {
		cancel()
		<-forever
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// Clients with cheap convolutions share programs, a few in each; those with expensive ones have one each. Models of a megabyte that are read
// in loops share one by eights.
func TestLanes(t *testing.T) {
	e := least(t, 2, 2, 2, 2, 2, 2, 2, 2)
	job := e.job(t, 0, 1, 2, 3, 4, 5, 6, 7)
	for operations, want := range map[float64]int{0: e.width.Even, 1: 4, 40e6: 4, 60e6: 1} { // per example; a step has two examples
		e.work = func() xla.Work { return xla.Work{Convolutions: operations} }
		if got := e.Lanes(job); got != want {
			t.Errorf("%.0f operations: %d clients in a program, want %d", operations, got, want)
		}
	}
	e.task.Shapes = [][]int{{512, 512}}
	for loops, want := range map[bool]int{false: e.width.Even, true: 8} {
		e.work = func() xla.Work { return xla.Work{Loops: loops} }
		if got := e.Lanes(job); got != want {
			t.Errorf("loops %v: %d clients in a program, want %d", loops, got, want)
		}
	}
}

// Models are evaluated in as many pieces as there is room for: three copies of each, in a quarter of what training may take, and in a
// sixteenth of what was free.
func TestBlocks(t *testing.T) {
	e := least(t, 2, 4)
	e.width = CPU
	for _, c := range []struct {
		d          int
		free       float64
		most, want int
	}{
		{200_000, 16e9, fewBlocks, 32}, {4_154_010, 16e9, fewBlocks, 2}, {4_154_010, 1.2e9, fewBlocks, 1}, {1e9, 16e9, fewBlocks, 1},
		{200_000, 1e9, fewBlocks, 26}, {1_000_000, 16e9, manyModels, 8}, {4_154_010, 16e9, manyModels, 2},
	} {
		e.task.Shapes, e.free = [][]int{{c.d}}, c.free
		if got := e.blocks(c.most, 0); got != c.want {
			t.Errorf("%d parameters, %.0f bytes free: %d models in a program, want %d", c.d, c.free, got, c.want)
		}
	}
}
