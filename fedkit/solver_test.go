package fedkit

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/internal/rows"
	"fedkit.example/fedkit/loss"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
)

// toy is a small classification federation with clients of the given sizes, its model an MLP written out by hand, and
// the oracle for the same model.
func toy(t testing.TB, sizes ...int) (*Federation, oracle.MLP) {
	t.Helper()
	const features, classes, hidden = 5, 3, 4
	rng := rand.New(rand.NewPCG(1, 2))
	d := &datasets.Dataset{Name: "toy", Shape: []int{features}, Classes: classes}
	var clients []partition.Client
	for _, n := range sizes {
		c := partition.Client{Test: []int{d.Test.Len()}}
		for range n {
			c.Train = append(c.Train, d.Train.Len())
			addExample(&d.Train, rng, features, classes)
		}
		addExample(&d.Test, rng, features, classes)
		clients = append(clients, c)
	}
	o := oracle.MLP{Sizes: []int{features, hidden, classes}}
	fed := expect.Value(New(d, partition.Given(clients), func(*datasets.Dataset) (*Task, error) {
		normal := func(rng *rand.Rand, w []float32) {
			for i := range w {
				w[i] = float32(rng.NormFloat64() / 2)
			}
		}
		return &Task{Name: "toy", Params: []Param{
			{Name: "w1", Shape: []int{features, hidden}, Init: normal}, {Name: "b1", Shape: []int{hidden}, Init: normal},
			{Name: "w2", Shape: []int{hidden, classes}, Init: normal}, {Name: "b2", Shape: []int{classes}, Init: normal},
		}, Forward: func(p []*graph.Node, x *graph.Node) *graph.Node {
			layer := func(x, w, b *graph.Node) *graph.Node {
				if c := w.Shape().Dimensions[0]; x.Shape().Dimensions[0] != c {
					x = graph.BroadcastToDims(x, c, x.Shape().Dimensions[1], x.Shape().Dimensions[2])
				}
				return graph.Add(graph.Einsum("cbi,cio->cbo", x, w), graph.InsertAxes(b, 1))
			}
			return layer(graph.MaxScalar(layer(x, p[0], p[1]), 0), p[2], p[3])
		}}, nil
	}))(t)
	return fed, o
}

func addExample(s *datasets.Split, rng *rand.Rand, features, classes int) {
	for range features {
		s.Floats = append(s.Floats, float32(rng.NormFloat64()))
	}
	s.Labels = append(s.Labels, int32(rng.IntN(classes)))
}

// solve solves a job as Round.Train does.
func solve(t testing.TB, fed *Federation, workers int, job Job, seed uint64, round int) *Updates {
	t.Helper()
	return expect.Value(job.solve(context.Background(), fed, engine.Here(workers), seed, round, 1, nil))(t)
}

func randomMatrix(seed uint64, n, d int) *Matrix {
	rng := rand.New(rand.NewPCG(seed, 0))
	v := make([]float32, n*d)
	for i := range v {
		v[i] = float32(rng.NormFloat64() / 2)
	}
	return NewMatrix(v, n, d)
}

func rowsOf(t testing.TB, m *Matrix) [][]float64 {
	t.Helper()
	v := expect.Value(m.Host())(t)
	rows := make([][]float64, m.Rows())
	for i := range rows {
		rows[i] = precision.Double(v[i*m.Cols() : (i+1)*m.Cols()])
	}
	return rows
}

