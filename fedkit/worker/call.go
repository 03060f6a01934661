package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"weak"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

const (
	whole        = 1 << 40   // bytes of results if all return
	collectAfter = 192 << 20 // bytes that a worker may keep more before the garbage collector is run: it sees only small handles
	mostLost     = 3         // workers that a call may cost
)

// small is how many bytes of results return with the answer; larger ones stay with the worker. Tests change it.
var small = 32 << 10

// device is the workers as a run sees them.
type device struct {
	*Workers
	ctx context.Context // until the run is over
}

// Concurrency implements engine.Device: each worker makes one call ready while it runs others.
func (d *device) Concurrency() int { return d.Workers.Concurrency() + len(d.all) }

// Remote implements engine.Device.
func (d *device) Remote() bool { return true }

// Run implements engine.Device: it runs the program on a free worker.
func (d *device) Run(ctx context.Context, p *xla.Program, arguments []any) ([]engine.Value, error) {
	c, err := d.call(p, nil, arguments, small)
	if err != nil {
		return nil, err
	}
	a, err := c.do(ctx)
	if err != nil {
		return nil, err
	}
	return c.results(a)
}

// call is a call of a program, until nobody needs its results any more.
type call struct {
	*device
	request
	program *xla.Program
	again   sync.Mutex // one repetition at a time
	at      *process   // keeps the results
}

// call prepares a call. The first argument, unless nil, is a result that a worker keeps.
func (d *device) call(p *xla.Program, first *kept, arguments []any, back int) (*call, error) {
	c := &call{device: d, program: p, request: request{frame: &frame{ID: d.calls.Add(1), Back: back}}}
	var list []shapes.Shape
	if first != nil {
		list = append(list, first.shape)
		c.add(first.shape, part{Name: first.name()})
	}
	for _, a := range arguments {
		shape, err := c.argument(a)
		if err != nil {
			return nil, fmt.Errorf("worker: %w", err)
		}
		list = append(list, shape)
	}
	source, err := p.Source(list)
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	for _, t := range p.Side() {
		if _, err := c.argument(t); err != nil {
			return nil, fmt.Errorf("worker: %w", err)
		}
	}
	c.frame.Program = source.Hash
	c.objects = append(c.objects, object{source.Hash, func() ([]byte, error) { return source.Text, nil }})
	for _, s := range source.Results {
		c.want = append(c.want, result{Type: dtype(s.DType), Dims: s.Dimensions})
	}
	c.size = keep(c.want, back)
	return c, nil
}

// add adds an argument to the frame.
func (c *call) add(s shapes.Shape, parts ...part) {
	c.frame.Args = append(c.frame.Args, arg{dtype(s.DType), slices.Clone(s.Dimensions), parts})
}

// argument adds an argument: one on the device is sent once, any other with the frame.
func (c *call) argument(a any) (shape shapes.Shape, err error) {
	t, known := a.(*tensors.Tensor)
	if rows, are := a.(engine.Rows); are {
		return c.rows(rows)
	}
	if !known {
		if t, err = tensors.FromAnyValue(a); err != nil {
			return shape, err
		}
	}
	if known && t.IsOnAnyDevice() {
		name := c.valueOf(t).name
		c.objects = append(c.objects, object{name, func() ([]byte, error) { return xla.HostBytes(t) }})
		c.add(t.Shape(), part{Name: name})
		return t.Shape(), nil
	}
	b, err := xla.HostBytes(t)
	c.frame.bytes = append(c.frame.bytes, b)
	c.add(t.Shape(), part{Size: len(b)})
	return t.Shape(), err
}

// rows adds rows of a matrix, and sends equal ones once.
func (c *call) rows(r engine.Rows) (shapes.Shape, error) {
	shape := r.Of.Shape().Clone()
	shape.Dimensions[0] = len(r.At)
	data, err := c.valueOf(r.Of).data()
	if err != nil {
		return shape, err
	}
	size, seen, parts := len(data)/r.Of.Shape().Dim(0), map[string]int{}, make([]part, len(r.At))
	for i, at := range r.At {
		row := data[at*size : (at+1)*size]
		if parts[i].Like = seen[string(row)]; parts[i].Like == 0 {
			parts[i].Size, seen[string(row)] = size, i+1
			c.frame.bytes = append(c.frame.bytes, row)
		}
	}
	c.add(shape, parts...)
	return shape, nil
}

// do gives the call to one worker after the other until one has answered; the last is this process.
func (c *call) do(ctx context.Context) (answer, error) {
	return c.try(ctx, func() (*process, error) { return c.take(ctx) }, func(p *process) {
		c.at = p
		c.seats <- p
	})
}

// trial admits calls of a new program one at a time, until one was answered: a program that brings workers down costs no more of them
// than one call does.
type trial struct {
	alone chan struct{} // a token for the one call that is admitted; closed at the end
	err   error         // at the end, why the program is not run again
}

