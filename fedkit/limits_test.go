package fedkit_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/loss"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/gomlx/core/graph"
)

// extreme is a case that ends with an error that has these words, or in the usual way if there are none.
type extreme struct{ name, words string }

// holds runs a case. Whatever the options are, no panic comes out and little is allocated.
func (c extreme) holds(t *testing.T, do func() error) {
	t.Run(c.name, func(t *testing.T) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := do()
		runtime.ReadMemStats(&after)
		expect.Outcome(t, c.words)(err)
		if strings.Contains(c.words, " = ") && !errors.Is(err, fedkit.ErrInvalid) { // names a field
			t.Errorf("%v is not ErrInvalid", err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("%d MB were allocated", used>>20)
		}
	})
}

// slow is an optimizer whose type cannot be a key.
type slow struct {
	fedkit.SGD
	Rates []float64
}

// staged is FedAvg with its own number of epochs for each client.
type staged struct {
	strategy.State
	Epochs int
}

func (s *staged) Round(r *fedkit.Round) error {
	job := fedkit.Job{Clients: r.AllClients(), Start: s.State.X}
	for range job.Clients {
		job.Epochs = append(job.Epochs, s.Epochs)
	}
	s.State.X = r.Train(job).Models.Mean(nil)
	return r.Err()
}

func TestExtremeOptions(t *testing.T) {
	expect.Long(t, "one run after the other")
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 3}, model.LogisticRegression()))(t)
	once := fedkit.Options{Rounds: 1}
	local := func(change func(*fedkit.Local)) fedkit.Strategy {
		l := fedkit.Local{Batch: 32, LR: 0.1}
		change(&l)
		return &strategy.FedAvg{Local: l}
	}
	var watch *struct{ fedkit.Watcher }
	for _, c := range []struct {
		extreme
		s fedkit.Strategy
		o fedkit.Options
	}{
		{extreme{"steps", "Local.Steps = 1099511627776: must be at most "}, local(func(l *fedkit.Local) { l.Steps = 1 << 40 }), once},
		{extreme{"epochs", "Local.Epochs = 1099511627776: must be at most "}, local(func(l *fedkit.Local) { l.Epochs = 1 << 40 }), once},
		{extreme{"epochs that overflow", "Local.Epochs = 9223372036854775807: must be at most "}, local(func(l *fedkit.Local) { l.Epochs = math.MaxInt }), once},
		{extreme{"epochs by client", "Job.Epochs = 1099511627776: must be at most "}, &staged{Epochs: 1 << 40}, once},
		{extreme{"batch", ""}, local(func(l *fedkit.Local) { l.Batch = 1 << 40 }), once},
		{extreme{"steps of a large batch", "Local.Steps = "}, local(func(l *fedkit.Local) { l.Steps, l.Batch = 1<<40, 1<<40 }), once},
		{extreme{"learning rate", "not finite"}, local(func(l *fedkit.Local) { l.LR = 1e300 }), once},
		{extreme{"infinite learning rate", "Local.LR = "}, local(func(l *fedkit.Local) { l.LR = math.Inf(1) }), once},
		{extreme{"no learning", ""}, local(func(l *fedkit.Local) { l.LR = fedkit.Zero }), once},
		{extreme{"prox", "not finite"}, local(func(l *fedkit.Local) { l.Prox = 1e300 }), once},
		{extreme{"nil optimizer", "Local.Optimizer = nil *fedkit.Adam: must be "}, local(func(l *fedkit.Local) { l.Optimizer = (*fedkit.Adam)(nil) }), once},
		{extreme{"optimizer that is no key", "Local.Optimizer = a fedkit_test.slow: must be "}, local(func(l *fedkit.Local) { l.Optimizer = slow{Rates: []float64{1}} }), once},
		{extreme{"nil selector", "Selector = nil fedkit.SelectorFunc: must be "}, &strategy.FedAvg{Selector: fedkit.SelectorFunc(nil)}, once},
		{extreme{"tiny fraction", ""}, &strategy.FedAvg{Fraction: 1e-300}, once},
		{extreme{"fraction", "Fraction = NaN"}, &strategy.FedAvg{Fraction: math.NaN()}, once},
		{extreme{"IFCA", "K = 1000000000: must be at most "}, &strategy.IFCA{K: 1e9}, once},
		{extreme{"IFCA's largest", "K = 9223372036854775807: must be at most "}, &strategy.IFCA{K: math.MaxInt}, once},
		{extreme{"FedPRISM", "K = 1000000000: must be at most "}, &strategy.FedPRISM{K: 1e9}, once},
		{extreme{"FedPRISM's largest", "K = 9223372036854775807: must be at most "}, &strategy.FedPRISM{K: math.MaxInt}, once},
		{extreme{"FedPRISM, rarely", ""}, &strategy.FedPRISM{Every: math.MaxInt}, once},
		{extreme{"FedPRISM, cold", ""}, &strategy.FedPRISM{Every: 1, Temperature: 1e-300}, once},
		{extreme{"workers", ""}, &strategy.FedAvg{}, fedkit.Options{Rounds: 1, Concurrency: math.MaxInt}},
		{extreme{"evaluations", ""}, &strategy.FedAvg{}, fedkit.Options{Rounds: 1, EvalEvery: math.MaxInt}},
		{extreme{"rounds", ""}, &strategy.FedAvg{}, fedkit.Options{Rounds: math.MaxInt}},
		{extreme{"nil watcher", "Options.Watch = nil *struct"}, &strategy.FedAvg{}, fedkit.Options{Rounds: 1, Watch: watch}},
	} {
		c.holds(t, func() error {
			for _, err := range fedkit.Rounds(context.Background(), fed, c.s, c.o) {
				return err
			}
			return nil
		})
	}
}