// reference solves one client's local problem in float64, step by step as Local's comment has it.
func reference(fed *Federation, o oracle.MLP, job Job, i int, seed uint64, round int, at func(m *Matrix, def float64) []float64) (w []float64, loss float64, steps int) {
	l := job.Local.WithDefaults()
	rows := fed.Clients[job.Clients[i]].Train
	most := 0
	for _, c := range fed.Clients {
		most = max(most, len(c.Train))
	}
	batch := min(l.Batch, most)
	if l.Batch == FullBatch {
		batch = most
	}
	epochs := l.Epochs
	if job.Epochs != nil {
		epochs = job.Epochs[i]
	}
	rate := l.LR
	if job.LR != nil {
		rate = job.LR[i]
	}
	if l.Schedule != nil {
		rate *= l.Schedule.Factor(round)
	}
	steps = l.Steps
	if job.Steps != nil {
		steps = job.Steps[i]
	}
	if steps == 0 {
		steps = epochs * ((len(rows) + batch - 1) / batch)
	}
	start := at(job.Start, 0)
	shift, mask := at(job.Shift, 0), at(job.Mask, 1)
	pulls := job.Pulls
	if pulls == nil {
		pulls = []Pull{{Weight: l.Prox}}
	}
	pull := func(w []float64, j int) (sum float64) {
		for _, p := range pulls {
			to := start
			if p.To != nil {
				to = at(p.To, 0)
			}
			weight := p.Weight
			if p.Weights != nil {
				weight = p.Weights[i]
			}
			sum += weight * at(p.Mask, 1)[j] * (w[j] - to[j])
		}
		return sum
	}
	w = append([]float64(nil), start...)
	m, v := make([]float64, len(w)), make([]float64, len(w))
	draw := &engine.Batches{Rows: rows, Full: l.Batch == FullBatch, Order: func(epoch int) *rand.Rand {
		return Random(seed, "batches", round, job.Clients[i], epoch)
	}}
	for s := range steps {
		picked := make([]int32, batch)
		for j := range picked {
			picked[j] = -1
		}
		draw.Next(picked)
		var x [][]float64
		var y []float64
		for _, r := range picked {
			if r >= 0 {
				x = append(x, precision.Double(fed.Data.Train.Row(int(r), nil)))
				y = append(y, float64(fed.Data.Train.Labels[r]))
			}
		}
		f, g := smoothed64(o, l.LabelSmoothing, w, x, y)
		if c := l.ClipExamples; c > 0 {
			clear(g)
			for b := range x {
				_, one := smoothed64(o, l.LabelSmoothing, w, x[b:b+1], y[b:b+1])
				floats.Mul(one, mask) // of 0 and 1
				floats.AddScaled(g, min(1, c/floats.Norm(one, 2))/float64(len(x)), one)
			}
		}
		loss += f / float64(steps)
		d := make([]float64, len(w))
		for j := range w {
			d[j] = mask[j] * (g[j] + pull(w, j) + shift[j])
		}
		decay := 0.0
		optimizer := l.Optimizer
		if o, ok := optimizer.(WeightDecay); ok {
			decay, optimizer = o.Lambda, o.Then
		}
		if o, ok := optimizer.(Clip); ok {
			floats.Scale(min(1, o.Norm/floats.Norm(d, 2)), d)
			optimizer = o.Then
		}
		for j := range w {
			switch opt := optimizer.(type) {
			case Momentum:
				m[j] = opt.Beta*m[j] + d[j]
				d[j] = m[j]
			case Adagrad:
				v[j] += d[j] * d[j]
				d[j] /= math.Sqrt(v[j]) + 1e-10
			case RMSProp:
				v[j] = opt.Beta*v[j] + (1-opt.Beta)*d[j]*d[j]
				d[j] /= math.Sqrt(v[j]) + 1e-8
			case Adam:
				m[j] = 0.9*m[j] + 0.1*d[j]
				v[j] = 0.999*v[j] + 0.001*d[j]*d[j]
				t := float64(s + 1)
				d[j] = m[j] / (1 - math.Pow(0.9, t)) / (math.Sqrt(v[j]/(1-math.Pow(0.999, t))) + 1e-8)
			}
			w[j] -= rate * (d[j] + decay*mask[j]*w[j])
		}
	}
	return w, loss, steps
}

