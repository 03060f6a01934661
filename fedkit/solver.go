package fedkit

import (
	"context"
	"fmt"
	"sync"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// local is the engine in this process: programs compiled by XLA, data held once on the device.
type local struct {
	fed     *Federation
	workers int                   // programs in flight at once
	width   width                 // of a program
	data    [2][2]*tensors.Tensor // by part: features [N, f], labels or targets [N]

	mu       *sync.Mutex // guards programs
	programs map[any]*Program
}

// withWorkers returns the same engine, with the same programs, for another number of workers.
func (e *local) withWorkers(n int) *local {
	f := *e
	f.workers = n
	return &f
}

func newLocal(f *Federation) (*local, error) {
	e := &local{fed: f, workers: 1, width: cpuWidth, mu: new(sync.Mutex), programs: map[any]*Program{}}
	if !xla.OnCPU() {
		e.width = gpuWidth
	}
	for part, s := range []*datasets.Split{&f.Data.Train, &f.Data.Test} {
		var err error
		if s.Bytes != nil {
			e.data[part][0], err = xla.Upload(s.Bytes, s.Len(), f.Data.Features())
		} else {
			e.data[part][0], err = xla.Upload(s.Floats, s.Len(), f.Data.Features())
		}
		if err != nil {
			return nil, err
		}
		if s.Labels != nil {
			e.data[part][1], err = xla.Upload(s.Labels, s.Len())
		} else {
			e.data[part][1], err = xla.Upload(s.Targets, s.Len())
		}
		if err != nil {
			return nil, err
		}
	}
	return e, nil
}

// program returns the program for a key, building its description at first use.
func (e *local) program(key any, make func() *Program) *Program {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.programs[key]
	if p == nil {
		p = make()
		e.programs[key] = p
	}
	return p
}

// solver is what a compiled local solver depends on; everything else is an argument.
type solver struct {
	lanes, steps, batch                    int // C clients at once, room for steps, B
	opt                                    Optimizer
	prox, proxWeights, anchor, shift, mask bool
}

// Train implements Engine.
func (e *local) Train(ctx context.Context, job Job, seed uint64, round int) (*Updates, error) {
	if err := job.check(e.fed); err != nil {
		return nil, err
	}
	job.Local = job.Local.WithDefaults()
	plan := e.plan(&job)
	u := &Updates{Solves: make([]Solve, len(job.Clients)), At: sequence(len(job.Clients)), Start: job.Start}
	for i, c := range job.Clients {
		u.Solves[i] = Solve{Round: round, Client: c, Examples: len(e.fed.Clients[c].Train), Steps: plan.steps[i], Mu: Float(job.mu(i))}
	}
	prog := e.program(plan.key, func() *Program { return e.compile(plan.key) })

	groups := len(plan.order) / plan.key.lanes
	models, figures := make([]*tensors.Tensor, groups), make([][]*tensors.Tensor, groups)
	err := parallel(ctx, e.workers, groups, func(g int) error {
		out, err := run(prog, e.arguments(&job, plan, g, seed, round))
		if err == nil {
			models[g], figures[g] = out[0], out[1:]
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	place := make([]int, len(job.Clients)) // where client i of the job stands among the lanes
	for g := range groups {
		loss, err := xla.Host(figures[g][0])
		if err != nil {
			return nil, err
		}
		drift, err := xla.Host(figures[g][1])
		if err != nil {
			return nil, err
		}
		xla.Free(figures[g]...)
		for lane, i := range plan.order[g*plan.key.lanes:][:plan.key.lanes] {
			if i >= 0 {
				place[i] = g*plan.key.lanes + lane
				u.Solves[i].Loss = Float(float64(loss[lane]) / float64(plan.steps[i]))
				u.Solves[i].Drift = Float(drift[lane])
			}
		}
	}
	u.Models = fromPieces(models, place)
	return u, nil
}

// distance is ‖a_i − b_i‖₂ by row, for use after a loop. The sum is written as a product with ones that are no scalar: the
// loop has go-xla's one function for sums in this graph, and the scalars that GoMLX keeps.
func distance(a, b *graph.Node) *graph.Node {
	ones := graph.BroadcastToDims(graph.Const(a.Graph(), []float32{1}), a.Shape().Dimensions[1])
	return graph.Sqrt(graph.Dot(graph.Square(graph.Sub(a, b)), ones).MatMul())
}

// compile describes the local solver: one loop over the steps, in which all lanes take theirs side by side. The layers
// are separate loop variables (a flat [d] would cost slices and padded gradients in every step), joined at the end.
func (e *local) compile(k solver) *Program {
	task, data := e.fed.Task, e.fed.Data
	p := xla.NewProgram(fmt.Sprintf("solve %s, %d clients, batch %d", task.Name, k.lanes, k.batch), func(in []*graph.Node) []*graph.Node {
		g := in[0].Graph()
		touchVariables(task, g)
		next := func() *graph.Node { n := in[0]; in = in[1:]; return n }
		x, y, batches, first, last, steps, rate, rows, start := next(), next(), next(), next(), next(), next(), next(), next(), next()
		own := func(m *graph.Node) *graph.Node { // [1 or n, d] → [C, d], for the clients in the lanes
			if m.Shape().Dimensions[0] == 1 {
				return graph.BroadcastToDims(m, k.lanes, task.Dim())
			}
			return graph.Gather(m, graph.InsertAxes(rows, -1))
		}
		perClient := func(m *graph.Node) []*graph.Node { return task.split(own(m)) }
		// The loop's state: a part changes from step to step, the rest is carried along, since a loop body can reach
		// outer nodes only through Gather and DynamicSlice. GoMLX keeps scalar constants and would hand one made out
		// here to the body, which cannot use it: so there are none, and zeros are differences.
		zeros := func(v *graph.Node) *graph.Node { return graph.Sub(v, v) }
		state := stateOf(g)
		state.add("step", first)
		state.add("last", last)
		state.add("loss", zeros(rate))
		w := perClient(start)
		state.add("w", w...)
		for s := range k.opt.slots() {
			for _, v := range w {
				state.add(fmt.Sprint("slot", s), zeros(v))
			}
		}
		state.add("steps", steps)
		state.add("rate", rate)
		state.add("rate now", rate) // 0 once a client has done its steps
		if k.prox {
			state.add("prox", next())
			if k.proxWeights {
				state.add("proxWeights", perClient(next())...)
			}
			if k.anchor {
				state.add("anchor", perClient(next())...)
			} else {
				state.add("anchor", w...)
			}
		}
		if k.shift {
			state.add("shift", perClient(next())...)
		}
		if k.mask {
			state.add("mask", perClient(next())...)
		}
		state.loop(
			func(s *loopState) *graph.Node { return graph.LessThan(s.one("step"), s.one("last")) },
			func(s *loopState) { e.step(k, s, task, data, x, y, batches) })
		models := task.join(state.all("w"))
		return []*graph.Node{models, state.one("loss"), distance(models, own(start))}
	})
	return withVariables(p, task)
}

// step is the body of the loop: one step of every lane.
func (e *local) step(k solver, s *loopState, task *Task, data *datasets.Dataset, x, y, batches *graph.Node) {
	i, w := s.one("step"), s.all("w")
	g := i.Graph()
	zero := graph.Const(g, int32(0))
	rows := graph.Reshape(graph.DynamicSlice(batches, []*graph.Node{i, zero, zero}, []int{1, k.lanes, k.batch}), k.lanes, k.batch)
	used := graph.ConvertDType(graph.GreaterOrEqual(rows, zero), dtypes.Float32) // [C, B], 0 where the batch is not full
	in, labels := examples(data, TrainPart, x, y, graph.Max(rows, zero))

	loss := task.Loss(task.Forward(w, in), labels)
	loss = graph.Div(graph.ReduceSum(graph.Mul(loss, used), 1), graph.MaxScalar(graph.ReduceSum(used, 1), 1)) // [C]
	grad := graph.Gradient(graph.ReduceAllSum(loss), w...)

	active := graph.ConvertDType(graph.LessThan(i, s.one("steps")), dtypes.Float32) // [C], 0 once a client has done its steps
	s.set("loss", graph.Add(s.one("loss"), graph.Mul(loss, active)))
	each := func(v *graph.Node, like *graph.Node) *graph.Node { // [C] → [C, 1, …]
		dims := make([]int, like.Rank())
		for a := range dims {
			dims[a] = 1
		}
		dims[0] = k.lanes
		return graph.Reshape(v, dims...)
	}
	rate := s.one("rate now")
	t := graph.AddScalar(graph.ConvertDType(i, dtypes.Float32), 1)
	slots := make([][]*graph.Node, k.opt.slots())
	for j := range slots {
		slots[j] = s.all(fmt.Sprint("slot", j))
	}
	for l := range w {
		d := grad[l]
		if k.prox {
			pull := graph.Mul(each(s.one("prox"), d), graph.Sub(w[l], s.all("anchor")[l]))
			if k.proxWeights {
				pull = graph.Mul(pull, s.all("proxWeights")[l])
			}
			d = graph.Add(d, pull)
		}
		if k.shift {
			d = graph.Add(d, s.all("shift")[l])
		}
		if k.mask {
			d = graph.Mul(d, s.all("mask")[l])
		}
		own := make([]*graph.Node, len(slots))
		for j := range slots {
			own[j] = slots[j][l]
		}
		d, own = k.opt.direction(d, own, t)
		for j := range slots {
			slots[j][l] = own[j]
		}
		w[l] = graph.Sub(w[l], graph.Mul(d, each(rate, d)))
	}
	s.set("w", w...)
	for j := range slots {
		s.set(fmt.Sprint("slot", j), slots[j]...)
	}
	i = graph.AddScalar(i, 1)
	s.set("step", i)
	// Found one step ahead, so that the update of every parameter reads it instead of working it out again.
	s.set("rate now", graph.Mul(s.one("rate"), graph.ConvertDType(graph.LessThan(i, s.one("steps")), dtypes.Float32)))
}
