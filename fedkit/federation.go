package fedkit

import (
	"fmt"
	"sync"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
)

// Federation is the world a strategy runs in: M clients, each holding rows of one data set, and the task they learn. The
// data is put on the device once, at the first run.
type Federation struct {
	Data    *datasets.Dataset
	Rule    string             // how the data was dealt out, in words
	Clients []partition.Client // [M]
	Task    *Task

	rule         partition.Rule
	manifest     func() partition.Manifest
	interceptors []Interceptor
	engine       *lazyEngine
}

// lazyEngine is the engine of this process, made once: the programs it compiled serve every run on the federation.
type lazyEngine struct {
	mu sync.Mutex
	*local
}

// New deals the data out by the rule and makes the model's task for it. It fails before anything runs if the rule cannot
// be met, a client would have no training or no test row, or the model does not fit the data.
func New(data *datasets.Dataset, rule partition.Rule, model Model) (*Federation, error) {
	if err := data.Check(); err != nil {
		return nil, err
	}
	if rule == nil {
		return nil, Invalid("rule", "nil", "a partition.Rule")
	}
	if model == nil {
		return nil, Invalid("model", "nil", "a fedkit.Model")
	}
	deal, err := rule.Deal(data)
	if err != nil {
		return nil, err
	}
	if deal.Data != data {
		if err := deal.Data.Check(); err != nil {
			return nil, err
		}
	}
	if err := deal.Check(); err != nil {
		return nil, err
	}
	task, err := model(deal.Data)
	if err != nil {
		return nil, err
	}
	task.complete(deal.Data)
	if err := task.check(); err != nil {
		return nil, err
	}
	return &Federation{Data: deal.Data, Rule: rule.String(), Clients: deal.Clients, Task: task, rule: rule,
		manifest: manifest(deal, rule), engine: new(lazyEngine)}, nil
}

// manifest is the deal's, worked out when it is first asked for.
func manifest(deal *partition.Deal, rule partition.Rule) func() partition.Manifest {
	return sync.OnceValue(func() partition.Manifest { return deal.Manifest(rule) })
}

// Manifest says exactly what data the clients have, by hashes; histories keep it. It is empty for a federation that was
// not made by New.
func (f *Federation) Manifest() partition.Manifest {
	if f.manifest == nil {
		return partition.Manifest{}
	}
	return f.manifest()
}

// Size returns M, the number of clients.
func (f *Federation) Size() int { return len(f.Clients) }

func (f *Federation) part(p Part) *datasets.Split {
	if p == TestPart {
		return &f.Data.Test
	}
	return &f.Data.Train
}

func (f *Federation) rows(p Part, client int) []int {
	if p == TestPart {
		return f.Clients[client].Test
	}
	return f.Clients[client].Train
}

// local returns the engine, making it at first use.
func (f *Federation) local(workers int) (*local, error) {
	f.engine.mu.Lock()
	defer f.engine.mu.Unlock()
	if f.engine.local == nil {
		e, err := newLocal(f)
		if err != nil {
			return nil, err
		}
		f.engine.local = e
	}
	return f.engine.withWorkers(workers), nil
}

func (f *Federation) String() string {
	if f == nil || f.Data == nil {
		return "nil"
	}
	return fmt.Sprintf("%s: %s; %s", f.Data.Name, f.Rule, f.Task)
}