// smoothed64 is the oracle's gradient with smoothed labels: cross entropy is linear in the distribution of labels.
func smoothed64(o oracle.MLP, by float64, w []float64, x [][]float64, y []float64) (loss float64, g []float64) {
	loss, g = o.Gradient(w, x, y)
	loss *= 1 - by
	floats.Scale(1-by, g)
	classes := o.Sizes[len(o.Sizes)-1]
	for k := range classes {
		f, all := o.Gradient(w, x, slices.Repeat([]float64{float64(k)}, len(x)))
		loss += by / float64(classes) * f
		floats.AddScaled(g, by/float64(classes), all)
	}
	return loss, g
}

func TestSolverAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic: TestSameBytesForAnyNumberOfWorkers is about the workers")
	even, odd := []int{8, 8, 8, 8}, []int{3, 17, 8, 1, 12, 5}
	d := 5*4 + 4 + 4*3 + 3
	for nth, c := range []struct {
		name  string
		sizes []int
		job   Job
	}{
		{"one step of everything", even, Job{Local: Local{Batch: FullBatch, LR: 0.2}}},
		{"epochs, last batch partial", odd, Job{Local: Local{Epochs: 3, Batch: 5, LR: 0.1}}},
		{"steps across epochs", odd, Job{Local: Local{Steps: 11, Batch: 4, LR: 0.1}}},
		{"batch larger than any client", odd, Job{Local: Local{Epochs: 2, Batch: 100, LR: 0.1}}},
		{"momentum", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.1, Optimizer: Momentum{Beta: 0.8}}}},
		{"Adam", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.01, Optimizer: Adam{}}}},
		{"Adagrad", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.05, Optimizer: Adagrad{}}}},
		{"RMSProp", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.01, Optimizer: RMSProp{Beta: 0.8}}}},
		{"proximal", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.1, Prox: 0.7}}},
		{"proximal by client, to an anchor, by parameter", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.1},
			Pulls: []Pull{{Weights: []float64{0, 0.1, 0.2, 0.3, 0.4, 5}, To: randomMatrix(7, 1, d), Mask: randomMatrix(8, 6, d)}}}},
		{"two pulls, by client", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.1}, Pulls: []Pull{
			{Weights: []float64{0, 0.1, 0.2, 0.3, 0.4, 5}, To: randomMatrix(7, 6, d)}, {Weights: []float64{0, 0.3, 0, 1e-6, 1, 2}, To: Zeros(1, d)}}}},
		{"pulls on parts that overlap, and one by parameter", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.1}, Pulls: []Pull{
			{Weight: 0.7}, {Weight: 0.2, To: randomMatrix(7, 1, d), Mask: ones(d, d/2)}, {Weight: 1e-4, To: randomMatrix(8, 6, d), Mask: ones(d, 3).Not()},
			{Weights: []float64{0, 0.1, 0.2, 0.3, 0.4, 5}, To: randomMatrix(9, 1, d), Mask: randomMatrix(10, 1, d).Mul(randomMatrix(10, 1, d))}}}},
		{"pulls on parts apart", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.1}, Pulls: []Pull{
			{Weight: 3, To: randomMatrix(7, 6, d), Mask: ones(d, d/2)}, {Weight: 1e-4, To: randomMatrix(8, 1, d), Mask: ones(d, d/2).Not()}}}},
		{"shift by client", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.1}, Shift: randomMatrix(9, 6, d)}},
		{"mask", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.1}, Mask: ones(d, d/2)}},
		{"epochs by client", odd, Job{Local: Local{Batch: 4, LR: 0.1}, Epochs: []int{1, 2, 3, 4, 5, 6}}},
		{"steps by client", odd, Job{Local: Local{Batch: 4, LR: 0.1}, Steps: []int{1, 9, 3, 20, 5, 2}}},
		{"rates by client, which decay", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.1, Schedule: Decay{Gamma: 0.5}}, LR: []float64{0.1, 0.4, 0.01, 0.2, 0.3, 1}}},
		{"clipped", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.2, Optimizer: Clip{Norm: 0.5, Then: Momentum{Beta: 0.8}}}}},
		{"weight decay of what is trained", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.1, Optimizer: WeightDecay{Lambda: 0.3, Then: Clip{Norm: 0.7}}}, Mask: ones(d, d/2)}},
		{"AdamW", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.01, Optimizer: WeightDecay{Lambda: 0.1, Then: Adam{}}}}},
		{"clipped examples", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.2, ClipExamples: 0.6}}},
		{"clipped examples in full batches", odd, Job{Local: Local{Steps: 5, Batch: FullBatch, LR: 0.2, ClipExamples: 0.6}}},
		{"clipped examples, with all else", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.05, Optimizer: Momentum{Beta: 0.5}, ClipExamples: 0.3},
			Pulls: []Pull{{Weight: 0.3, To: randomMatrix(3, 6, d)}}, Shift: randomMatrix(4, 1, d), Mask: ones(d, 20)}},
		{"smoothed labels", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.1, LabelSmoothing: 0.1}}},
		{"smoothed labels, of clipped examples", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.1, LabelSmoothing: 0.4, ClipExamples: 0.3}}},
		{"all at once", odd, Job{Local: Local{Epochs: 2, Batch: 4, LR: 0.05, Optimizer: Momentum{Beta: 0.5}},
			Pulls: []Pull{{Weight: 0.3, To: randomMatrix(3, 6, d)}}, Shift: randomMatrix(4, 1, d), Mask: ones(d, 20)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fed, o := toy(t, c.sizes...)
			job := c.job
			job.Clients = sequence(len(c.sizes))
			job.Start = randomMatrix(5, []int{1, len(c.sizes)}[nth%2], o.Dim()) // one for all, or one per client
			u := solve(t, fed, 2, job, 42, 3)
			got := rowsOf(t, u.Models)
			for i := range job.Clients {
				at := func(m *Matrix, def float64) []float64 {
					if m == nil {
						v := make([]float64, o.Dim())
						for j := range v {
							v[j] = def
						}
						return v
					}
					return rowsOf(t, m)[min(i, m.Rows()-1)]
				}
				want, loss, steps := reference(fed, o, job, i, 42, 3, at)
				expect.That(t, u.Results[i].Steps == steps, "client %d: %d steps, want %d", i, u.Results[i].Steps, steps)
				expect.That(t, math.Abs(float64(u.Results[i].Loss)-loss) <= 1e-5*(1+loss), "client %d: loss %v, want %v", i, u.Results[i].Loss, loss)
				drift := 0.0
				for j := range want {
					expect.Must(t, math.Abs(got[i][j]-want[j]) <= 2e-5*(1+math.Abs(want[j])),
						"client %d, parameter %d: %v, want %v", i, j, got[i][j], want[j])
					diff := want[j] - at(job.Start, 0)[j]
					drift += diff * diff
				}
				expect.That(t, math.Abs(float64(u.Results[i].Drift)-math.Sqrt(drift)) <= 1e-4*(1+math.Sqrt(drift)),
					"client %d: drift %v, want %v", i, u.Results[i].Drift, math.Sqrt(drift))
			}
		})
	}
}