// try asks the workers that at returns, until one has answered or too many were lost: this process is not the next to try it.
func (c *call) try(ctx context.Context, at func() (*process, error), asked func(*process)) (a answer, err error) {
	t := &trial{alone: make(chan struct{}, 1)}
	t.alone <- struct{}{}
	v, _ := c.tried.LoadOrStore(c.frame.Program, t)
	t = v.(*trial)
	first, most := false, mostLost
	select {
	case _, first = <-t.alone:
	case <-ctx.Done():
		return a, ctx.Err()
	}
	switch {
	case t.err != nil:
		return a, t.err
	case first:
		if len(c.all) > 1 {
			most = min(most, len(c.all))
		}
		defer func() {
			if err == nil || t.err != nil {
				close(t.alone)
			} else {
				t.alone <- struct{}{}
			}
		}()
	}
	for lost := []string(nil); ; {
		p, err := at()
		if err != nil {
			return a, err
		}
		if first {
			p.trying.Add(1)
		}
		a, err = p.ask(ctx, &c.request)
		asked(p)
		if first && !errors.Is(err, errLost) {
			p.trying.Add(-1)
		}
		switch {
		case err == nil:
			return a, nil
		case !errors.Is(err, errLost):
			return a, fmt.Errorf("worker: %v: %w", c.program, err)
		case errors.Is(err, errClosed), !first && p.trying.Load() > 0: // a new program is blamed
			continue
		}
		if lost = append(lost, err.Error()); len(lost) >= most {
			err = fmt.Errorf("worker: %v: %d workers were lost while they had it, so it may bring them down: %s", c.program, most, strings.Join(lost, "; "))
			if first {
				t.err = err
			}
			return a, err
		}
	}
}

// results returns tensors for what came with the answer, and handles for what the worker keeps.
func (c *call) results(a answer) (values []engine.Value, err error) {
	for i, r := range a.Results {
		if r.Kept {
			values = append(values, c.keep(i))
			continue
		}
		n := xla.Bytes(dtypes.DType(r.Type), r.Dims)
		t, err := xla.FromBytes(a.data[:n], dtypes.DType(r.Type), r.Dims)
		if err != nil {
			return nil, fmt.Errorf("worker: %w", err)
		}
		a.data = a.data[n:]
		values = append(values, engine.Values([]*tensors.Tensor{t})...)
	}
	return values, nil
}

// take waits for a worker that has room for a call. Its seat is to be given back.
func (w *Workers) take(ctx context.Context) (*process, error) {
	for {
		if w.left.Load() == 0 {
			if err := w.join(); err != nil {
				select {
				case w.seats <- w.all[0]: // others wait too
				default:
				}
				return nil, err
			}
		}
		select {
		case p := <-w.seats:
			if p.ctx.Err() == nil {
				return p, nil
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// drop lets all workers forget what no longer is.
func (w *Workers) drop(name string) {
	for _, p := range append(w.all[:len(w.all):len(w.all)], w.joined.Load()) {
		if p != nil {
			p.drop(name)
		}
	}
}

// value is what workers call a tensor, and its bytes, of which each call needs some rows.
type value struct {
	name string
	data func() ([]byte, error)
}

// valueOf returns that of a tensor, which never changes.
func (w *Workers) valueOf(t *tensors.Tensor) *value {
	key := weak.Make(t)
	made := &value{fmt.Sprint("tensor ", w.calls.Add(1)), sync.OnceValues(func() ([]byte, error) { return xla.HostBytes(key.Value()) })}
	v, known := w.values.LoadOrStore(key, made)
	if !known {
		runtime.AddCleanup(t, func(name string) {
			w.values.Delete(key)
			w.drop(name)
		}, made.name)
	}
	return v.(*value)
}

// kept is a result that a worker keeps. If the worker is lost, the call runs again.
type kept struct {
	*call
	index int
	shape shapes.Shape

	mu    sync.Mutex
	value engine.Value // nil until it is fetched
}

// keep returns a result that the worker keeps until it is freed, fetched or garbage.
func (c *call) keep(i int) *kept {
	k := &kept{call: c, index: i, shape: shapes.Make(dtypes.DType(c.want[i].Type), c.want[i].Dims...)}
	runtime.AddCleanup(k, c.Workers.drop, k.name())
	if c.kept.Add(int64(k.shape.ByteSize())) > int64(max(1, c.Workers.Concurrency()))*collectAfter {
		c.kept.Store(0)
		runtime.GC()
	}
	return k
}

func (k *kept) name() string { return resultName(k.frame.ID, k.index) }

// Dims implements engine.Value.
func (k *kept) Dims() []int { return k.shape.Dimensions }

// Free implements engine.Value.
func (k *kept) Free() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.value != nil {
		k.value.Free()
	}
	k.drop(k.name())
}

// fetch returns its argument.
var fetch = xla.NewProgram("fetch", func(a []*graph.Node) []*graph.Node { return []*graph.Node{graph.Identity(a[0])} })

// Tensor implements engine.Value.
func (k *kept) Tensor() (*tensors.Tensor, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.value == nil {
		values, err := k.then(fetch)
		if err != nil {
			return nil, err
		}
		k.value = values[0]
		k.drop(k.name())
	}
	return k.value.Tensor()
}

// Then implements engine.Value. All results are fetched.
func (k *kept) Then(p *xla.Program, arguments ...any) ([]engine.Value, error) {
	k.mu.Lock()
	value := k.value
	k.mu.Unlock()
	if value != nil {
		return value.Then(p, arguments...)
	}
	return k.then(p, arguments...)
}

// then runs a program where the result is. If its worker is lost, the call is repeated first, by another or here.
func (k *kept) then(p *xla.Program, arguments ...any) ([]engine.Value, error) {
	defer runtime.KeepAlive(k)
	c, err := k.device.call(p, k, arguments, whole)
	if err != nil {
		return nil, err
	}
	a, err := c.try(k.ctx, k.holder, func(*process) {})
	if err != nil {
		return nil, err
	}
	return c.results(a)
}

// holder returns the worker that keeps the call's results. If it is lost, the call is repeated first.
func (c *call) holder() (*process, error) {
	c.again.Lock()
	defer c.again.Unlock()
	if c.at.ctx.Err() != nil {
		if _, err := c.do(c.ctx); err != nil {
			return nil, err
		}
	}
	return c.at, nil
}
