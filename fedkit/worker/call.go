package worker

import (
	"cmp"
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
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

const (
	whole        = 1 << 40   // bytes of results if all return
	collectAfter = 192 << 20 // bytes that a worker may keep more before the garbage collector is run: it sees only small handles
	mostLost     = 3         // workers that a new program may cost
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
	c, err := d.call(p, arguments, small)
	if err != nil {
		return nil, err
	}
	return c.results(c.do(ctx))
}

// call is a call of a program, until its results are no longer needed.
type call struct {
	*device
	request
	program *xla.Program
	shapes  []shapes.Shape // of the arguments
	want    []shapes.Shape // of the results
	again   sync.Mutex     // one repetition at a time
	at      *process       // keeps the results
}

// call prepares a call. Results of up to back bytes in all come with the answer, and the worker keeps the others.
func (d *device) call(p *xla.Program, arguments []any, back int) (*call, error) {
	c := &call{device: d, program: p, request: request{frame: &frame{ID: d.calls.Add(1)}}}
	for _, a := range arguments {
		if err := c.argument(a); err != nil {
			return nil, fmt.Errorf("worker: %w", err)
		}
	}
	source, err := p.Source(c.shapes)
	for _, t := range p.Side() {
		err = cmp.Or(err, c.argument(t))
	}
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	c.frame.Program = source.Hash
	c.objects = append(c.objects, object{source.Hash, func() ([]byte, error) { return source.Text, nil }})
	c.want = source.Results
	for i, s := range c.want {
		if n := int(s.ByteSize()); n > back-c.size {
			c.frame.Keep = append(c.frame.Keep, i)
		} else {
			c.size += n
		}
	}
	return c, nil
}

// add adds an argument to the frame.
func (c *call) add(s shapes.Shape, parts ...part) {
	c.shapes = append(c.shapes, s)
	c.frame.Args = append(c.frame.Args, arg{s.DType, slices.Clone(s.Dimensions), parts})
}

// argument adds an argument: one on the device is sent once, any other with the frame, unless it is a result that the worker keeps.
func (c *call) argument(a any) (err error) {
	switch a := a.(type) {
	case engine.Rows:
		return c.rows(a)
	case *kept:
		c.add(a.shape, part{Name: a.name()})
		return nil
	}
	t, known := a.(*tensors.Tensor)
	if known && t.IsOnAnyDevice() {
		name := c.valueOf(t).name
		c.objects = append(c.objects, object{name, func() ([]byte, error) { return xla.HostBytes(t) }})
		c.add(t.Shape(), part{Name: name})
		return nil
	}
	if !known {
		if t, err = tensors.FromAnyValue(a); err != nil {
			return err
		}
	}
	b, err := xla.HostBytes(t)
	c.frame.bytes = append(c.frame.bytes, b)
	c.add(t.Shape(), part{Size: len(b)})
	return err
}

// rows adds rows of a matrix, and sends equal ones once.
func (c *call) rows(r engine.Rows) error {
	data, err := c.valueOf(r.Of).data()
	if err != nil {
		return err
	}
	shape, parts := r.Of.Shape().Clone(), make([]part, len(r.At))
	size, seen := len(data)/shape.Dim(0), map[string]int{}
	for i, at := range r.At {
		row := data[at*size : (at+1)*size]
		if parts[i].Like = seen[string(row)]; parts[i].Like == 0 {
			parts[i].Size, seen[string(row)] = size, i+1
			c.frame.bytes = append(c.frame.bytes, row)
		}
	}
	shape.Dimensions[0] = len(r.At)
	c.add(shape, parts...)
	return nil
}

// do gives the call to one worker after the other until one has answered; the last is this process.
func (c *call) do(ctx context.Context) (data []byte, err error) {
	return c.try(ctx, func() (p *process, err error) {
		if p, err = c.take(ctx); err == nil {
			c.at = p
		}
		return p, err
	})
}

// trial is what is known of a program. Until one of its calls was answered, they go one at a time: a program that brings workers down
// costs no more of them than one call does.
type trial struct {
	turn  chan struct{} // full while a call has it
	known bool          // a call was answered
	err   error         // why the program is not run again
}

// admit waits until a call may go. If its program is not known yet, the call has the turn.
func (c *call) admit(ctx context.Context) (t *trial, first bool, err error) {
	is, _ := c.trials.LoadOrStore(c.frame.Program, &trial{turn: make(chan struct{}, 1)})
	t = is.(*trial)
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	if t.known || t.err != nil {
		<-t.turn
		return t, false, t.err
	}
	return t, true, nil
}

// try asks the workers that at returns, until one has answered or too many were lost: this process is not the next to try it.
func (c *call) try(ctx context.Context, at func() (*process, error)) (data []byte, err error) {
	t, first, err := c.admit(ctx)
	if err != nil {
		return nil, err
	}
	most, blame := 2*mostLost, error(nil) // half of them may be lost to a new program of another call
	if first {
		most = min(mostLost, max(2, len(c.all)))
		defer func() {
			t.known, t.err = err == nil, blame
			<-t.turn
		}()
	}
	var lost []string
	for len(lost) < most {
		p, err := at()
		if err != nil {
			return nil, err
		}
		data, err := p.ask(ctx, &c.request)
		c.change(func() { p.given-- })
		switch {
		case err == nil:
			return data, nil
		case !errors.Is(err, errLost):
			return nil, fmt.Errorf("worker: %v: %w", c.program, err)
		case !errors.Is(err, errClosed):
			lost = append(lost, err.Error())
		}
	}
	blame = fmt.Errorf("worker: %v: %d workers were lost while they had it, so it may bring them down: %s", c.program, most, strings.Join(lost, "; "))
	return nil, blame
}

// results returns tensors for what came with the answer, and handles for what the worker keeps.
func (c *call) results(data []byte, failed error) (values []engine.Value, err error) {
	if failed != nil {
		return nil, failed
	}
	for i, s := range c.want {
		if slices.Contains(c.frame.Keep, i) {
			values = append(values, c.keep(i))
			continue
		}
		n := s.ByteSize()
		t, err := xla.FromBytes(data[:n], s.DType, s.Dimensions)
		if err != nil {
			return nil, fmt.Errorf("worker: %w", err)
		}
		data = data[n:]
		values = append(values, engine.Values([]*tensors.Tensor{t})...)
	}
	return values, nil
}

// drop lets all workers forget what no longer is.
func (w *Workers) drop(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range slices.Concat(w.all, w.self) {
		p.drop(name)
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
	k := &kept{call: c, index: i, shape: c.want[i]}
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
	c, err := k.device.call(p, append([]any{k}, arguments...), whole)
	if err != nil {
		return nil, err
	}
	return c.results(c.try(k.ctx, k.holder))
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
	c.change(func() { c.at.given++ })
	return c.at, nil
}
