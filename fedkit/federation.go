package fedkit

import (
	"fmt"
	"os"
	"sync"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/sim"
)

// Federation is what a strategy runs on: M clients, each holding rows of one data set, and the task they learn. The data is
// put on the device once, at the first run. So Run refuses a federation whose data, clients or task were changed after it was
// made.
type Federation struct {
	Data    *datasets.Dataset  // whose rows the clients hold
	Rule    string             // description of the partition, hold-out, devices and interceptors
	Clients []partition.Client // [M]
	Task    *Task              // model, loss and accuracy
	Devices []sim.Device       // [M], see On; nil for runs without a clock
	Unseen  *Federation        // hold-out clients, see HoldOut; nil if there are none

	number       []int // by client, its number in the engine; nil: the same
	rule         partition.Rule
	deviceRule   sim.Rule
	manifest     func() partition.Manifest
	origin       *origin
	interceptors []Interceptor
	lazy         *lazyEngine
}

// lazyEngine makes the engine at first use. Its compiled programs serve every run on the federation and on those that Intercept,
// On and HoldOut derive from it.
type lazyEngine struct {
	mu sync.Mutex
	*engine.Engine
	rows [][]int // by the engine's client, its training rows

	first string           // memoized hash of the task's initial parameters
	texts map[int][32]byte // by batch size, memoized hash of the task's StableHLO
}

func newLazyEngine(rows [][]int) *lazyEngine {
	return &lazyEngine{rows: rows, texts: map[int][32]byte{}}
}

// trainRows returns the training rows of each client.
func trainRows(clients []partition.Client) [][]int {
	rows := make([][]int, len(clients))
	for i := range rows {
		rows[i] = clients[i].Train
	}
	return rows
}

// engine returns the engine for the federation's data and task.
func (f *Federation) engine() (*engine.Engine, error) {
	f.lazy.mu.Lock()
	defer f.lazy.mu.Unlock()
	if f.lazy.Engine != nil {
		return f.lazy.Engine, nil
	}
	e, err := engine.New(f.Task.forEngine(), f.Data, f.lazy.rows)
	if err == nil {
		f.lazy.Engine = e
	}
	return e, err
}

// New partitions the data by the rule and makes the model's task for it. Errors: a rule that cannot be met, a client without
// training or test rows, a model that does not fit the data, whose graphs cannot be built, or whose output for an example depends
// on other examples, as with batch normalization.
func New(data *datasets.Dataset, rule partition.Rule, model Model) (*Federation, error) {
	if err := data.Check(); err != nil {
		return nil, err
	}
	if rule == nil {
		return nil, Invalid("rule", "nil", "a partition.Rule")
	}
	if err := checkNils("rule", rule); err != nil {
		return nil, err
	}
	if model == nil {
		return nil, Invalid("model", "nil", "a fedkit.Model")
	}
	deal, words, err := dealOut(rule, data)
	if err != nil {
		return nil, err
	}
	if err := deal.Check(); err != nil {
		return nil, err
	}
	task, err := makeTask(model, deal.Data)
	if err != nil {
		return nil, err
	}
	return &Federation{Data: deal.Data, Rule: words, Clients: deal.Clients, Task: task, rule: rule,
		manifest: manifest(deal, rule), origin: originOf(deal.Data, deal.Clients, task), lazy: newLazyEngine(trainRows(deal.Clients))}, nil
}

// dealOut asks a rule for its deal and its description.
func dealOut(rule partition.Rule, data *datasets.Dataset) (deal *partition.Deal, words string, err error) {
	defer fault.Recovered("rule", &err)
	if deal, err = rule.Deal(data); err != nil {
		return nil, "", err
	}
	return deal, rule.String(), nil
}

// makeTask asks a model for its task, and checks that it can be trained on the data.
func makeTask(model Model, data *datasets.Dataset) (task *Task, err error) {
	defer fault.Recovered("model", &err)
	defer reportSlow("the model is compiled, to see that it can be trained")()
	if task, err = model(data); err != nil {
		return nil, err
	}
	if task == nil {
		return nil, Invalid("model", "a function that returns a nil *fedkit.Task", "one that returns a task or an error")
	}
	if err := task.fitsModel(); err != nil {
		return nil, err
	}
	usual := task.Loss == nil
	task.complete(data)
	if err := task.check(); err != nil {
		return nil, err
	}
	if err := task.try(data, usual); err != nil {
		return nil, err
	}
	return task, task.checkIndependence(data)
}

// reportSlow reports on standard error what takes more than a second, and how long it took.
func reportSlow(what string) (over func()) {
	begin := time.Now()
	says := time.AfterFunc(time.Second, func() { fmt.Fprintf(os.Stderr, "fedkit: %s …\n", what) })
	return func() {
		if !says.Stop() {
			fmt.Fprintf(os.Stderr, "fedkit: %s: %.1f s\n", what, time.Since(begin).Seconds())
		}
	}
}

// manifest returns the memoized manifest of a deal.
func manifest(deal *partition.Deal, rule partition.Rule) func() partition.Manifest {
	return sync.OnceValue(func() partition.Manifest { return deal.Manifest(rule) })
}

// Manifest identifies the clients' data by hashes; histories keep it. It is empty for a federation that was not made by New.
func (f *Federation) Manifest() partition.Manifest {
	if f == nil || f.manifest == nil {
		return partition.Manifest{}
	}
	return f.manifest()
}

// made refuses a federation that New did not make: nil, or a literal.
func (f *Federation) made() error {
	if f == nil || f.lazy == nil {
		return Invalid("federation", f, "made by fedkit.New")
	}
	return nil
}

// Size returns M, the number of clients.
func (f *Federation) Size() int {
	if f == nil {
		return 0
	}
	return len(f.Clients)
}

// String names the data set, the partition and the task.
func (f *Federation) String() string {
	if f == nil || f.Data == nil || f.Task == nil {
		return "nil"
	}
	return fmt.Sprintf("%s: %s; %s", f.Data.Name, f.Rule, f.Task)
}