// ones is a mask whose first n of d parameters are trained.
func ones(d, n int) *Matrix {
	v := make([]float32, d)
	for i := range n {
		v[i] = 1
	}
	return NewMatrix(v, 1, d)
}

// The loss of one example as torch.nn.functional.cross_entropy(torch.tensor([[1., 2., 4.]]), torch.tensor([0]), label_smoothing=0.3) has it:
// log(e + e² + e⁴) − 0.7·1 − 0.1·(1 + 2 + 4). Data of real values refuse it.
func TestSmoothedLabels(t *testing.T) {
	p := NewProgram("smoothed", func(in []*graph.Node) *graph.Node {
		out, y := graph.Reshape(in[0], 1, 1, 3), graph.Const(in[0].Graph(), [][]int32{{0}})
		return smoothed(loss.CrossEntropy, 0.3, 3)(out, y)
	})
	got := rowsOf(t, NewMatrix([]float32{1, 2, 4}, 1, 3).Apply(p))[0][0]
	expect.That(t, math.Abs(got-2.7698) < 1e-4, "%v", got)
	fed, _ := toy(t, 4)
	machine(t, 4*4*9-1)
	expect.Error(t, "Batch = 4: must be at most 3: outputs for 4 examples, with each of 3 labels, take 144 B")(Check(Local{Batch: 4, LR: 1, LabelSmoothing: 0.1}, fed, 1))
	other := *fed
	other.Data = &datasets.Dataset{Name: "values"}
	expect.Error(t, "LabelSmoothing = 0.1: must be 0 for data without one label per example")(Check(Local{LR: 1, LabelSmoothing: 0.1}, &other, 1))
}

