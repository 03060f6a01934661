package engine

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/memory"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Solved is the result of a job.
type Solved struct {
	Models []Value   // as the programs returned them, [lanes, d] each, or [1, d] with Job.Starts
	Place  []int     // by client of the job, its row in the stacked Models
	Steps  []int     // by client of the job, like Loss and Drift
	Loss   []float64 // mean training loss over the steps
	Drift  []float64 // ‖w_i − start‖₂
	Memory []Value   // of a job with Memory, the optimizer's slots after the last step, [lanes, slots·d] each; rows as in Models
}

// Solve solves the local problem of every client of the job. The result does not depend on the device.
func (e *Engine) Solve(ctx context.Context, job *Job, on Device) (*Solved, error) {
	p := e.plan(job)
	n, groups := len(job.Clients), p.groups()
	if !on.Remote() {
		d, what := float64(e.task.Dim()), fmt.Sprintf("%d models of %d parameters", n, e.task.Dim())
		if err := memory.FitsBeside("clients per round", n, float64(n), 4*float64(n)*d, float64(p.design.lanes), float64(e.perLane(job)), what); err != nil {
			return nil, err
		}
	}
	if groups > 0 {
		if err := e.once(p.design, func() (bool, error) { return e.clientsApart(ctx, on, job, &p) }); err != nil {
			return nil, err
		}
	}
	each := p.models()
	out := &Solved{Models: make([]Value, groups*each), Place: make([]int, n), Steps: p.steps, Loss: make([]float64, n), Drift: make([]float64, n)}
	if p.design.keeps {
		out.Memory = make([]Value, groups)
	}
	lists := make([][]Value, groups) // losses and drifts; read once all programs are dispatched
	err := parallel(ctx, e.inFlight(job, p.design, on), groups, func(g int) error {
		results, err := e.run(ctx, on, p.design, e.inputs(job, &p, g, on.Remote()))
		switch {
		case err == nil:
			copy(out.Models[g*each:], results[:each])
			lists[g] = results[each : each+2]
			if p.design.keeps {
				out.Memory[g] = results[each+2]
			}
		case on.Remote() && ctx.Err() == nil: // other groups may have succeeded
			err = fmt.Errorf("clients %v: %w", p.clients(job, g), err)
		}
		return err
	})
	for g := 0; g < groups && err == nil; g++ {
		var figures [][]float32
		if figures, err = hosts(lists[g]); err != nil {
			break
		}
		loss, drift := figures[0], figures[1]
		for lane, i := range p.lanes(g) {
			if i >= 0 {
				out.Place[i] = g*p.design.lanes + lane
				out.Loss[i], out.Drift[i] = float64(loss[lane])/float64(p.steps[i]), float64(drift[lane])
			}
		}
	}
	return out, err
}

// inputs returns the arguments for group g of a plan. If they travel, they have only the rows of its own clients.
func (e *Engine) inputs(job *Job, p *plan, g int, travels bool) []input {
	clients, last := p.busy(g), 0
	for _, i := range clients {
		last = max(last, p.steps[i])
	}
	rows := make([]int32, len(clients))
	for lane, i := range clients {
		if rows[lane] = int32(i); travels {
			rows[lane] = int32(lane)
		}
	}
	matrix := func(t *tensors.Tensor) any {
		if travels && t != nil && t.Shape().Dimensions[0] > 1 {
			return Rows{t, clients}
		}
		return t
	}
	train := e.held[datasets.TrainPart]
	in := []input{
		{"features", train.features}, {"labels", train.labels}, {"batches", tensors.FromFlatDataAndDimensions(e.batches(job, p, clients), p.design.steps, p.design.lanes, p.design.batch)},
		{"first", int32(0)}, {"last", int32(last)}, {"rows", rows},
	}
	in = append(in, e.perExample(job, p.design, clients)...)
	if job.Starts == nil {
		in = append(in, input{"start", matrix(job.Start)})
	}
	for i, t := range job.Starts {
		in = append(in, input{startInput(i), t})
	}
	if p.design.keeps {
		in = append(in, input{"memory", matrix(job.Memory)}, input{"before", lanes(func(i int) float32 { return job.Before[i] })(clients)})
	}
	for _, t := range job.terms(&e.task, p.steps) {
		if t.byLane != nil {
			in = append(in, input{t.name, t.byLane(clients)})
		} else {
			in = append(in, input{t.name, matrix(t.rows)})
		}
	}
	return in
}