// nowhere is a rule that panics.
type nowhere struct{ partition.IID }

func (nowhere) Partition(*datasets.Dataset) (*partition.Partitioned, error) { panic("nowhere to go") }

func TestExtremeFederations(t *testing.T) {
	iid := partition.IID{Clients: 3}
	task := func(change func(*fedkit.Task)) fedkit.Model {
		return func(d *datasets.Dataset) (*fedkit.Task, error) {
			task, err := model.LogisticRegression()(d)
			change(task)
			return task, err
		}
	}
	forward := func(f func(p []*graph.Node, x *graph.Node) *graph.Node) fedkit.Model {
		return task(func(t *fedkit.Task) { t.Forward = f })
	}
	for _, c := range []struct {
		extreme
		rule  partition.Rule
		model fedkit.Model
	}{
		{extreme{"nil rule", "rule = nil *partition.Dirichlet: must be "}, (*partition.Dirichlet)(nil), model.MLP()},
		{extreme{"nil rule in a rule", "rule.Of = nil *partition.Dirichlet: must be "}, partition.Rotations{Of: (*partition.Dirichlet)(nil)}, model.MLP()},
		{extreme{"rule that panics", "rule: panic: nowhere to go"}, nowhere{iid}, model.MLP()},
		{extreme{"wide model", "model MLP-1099511627776 = "}, iid, model.MLP(1 << 40)},
		{extreme{"size that overflows", "model MLP-1099511627776-1099511627776 = "}, iid, model.MLP(1<<40, 1<<40)},
		{extreme{"nil model", "model = nil"}, iid, nil},
		{extreme{"no task", "model = a function that returns a nil *fedkit.Task"}, iid, func(*datasets.Dataset) (*fedkit.Task, error) { return nil, nil }},
		{extreme{"model that panics", "model: panic: no model"}, iid, func(*datasets.Dataset) (*fedkit.Task, error) { panic("no model") }},
		{extreme{"no forward", "Task.Forward = nil"}, iid, task(func(t *fedkit.Task) { t.Forward = nil })},
		{extreme{"no outputs", "task logistic: invalid: Task.Forward = a function that returns nil"}, iid,
			forward(func([]*graph.Node, *graph.Node) *graph.Node { return nil })},
		{extreme{"forward that panics", "task logistic: Task.Forward: runtime error: index out of range [7]"}, iid,
			forward(func(p []*graph.Node, _ *graph.Node) *graph.Node { return p[7] })},
		{extreme{"inputs as outputs", "task logistic: invalid: Task.Forward = (Float32)[2, 3, 8, 8, 1]: must be (Float32)[2, 3, 10]"}, iid,
			forward(func(_ []*graph.Node, x *graph.Node) *graph.Node { return x })},
		{extreme{"loss by client", "task logistic: invalid: Task.Loss = (Float32)[2]: must be (Float32)[2, 3] for 2 clients"}, iid,
			task(func(t *fedkit.Task) {
				t.Loss = func(out, y *graph.Node) *graph.Node { return graph.ReduceMean(loss.CrossEntropy(out, y), 1) }
			})},
		{extreme{"accuracy by client", "task logistic: invalid: Task.Accuracy = (Float32)[2]: must be (Float32)[2, 3] for 2 clients"}, iid,
			task(func(t *fedkit.Task) {
				t.Accuracy = func(out, y *graph.Node) *graph.Node { return graph.ReduceMean(loss.Correct(out, y), 1) }
			})},
	} {
		c.holds(t, func() error {
			_, err := fedkit.New(datasets.Digits(), c.rule, c.model)
			return err
		})
	}
}

// 24,000 models of ten million parameters are more than any machine holds; one of them is not.
func TestModelsByClientAreEstimated(t *testing.T) {
	const clients, features = 24000, 64
	part := datasets.Split{Floats: make([]float32, clients*features), Labels: make([]int32, clients)}
	part.Labels[0] = 1
	d := &datasets.Dataset{Name: "zeros", Shape: []int{features}, Classes: 10, Train: part, Test: part}
	var given partition.Given
	for i := range clients {
		given = append(given, partition.Client{Train: []int{i}, Test: []int{i}})
	}
	fed := expect.Value(fedkit.New(d, given, model.MLP(1<<17)))(t)
	for _, c := range []struct {
		extreme
		s fedkit.Strategy
	}{
		{extreme{"FedAvg", "clients per round = 24000: must be at most "}, &strategy.FedAvg{}},
		{extreme{"FedRep", "clients = 24000: must be at most "}, &strategy.FedRep{}},
		{extreme{"LocalOnly", "clients = 24000: must be at most "}, &strategy.LocalOnly{Fraction: 0.0001}},
		{extreme{"SCAFFOLD", "clients = 24000: must be at most "}, &strategy.SCAFFOLD{Fraction: 0.0001}},
	} {
		c.holds(t, func() error {
			_, err := fedkit.Run(context.Background(), fed, c.s, fedkit.Options{Rounds: 1})
			return err
		})
	}
}