// Clients of very different sizes, on a CPU more than lanes, on a GPU in one program: every one ends where it would end alone.
func TestClientsSideBySideAsOneByOne(t *testing.T) {
	for name, w := range map[string]engine.Width{"CPU": engine.CPU, "GPU": engine.GPU} {
		t.Run(name, func(t *testing.T) { testSideBySide(t, w) })
	}
}

func testSideBySide(t *testing.T, w engine.Width) {
	var sizes []int
	for i := range 37 {
		sizes = append(sizes, 1+(i*i)%23)
	}
	fed, o := toy(t, sizes...)
	e := expect.Value(fed.engine())(t)
	fed.lazy.Engine = e.WithWidth(w)
	start := randomMatrix(5, 1, o.Dim())
	job := Job{Clients: sequence(len(sizes)), Local: Local{Epochs: 2, Batch: 4, LR: 0.1}, Start: start}
	all := solve(t, fed, 2, job, 1, 1)
	got, from := rowsOf(t, all.Models), rowsOf(t, start)[0]
	for c := range sizes {
		moved := floats.Distance(got[c], from, 2)
		expect.That(t, math.Abs(float64(all.Results[c].Drift)-moved) <= 1e-5*moved,
			"client %d moved by %v, Drift is %v", c, moved, all.Results[c].Drift)
		job.Clients = []int{c}
		one := solve(t, fed, 2, job, 1, 1)
		for j, w := range rowsOf(t, one.Models)[0] {
			expect.Must(t, math.Abs(w-got[c][j]) <= 1e-5*(1+math.Abs(w)),
				"client %d (%d examples), parameter %d: %v side by side, %v alone", c, sizes[c], j, got[c][j], w)
		}
	}
}

func TestSameBytesForAnyNumberOfWorkers(t *testing.T) {
	var sizes []int
	for i := range 41 {
		sizes = append(sizes, 1+(i*7)%29)
	}
	var first []float32
	for _, workers := range []int{1, 2, 4, 1} {
		fed, o := toy(t, sizes...)
		w := randomMatrix(5, 1, o.Dim())
		for round := range 5 {
			u := solve(t, fed, workers, Job{Clients: sequence(len(sizes)), Local: Local{Batch: 4, LR: 0.1}, Start: w}, 9, round)
			w = u.Models.Mean(u.Examples())
		}
		v := expect.Value(w.Host())(t)
		if first == nil {
			first = v
		}
		for i := range v {
			expect.Must(t, math.Float32bits(v[i]) == math.Float32bits(first[i]),
				"%d workers: parameter %d is %v, with one worker %v", workers, i, v[i], first[i])
		}
	}
}