// batches returns the examples of each client in each step, [steps, C, B]; −1 is padding, which is row 0, and ^r would be padding which is
// row r. If the job has inputs per example, they are
// positions in the client's rows.
func (e *Engine) batches(job *Job, p *plan, clients []int) []int32 {
	k := p.design
	batches := make([]int32, k.steps*k.lanes*k.batch)
	for i := range batches {
		batches[i] = -1
	}
	for lane, i := range clients {
		c := job.Clients[i]
		draw := &Batches{Rows: e.rowsOf(job, i), Full: job.Batch == FullBatch, Order: func(epoch int) *rand.Rand { return job.Order(c, epoch) }}
		if len(job.PerExample) > 0 {
			draw.Rows = Sequence(len(draw.Rows))
		}
		for s := range p.steps[i] {
			at := (s*k.lanes + lane) * k.batch
			draw.Next(batches[at : at+k.batch])
		}
	}
	return batches
}

// perExample returns the job's inputs per example, [C, n, g] for the n examples of the largest client, and the rows of the data by
// position, [C, n].
func (e *Engine) perExample(job *Job, k solver, clients []int) (in []input) {
	n, _ := e.sizes()
	for _, name := range k.perExamples() {
		g := len(job.PerExample[name][0]) / len(e.rowsOf(job, 0))
		numbers := make([]float32, k.lanes*n*g)
		for lane, i := range clients {
			copy(numbers[lane*n*g:], job.PerExample[name][i])
		}
		in = append(in, input{perExample(name), tensors.FromFlatDataAndDimensions(numbers, k.lanes, n, g)})
	}
	if in == nil {
		return nil
	}
	rows := make([]int32, k.lanes*n)
	for lane, i := range clients {
		for at, row := range e.rowsOf(job, i) {
			rows[lane*n+at] = int32(row)
		}
	}
	return append(in, input{"positions", tensors.FromFlatDataAndDimensions(rows, k.lanes, n)})
}

// solver is the design of a local solver; everything else is an input.
type solver struct {
	lanes, steps, batch int  // C clients, capacity in steps, B
	counted             bool // all steps are run: those of clients that are done change nothing
	optimizer           Optimizer
	objective           Objective
	keeps               bool   // the optimizer's slots are an input and an output: see Job.Memory
	apart               bool   // models are separate inputs and outputs: see Job.Starts
	table               string // names of the job's terms, one per line
	augment             Augment
	perExample          string // names of its inputs per example, quoted, one per line
}

func (k solver) name(task *Task) string {
	return fmt.Sprintf("solve %s, %d clients, batch %d", task.Name, k.lanes, k.batch)
}

// terms are the inputs that the loop carries: see Job.terms.
func (k solver) terms() []string { return strings.Split(strings.TrimSuffix(k.table, "\n"), "\n") }

// perExamples are the names of the inputs per example: see Job.PerExample.
func (k solver) perExamples() (names []string) {
	for line := range strings.Lines(k.perExample) {
		name, _ := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		names = append(names, name)
	}
	return names
}

// startInput names the input for a lane's initial model, if models are apart.
func startInput(lane int) string { return fmt.Sprint("start ", lane) }

// distance is ‖a_i − b_i‖₂ by row, for use after a loop. The sum is a product with a vector of ones, since the loop owns go-xla's
// only function for sums in this graph, and the scalar constants that GoMLX caches.
func distance(a, b *graph.Node) *graph.Node {
	ones := graph.BroadcastToDims(graph.Const(a.Graph(), []float32{1}), a.Shape().Dimensions[1])
	return graph.Sqrt(graph.Dot(graph.Square(graph.Sub(a, b)), ones).MatMul())
}

