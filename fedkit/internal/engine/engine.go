// Package engine solves the local problems of clients and evaluates models. It plans which clients share a program,
// compiles the programs, and runs them on a device. It knows tensors, the rows of a data set and graph functions; it does
// not know rounds, strategies or histories.
package engine

import (
	"context"
	"sync"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/lru"
	"fedkit.example/fedkit/internal/memory"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/tensors"
	"golang.org/x/sync/errgroup"
)

// Engine holds a data set on a device, and the programs compiled for it.
type Engine struct {
	task  Task
	data  *datasets.Dataset
	rows  [][]int // by client, its training rows
	width Width
	held  [2]held // by part
	free  float64 // bytes, when the engine was made

	// work returns a forward pass's work per example. Convolutions of several clients run one after the other, so large ones gain nothing
	// from sharing a program.
	work func() xla.Work

	programs *lru.Cache[design, *xla.Program]
	apart    *sync.Map // the designs that have passed: see once
}

// maxPrograms bounds the LRU cache of an engine's programs. A run has about ten; a study that varies batch sizes or solvers on
// one federation has a few for each.
const maxPrograms = 512

// held is one split of the data set, on the device.
type held struct {
	features *tensors.Tensor // [N, f]
	labels   *tensors.Tensor // or targets, [N] or [N, t]
}

// New returns the engine for clients that hold these training rows of the data.
func New(task Task, data *datasets.Dataset, rows [][]int) (*Engine, error) {
	e := newEngine(task, data, rows)
	for part, s := range []*datasets.Split{&data.Train, &data.Test} {
		var err error
		if e.held[part], err = hold(data, s); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// newEngine returns an engine that has no data yet.
func newEngine(task Task, data *datasets.Dataset, rows [][]int) *Engine {
	e := &Engine{task: task, data: data, rows: rows, width: ownWidth(), free: memory.Available(), programs: lru.New[design, *xla.Program](maxPrograms), apart: new(sync.Map)}
	e.work = sync.OnceValue(func() (w xla.Work) {
		two, err := task.Work(data, 2)
		one, _ := task.Work(data, 1)
		if err != nil {
			return w // the error is reported when the program itself is built
		}
		return xla.Work{Convolutions: two.Convolutions / 2, Values: two.Values - one.Values, Loops: two.Loops}
	})
	return e
}

// SideBySide returns how many clients with these training rows one program trains at most, and the bytes that it takes for each, or
// what their evaluation takes if that is more, with as few examples in a batch as there can be.
func SideBySide(task Task, data *datasets.Dataset, rows [][]int) (lanes, perLane float64) {
	e, job := newEngine(task, data, rows), &Job{Batch: 1}
	n := share(max(1, len(rows)), e.Lanes(job))
	evaluated := 1
	if e.parallel() {
		evaluated = e.blocks(fewBlocks, 0)
	}
	return float64(n), max(float64(e.perLane(job)), float64(evaluated)*float64(e.lane(modelsPerBlock, 0))/float64(n))
}

func hold(d *datasets.Dataset, s *datasets.Split) (h held, err error) {
	features := d.Features()
	if s.Bytes != nil {
		h.features, err = xla.Upload(s.Bytes, s.Len(), features)
	} else {
		h.features, err = xla.Upload(s.Floats, s.Len(), features)
	}
	if err != nil {
		return h, err
	}
	if s.Labels != nil {
		h.labels, err = xla.Upload(s.Labels, d.TruthShape(s.Len())...)
	} else {
		h.labels, err = xla.Upload(s.Targets, d.TruthShape(s.Len())...)
	}
	return h, err
}

// WithWidth returns an engine on the same data whose programs have width w.
func (e *Engine) WithWidth(w Width) *Engine {
	return &Engine{task: e.task, data: e.data, rows: e.rows, width: w, held: e.held, free: e.free, work: e.work, programs: lru.New[design, *xla.Program](maxPrograms), apart: new(sync.Map)}
}

// WithRows returns an engine on the same data, with the same programs, for clients that hold these training rows.
func (e *Engine) WithRows(rows [][]int) *Engine {
	other := *e
	other.rows = rows
	return &other
}

// patience is the grace period for calls in flight after cancellation. A notebook kills its program five seconds after its stop
// button; the result of the call is lost either way.
const patience = 2 * time.Second

// parallel runs work(0), …, work(n−1), at most workers at once, and returns the first error by index. After cancellation it
// starts no more, and abandons those in flight once patience is over.
func parallel(ctx context.Context, workers, n int, work func(i int) error) error {
	done := make(chan error, 1)
	go func() { done <- all(ctx, workers, n, work) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return ctx.Err()
	}
}

func all(ctx context.Context, workers, n int, work func(i int) error) error {
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(max(1, workers))
	for i := range n {
		if errs[i] = ctx.Err(); errs[i] != nil {
			break
		}
		group.Go(func() error {
			errs[i] = work(i)
			return nil
		})
	}
	_ = group.Wait() // always nil: errs keeps the errors by index, so that the first does not depend on scheduling
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