func TestEvaluation(t *testing.T) {
	fed, o := toy(t, 40, 3, 17, 8, 300, 1400)
	models := randomMatrix(3, 4, o.Dim())
	w := rowsOf(t, models)
	rng := rand.New(rand.NewPCG(3, 3))
	n := fed.Data.Train.Len()
	tensor := expect.Value(rows.Tensor(models))(t)
	question := engine.Evaluation{Models: tensor, Part: datasets.TrainPart, Rows: rng.Perm(n)}
	which := make([]int, n)
	for i := range which {
		which[i] = rng.IntN(4)
	}
	check := func(name string, got *engine.Scores, rows []int, model func(row, at int) int) {
		t.Helper()
		for r := range got.Loss {
			for at, row := range rows {
				x := [][]float64{precision.Double(fed.Data.Train.Row(row, nil))}
				want, _ := o.Gradient(w[model(r, at)], x, []float64{float64(fed.Data.Train.Labels[row])})
				expect.Must(t, math.Abs(float64(got.Loss[r][at])-want) <= 1e-5*(1+want),
					"%s: model %d, example %d: loss %v, want %v", name, r, at, got.Loss[r][at], want)
				right := got.Accuracy[r][at] == 1
				expect.Must(t, (!right || want <= math.Log(3)) && (right || want >= math.Log(2)),
					"%s: model %d, example %d: score %v at loss %v", name, r, at, got.Accuracy[r][at], want)
			}
		}
	}
	scores := func(q engine.Evaluation) *engine.Scores {
		t.Helper()
		e := expect.Value(fed.engine())(t)
		return expect.Value(e.Evaluate(context.Background(), &q, engine.Here(2)))(t)
	}
	check("every model", scores(question), question.Rows, func(r, _ int) int { return r })
	question.Which = which
	check("long blocks", scores(question), question.Rows, func(_, at int) int { return which[at] })
	question.Rows, question.Which = question.Rows[:70], which[:70]
	check("short blocks", scores(question), question.Rows, func(_, at int) int { return which[at] })
}

// Each exported field of a job is in the table that checks it.
func TestFieldsOfJobs(t *testing.T) {
	fed, _ := toy(t, 4)
	fields := (&Job{Clients: []int{0}}).fields(fed, 1)
	for i := range reflect.TypeFor[Job]().NumField() {
		f := reflect.TypeFor[Job]().Field(i)
		expect.That(t, !f.IsExported() || slices.ContainsFunc(fields, func(in jobField) bool { return in.name == f.Name }), "no %s", f.Name)
	}
}