// build builds the local solver: one loop over the local steps, with all lanes in parallel. The layers are separate loop
// variables (a flat [d] would cost slices and padded gradients in every step), joined at the end.
func (k solver) build(e *Engine, in nodes) []*graph.Node {
	start := k.start(in)
	state := k.state(&e.task, in, e.task.Split(start))
	state.Run(
		func(s *xla.Loop) *graph.Node { return graph.LessThan(s.One("step"), k.end(s)) },
		func(s *xla.Loop) { k.step(e, s, in) })
	models := Join(state.All("w"))
	out := []*graph.Node{models}
	if k.apart {
		out = nil
		for i := range k.lanes {
			out = append(out, graph.Slice(models, graph.AxisElem(i)))
		}
	}
	out = append(out, state.One("loss"), distance(models, start))
	if k.keeps {
		var slots []*graph.Node
		for s := range k.optimizer.Slots() {
			slots = append(slots, Join(state.All(slotName(s))))
		}
		out = append(out, graph.Concatenate(slots, 1))
	}
	return out
}

// end is the number of steps of the loop, which XLA knows if it is counted.
func (k solver) end(s *xla.Loop) *graph.Node {
	if k.counted {
		return graph.Reshape(graph.Const(s.One("step").Graph(), []int32{int32(k.steps)}))
	}
	return s.One("last")
}

// slotName names the loop variables of the optimizer's j-th slot.
func slotName(j int) string { return fmt.Sprint("slot", j) }

// start returns the initial models of the lanes, [C, d].
func (k solver) start(in nodes) *graph.Node {
	if !k.apart {
		return k.own(in, in["start"])
	}
	var all []*graph.Node
	for lane := range k.lanes {
		all = append(all, in[startInput(lane)])
	}
	return graph.Concatenate(all, 0)
}

// own returns the lanes' rows of a matrix: [1 or n, d] → [C, d].
func (k solver) own(in nodes, m *graph.Node) *graph.Node {
	if m.Shape().Dimensions[0] == 1 {
		return graph.BroadcastToDims(m, k.lanes, m.Shape().Dimensions[1])
	}
	return graph.Gather(m, graph.InsertAxes(in["rows"], -1))
}

// state returns the loop's initial state, from models w. Part of it is loop-invariant, and carried along since a loop body can
// reach outer nodes only through Gather and DynamicSlice. GoMLX caches scalar constants and would hand one made here to the body,
// which cannot use it. So there are none, and zeros are differences.
func (k solver) state(task *Task, in nodes, w []*graph.Node) *xla.Loop {
	zeros := func(v *graph.Node) *graph.Node { return graph.Sub(v, v) }
	state := xla.NewLoop(in["rate"].Graph())
	first := in["first"]
	if k.counted {
		first = graph.Sub(first, first)
	}
	state.Add("step", first)
	state.Add("last", in["last"])
	state.Add("loss", zeros(in["rate"]))
	state.Add("rate now", in["rate"]) // 0 once a client has done its steps
	state.Add("w", w...)
	for s := range k.optimizer.Slots() {
		if k.keeps {
			part := graph.AxisRange(s*task.Dim(), (s+1)*task.Dim())
			state.Add(slotName(s), task.Split(graph.Slice(k.own(in, in["memory"]), graph.AxisRange(), part))...)
			continue
		}
		for _, v := range w {
			state.Add(slotName(s), zeros(v))
		}
	}
	if k.keeps {
		state.Add("before", in["before"])
	}
	for _, name := range k.terms() {
		switch t := in[name]; {
		case t.Rank() != 2 || t.DType() != dtypes.Float32: // by lane already: all matrices are float32
			state.Add(name, t)
		case t.Shape().Dimensions[1] == task.Dim(): // models
			state.Add(name, task.Split(k.own(in, t))...)
		default:
			state.Add(name, k.own(in, t))
		}
	}
	if in["prox"] != nil && in["anchor"] == nil {
		state.Add("anchor", w...)
	}
	return state
}

// step is the body of the loop: one step of every lane.
func (k solver) step(e *Engine, s *xla.Loop, in nodes) {
	i, w := s.One("step"), s.All("w")
	zero := graph.Const(i.Graph(), int32(0))
	rows := graph.Reshape(graph.DynamicSlice(in["batches"], []*graph.Node{i, zero, zero}, []int{1, k.lanes, k.batch}), k.lanes, k.batch)
	used := graph.ConvertDType(graph.GreaterOrEqual(rows, zero), dtypes.Float32) // [C, B], 0 for padding
	rows = graph.Max(rows, graph.Neg(graph.AddScalar(rows, 1)))
	more := map[string]*graph.Node{} // the batch's inputs per example
	if names := k.perExamples(); names != nil {
		lane := graph.Iota(i.Graph(), rows.Shape(), 0)
		at := graph.Stack([]*graph.Node{lane, rows}, -1) // [C, B, 2]
		for _, name := range names {
			more[name] = graph.Gather(in[perExample(name)], at)
		}
		rows = graph.Gather(in["positions"], at)
	}
	x, labels := examples(e.data, datasets.TrainPart, in, rows)
	if k.augment != (Augment{}) {
		x = k.augment.of(x, k.key(s))
	}

	b := Batch{Params: w, X: x, Y: labels, Used: used, PerExample: more}
	mean := func(loss *graph.Node) *graph.Node { // [C, B] → [C]
		return graph.Div(graph.ReduceSum(graph.Mul(loss, used), 1), graph.MaxScalar(graph.ReduceSum(used, 1), 1))
	}
	var loss *graph.Node
	var gradient, next []*graph.Node
	if in["clip"] != nil {
		loss, gradient = k.clipped(e, s, in, b)
		loss = mean(loss)
	} else {
		trained, reported, penalty, after := k.losses(e, s, b, same)
		loss = mean(trained)
		objective := loss
		if penalty != nil {
			objective = graph.Add(loss, penalty)
		}
		gradient, next = graph.Gradient(graph.ReduceAllSum(objective), e.task.trained(w)...), after
		if reported != trained {
			loss = mean(reported)
		}
	}

	active := graph.ConvertDType(graph.LessThan(i, s.One("steps")), dtypes.Float32) // [C], 0 once a client has done its steps
	s.Set("loss", graph.Add(s.One("loss"), graph.Mul(loss, active)))
	k.update(&e.task, s, in, gradient, next)
	i = graph.AddScalar(i, 1)
	s.Set("step", i)
	// Computed one step ahead, so that the update of every parameter reads it instead of recomputing it.
	s.Set("rate now", graph.Mul(s.One("rate"), graph.ConvertDType(graph.LessThan(i, s.One("steps")), dtypes.Float32)))
}

// losses returns the loss that a step minimizes and the one it reports, [C, B] each, a penalty [C] or nil, and the parameters with the
// running values that follow. each fits a node per lane to the batch.
func (k solver) losses(e *Engine, s *xla.Loop, b Batch, each func(*graph.Node) *graph.Node) (trained, reported, penalty *graph.Node, next []*graph.Node) {
	if e.task.Train != nil {
		var key *graph.Node
		if e.task.Random {
			key = each(k.key(s))
			if key.Shape().Dim(0) > k.lanes { // each example trains alone, with bits of its own
				at := graph.Reshape(graph.Iota(key.Graph(), shapes.Make(dtypes.Uint64, k.lanes, k.batch), 1), -1, 1)
				key = graph.Add(key, graph.Concatenate([]*graph.Node{graph.ZerosLike(at), at, graph.ZerosLike(at)}, 1))
			}
		}
		var end func() (penalty *graph.Node, next []*graph.Node)
		b.Out, end = e.task.Train(key, b.Used, b.Params, b.X)
		penalty, next = end()
	} else {
		b.Out = e.task.Forward(b.Params, b.X)
	}
	if k.objective == nil {
		trained = e.task.Loss(b.Out, b.Y)
		return trained, trained, penalty, next
	}
	b.Extra = map[string][]*graph.Node{}
	for _, name := range k.terms() {
		if quoted, ok := strings.CutPrefix(name, extra); ok {
			is, _ := strconv.Unquote(quoted)
			for _, n := range s.All(name) {
				b.Extra[is] = append(b.Extra[is], each(n))
			}
		}
	}
	trained, reported = k.objective.Losses(b)
	return trained, reported, penalty, next
}

// same is the identity.
func same(n *graph.Node) *graph.Node { return n }