func TestJobsThatCannotRun(t *testing.T) {
	fed, o := toy(t, 4, 4)
	start := randomMatrix(1, 1, o.Dim())
	ok := Local{Batch: 2, LR: 0.1}
	for _, c := range []struct {
		job  Job
		want string
	}{
		{Job{Clients: []int{0}, Local: Local{Batch: 2, LR: 0.1, LabelSmoothing: 1}, Start: start}, "invalid: Local.LabelSmoothing = 1: must be in [0, 1)"},
		{Job{Local: ok, Start: start}, "invalid: Job.Clients = []: must be at least one client"},
		{Job{Clients: []int{2}, Local: ok, Start: start}, "invalid: Job.Clients = 2: must be in [0, 2)"},
		{Job{Clients: []int{0}, Local: ok}, "job: Start: invalid: the matrix is nil"},
		{Job{Clients: []int{0}, Local: ok, Start: randomMatrix(1, 1, 3)}, fmt.Sprintf("invalid: Job.Start = [1, 3]: must be [1, %d] or [1, %d]", o.Dim(), o.Dim())},
		{Job{Clients: []int{0, 1}, Local: ok, Start: start, Shift: randomMatrix(1, 3, o.Dim())}, fmt.Sprintf("invalid: Job.Shift = [3, %d]: must be [1, %d] or [2, %d]", o.Dim(), o.Dim(), o.Dim())},
		{Job{Clients: []int{0, 1}, Local: ok, Start: start, Epochs: []int{1}}, "invalid: len(Job.Epochs) = 1: must be 2, one per client"},
		{Job{Clients: []int{0, 1}, Local: ok, Start: start, Epochs: []int{1, 0}}, "invalid: Job.Epochs = 0: must be at least 1 (client 1)"},
		{Job{Clients: []int{1, 0, 1}, Local: ok, Start: start}, "invalid: Job.Clients = 1 twice: must be different clients: call Train once for each model that a client trains"},
		{Job{Clients: []int{0}, Local: Local{Steps: 3, Batch: 2, LR: 0.1}, Start: start, Epochs: []int{2}}, "invalid: Job.Epochs = [2]: must be nil if Local.Steps is set: use Job.Steps"},
		{Job{Clients: []int{0}, Local: ok, Start: start, Epochs: []int{2}, Steps: []int{2}}, "invalid: Job.Steps = [2]: must be nil if Job.Epochs is set: use one of them"},
		{Job{Clients: []int{0}, Local: ok, Start: start, Steps: []int{0}}, "invalid: Job.Steps = 0: must be at least 1 (client 0)"},
		{Job{Clients: []int{0}, Local: ok, Start: start, LR: []float64{0}}, "invalid: Job.LR = 0: must be a number > 0 (client 0)"},
		{Job{Clients: []int{0}, Local: ok, Start: start, LR: []float64{}}, "invalid: len(Job.LR) = 0: must be 1, one per client"},
		{Job{Clients: []int{0}, Local: ok, Start: start, ReuseBatches: 2}, "invalid: Job.ReuseBatches = 2: must be in [0, 1], the calls of Train in this round so far"},
		{Job{Clients: []int{0}, Local: ok, Start: start, Up: -1}, "invalid: Job.Up = -1: must be a number ≥ 0: 0 for the usual, or fedkit.Zero"},
		{Job{Clients: []int{0}, Local: ok, Start: start, Communicated: randomMatrix(1, 2, o.Dim())}, fmt.Sprintf("invalid: Job.Communicated = [2, %d]: must be [1, %d]", o.Dim(), o.Dim())},
		{Job{Clients: []int{0}, Local: ok, Start: start, Extra: map[string]*Matrix{"a": randomMatrix(1, 2, 3)}}, `invalid: Job.Extra["a"] = [2, 3]: must be [1, g] or [1, g]`},
		{Job{Clients: []int{0}, Local: Local{Batch: 2, LR: 0.1, Schedule: ScheduleFunc(func(int) float64 { return 0 })}, Start: start}, "invalid: Local.Schedule = a factor of 0 in round 1: must be a number > 0"},
		{Job{Clients: []int{0}, Local: Local{Batch: 2, LR: 0.1, Optimizer: Clip{}}, Start: start}, "invalid: Local.Optimizer.Norm = 0: must be a number > 0"},
		{Job{Clients: []int{0, 1}, Local: ok, Start: start, Pulls: []Pull{{Weights: []float64{1, -1}}}}, "invalid: Job.Pulls[0].Weights = -1: must be ≥ 0 (client 1)"},
		{Job{Clients: []int{0}, Local: ok, Start: start, Pulls: []Pull{{Weight: 1}, {Weight: -1}}}, "invalid: Job.Pulls[1].Weight = -1: must be a number ≥ 0"},
		{Job{Clients: []int{0}, Local: ok, Start: start, Pulls: []Pull{{Weight: 1, Weights: []float64{1}}}}, "invalid: Job.Pulls[0].Weights = [1]: must be nil if Weight is set: use one of them"},
		{Job{Clients: []int{0}, Local: ok, Start: start, Pulls: []Pull{{Weight: 1, To: randomMatrix(1, 1, 3)}}}, fmt.Sprintf("invalid: Job.Pulls[0].To = [1, 3]: must be [1, %d] or [1, %d]", o.Dim(), o.Dim())},
		{Job{Clients: []int{0}, Local: Local{Batch: -2, LR: 0.1}, Start: start}, "invalid: Local.Batch = -2: must be at least 1, 0 for the default of 32, or fedkit.FullBatch"},
		{Job{Clients: []int{0}, Local: Local{Batch: 2, LR: -0.1}, Start: start}, "invalid: Local.LR = -0.1: must be a number > 0"},
	} {
		_, err := c.job.solve(context.Background(), fed, engine.Here(1), 0, 1, 1, nil)
		expect.That(t, err != nil && err.Error() == c.want, "error %v\nwant  %s", err, c.want)
	}
}