// key returns random bits of the lanes and the step, [C, 3].
func (k solver) key(s *xla.Loop) *graph.Node {
	key := s.One("key") // the first word selects the random stream: one per step
	step := graph.Reshape(graph.ConvertDType(s.One("step"), dtypes.Uint64), 1, 1)
	step = graph.Concatenate([]*graph.Node{step, graph.Const(step.Graph(), [][]uint64{{0, 0}})}, 1)
	return graph.Add(key, graph.BroadcastToDims(step, k.lanes, 3))
}

// clipped returns the reported losses [C, B], and the mean over each batch of its examples' clipped gradients, with noise:
//
//	( Σ_b g_b min(1, clip/‖g_b‖) + noise N(0, I) ) / n    for the n examples of the batch.
//
// Every example is a client of its own, with a batch of 1: the gradient of the sum of all losses then has a row for each.
func (k solver) clipped(e *Engine, s *xla.Loop, in nodes, b Batch) (loss *graph.Node, gradient []*graph.Node) {
	used, all := b.Used, k.lanes*k.batch
	each := func(n *graph.Node) *graph.Node { // [C, …] → [C·B, …]
		d := n.Shape().Dimensions
		n = graph.BroadcastToDims(graph.InsertAxes(n, 1), append([]int{d[0], k.batch}, d[1:]...)...)
		return graph.Reshape(n, append([]int{all}, d[1:]...)...)
	}
	alone := func(n *graph.Node) *graph.Node { // [C, B, …] → [C·B, 1, …]
		return graph.Reshape(n, append([]int{all, 1}, n.Shape().Dimensions[2:]...)...)
	}
	b.Params = slices.Clone(b.Params)
	for l, v := range b.Params {
		b.Params[l] = each(v)
	}
	b.X, b.Y, b.Used = alone(b.X), alone(b.Y), alone(used)
	more := map[string]*graph.Node{}
	for name, n := range b.PerExample {
		more[name] = alone(n)
	}
	b.PerExample = more
	trained, reported, _, _ := k.losses(e, s, b, each)
	gradient = graph.Gradient(graph.ReduceAllSum(trained), b.Params...)
	var squares *graph.Node // ‖g_b‖², [C·B], of what is trained
	for l, g := range gradient {
		if in["mask"] != nil {
			g = graph.Where(graph.Equal(each(s.All("mask")[l]), graph.ZerosLike(g)), graph.ZerosLike(g), g)
		}
		sum := graph.ReduceSum(graph.Reshape(graph.Square(g), all, -1), 1)
		if squares == nil {
			squares = sum
		} else {
			squares = graph.Add(squares, sum)
		}
	}
	// A gradient of 0 stays 0, and a non-finite one stays non-finite.
	factor := graph.MinScalar(graph.Div(each(s.One("clip")), graph.Sqrt(squares)), 1)
	factor = graph.Mul(factor, graph.Reshape(used, all))
	for l, g := range gradient {
		d := b.Params[l].Shape().Dimensions
		gradient[l] = graph.ReduceSum(graph.Reshape(graph.Mul(g, along(factor, g)), append([]int{k.lanes, k.batch}, d[1:]...)...), 1)
	}
	n := graph.MaxScalar(graph.ReduceSum(used, 1), 1)
	var noise []*graph.Node
	if in["noise"] != nil {
		noise = k.noise(&e.task, s)
	}
	for l := range gradient {
		if noise != nil {
			gradient[l] = graph.Add(gradient[l], noise[l])
		}
		gradient[l] = graph.Div(gradient[l], along(n, gradient[l]))
	}
	return graph.Reshape(reported, k.lanes, k.batch), gradient
}

// noise draws normal noise for every parameter of every lane.
func (k solver) noise(task *Task, s *xla.Loop) []*graph.Node {
	keys, shape := k.key(s), shapes.Make(dtypes.Float32, 1, task.Dim())
	var all []*graph.Node
	for lane := range k.lanes {
		state, u := graph.RandomUniform(graph.Reshape(graph.Slice(keys, graph.AxisElem(lane)), 3), shape)
		_, v := graph.RandomUniform(state, shape)
		// Box and Muller's normal numbers. The least u is 0: half of its resolution avoids an infinite number.
		radius := graph.Sqrt(graph.MulScalar(graph.Log(graph.MaxScalar(u, 0x1p-33)), -2))
		all = append(all, graph.Mul(radius, graph.Cos(graph.MulScalar(v, 2*math.Pi))))
	}
	normal := graph.Concatenate(all, 0)
	return task.Split(graph.Mul(normal, along(s.One("noise"), normal)))
}

// update moves the parameters one step along the optimizer's direction, and the running values to the next ones.
func (k solver) update(task *Task, s *xla.Loop, in nodes, gradient, next []*graph.Node) {
	rate, w := s.One("rate now"), s.All("w")
	t := graph.AddScalar(graph.ConvertDType(s.One("step"), dtypes.Float32), 1)
	if k.keeps {
		t = graph.Add(s.One("before"), t)
	}
	g, slots := make([]*graph.Node, len(w)), make([][]*graph.Node, k.optimizer.Slots())
	for l := range w {
		if task.running(l) {
			g[l] = graph.ZerosLike(w[l])
			continue
		}
		g[l], gradient = descent(s, in, gradient[0], l), gradient[1:]
	}
	for j := range slots {
		slots[j] = s.All(slotName(j))
	}
	direction, slots := k.optimizer.Direction(w, g, slots, t)
	k.mustFit("directions", direction, w)
	if len(slots) != k.optimizer.Slots() {
		panic(fmt.Errorf("%T returned %d slots, but keeps %d", k.optimizer, len(slots), k.optimizer.Slots()))
	}
	for _, slot := range slots {
		k.mustFit("slots", slot, w)
	}
	for l, d := range direction {
		if task.running(l) {
			moves := graph.BroadcastToDims(along(rate, w[l]), w[l].Shape().Dimensions...) // not in a client that has done its steps
			if in["mask"] != nil {
				moves = graph.Mul(moves, s.All("mask")[l])
			}
			w[l] = graph.Where(graph.Equal(moves, graph.ZerosLike(w[l])), w[l], next[l])
			continue
		}
		if in["mask"] != nil { // masked parameters stay fixed, whatever the optimizer does
			d = graph.Where(graph.Equal(s.All("mask")[l], graph.ZerosLike(d)), graph.ZerosLike(d), d)
		}
		w[l] = graph.Sub(w[l], graph.Mul(d, along(rate, d)))
	}
	s.Set("w", w...)
	for j, slot := range slots {
		if k.keeps { // a client that has done its steps keeps what it has
			for l, was := range s.All(slotName(j)) {
				active := graph.BroadcastToDims(along(rate, was), was.Shape().Dimensions...)
				slot[l] = graph.Where(graph.Equal(active, graph.ZerosLike(was)), was, slot[l])
			}
		}
		s.Set(slotName(j), slot...)
	}
}

// mustFit panics, as is usual while a graph is built, unless an optimizer returned a node of every parameter's shape.
func (k solver) mustFit(what string, got, w []*graph.Node) {
	if len(got) != len(w) {
		panic(fmt.Errorf("%T returned %d %s for %d parameters", k.optimizer, len(got), what, len(w)))
	}
	for l, n := range got {
		if n == nil || !n.Shape().Equal(w[l].Shape()) {
			panic(fmt.Errorf("%T returned %s of another shape than parameter %d, %s", k.optimizer, what, l, w[l].Shape()))
		}
	}
}

// descent is m ⊙ (∇f + μ p ⊙ (w − a) + s) for the parameter l.
func descent(s *xla.Loop, in nodes, d *graph.Node, l int) *graph.Node {
	if in["prox"] != nil {
		pull := graph.Mul(along(s.One("prox"), d), graph.Sub(s.All("w")[l], s.All("anchor")[l]))
		if in["weights"] != nil {
			pull = graph.Mul(pull, s.All("weights")[l])
		}
		d = graph.Add(d, pull)
	}
	if in["shift"] != nil {
		d = graph.Add(d, s.All("shift")[l])
	}
	if in["mask"] != nil {
		d = graph.Mul(d, s.All("mask")[l])
	}
	return d
}

// along reshapes one number per lane, [C], to fit a parameter: [C, 1, …].
func along(v, like *graph.Node) *graph.Node {
	dims := slices.Repeat([]int{1}, like.Rank())
	dims[0] = v.Shape().Dimensions[0]
	return graph.Reshape(v, dims...)
}
