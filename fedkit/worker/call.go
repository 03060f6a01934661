package worker

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"strings"
	"sync"
	"weak"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
)

const (
	small = 32 << 10 // bytes of results that return with the answer; larger ones stay with the worker
	tiny  = 2 << 10  // bytes of an argument that is sent with every call, not once
	every = 1 << 40  // bytes of results if all return
)

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
		return nil, fmt.Errorf("worker: %w", err)
	}
	return c.do(ctx)
}

// call is a call of a program, until nobody needs its results any more.
type call struct {
	*device
	program   *xla.Program
	arguments []any // as given, for this process
	name      string
	frame     frame
	objects   []object
	want      []result

	again sync.Mutex     // one repetition at a time
	at    *process       // keeps the results
	here  []engine.Value // the results, if this process has computed them
}

// object is what workers are sent once.
type object struct {
	name  string
	size  int
	bytes func() ([]byte, error)
}

// call prepares a call. The first argument, unless nil, is a result that a worker keeps.
func (d *device) call(p *xla.Program, first *kept, arguments []any, back int) (*call, error) {
	c := &call{device: d, program: p, arguments: arguments}
	c.frame.ID, c.frame.Back = d.calls.Add(1), back
	var list []shapes.Shape
	if first != nil {
		list = append(list, shapes.Make(first.dtype, first.dims...))
		c.argument(list[0])
		c.part(part{Name: first.name(), Size: xla.Bytes(first.dtype, first.dims)})
	}
	for _, a := range arguments {
		shape, err := c.add(a)
		if err != nil {
			return nil, err
		}
		list = append(list, shape)
	}
	source, err := p.Source(list)
	if err != nil {
		return nil, err
	}
	for _, t := range p.Side() {
		if _, err := c.add(t); err != nil {
			return nil, err
		}
	}
	c.frame.Program, c.name = source.Hash, source.Name
	c.want = resultsOf(source.Results, back)
	c.objects = append(c.objects, object{source.Hash, len(source.Text), func() ([]byte, error) { return source.Text, nil }})
	return c, nil
}

// add adds an argument, and returns its shape.
func (c *call) add(a any) (shape shapes.Shape, err error) {
	t, known := a.(*tensors.Tensor)
	switch a := a.(type) {
	case engine.Rows:
		shape = a.Of.Shape().Clone()
		shape.Dimensions[0] = len(a.At)
		c.argument(shape)
		return shape, c.rows(a)
	case engine.Inline:
		t = a.Tensor
	default:
		if !known {
			if t, err = tensors.FromAnyValue(a); err != nil {
				return shape, err
			}
		}
	}
	c.argument(t.Shape())
	if known && t.IsOnAnyDevice() && int(t.ByteSize()) > tiny {
		name, err := c.sumsOf(t).whole()
		c.object(object{name, int(t.ByteSize()), func() ([]byte, error) { return xla.HostBytes(t) }})
		return t.Shape(), err
	}
	b, err := xla.HostBytes(t)
	c.inline(b)
	return t.Shape(), err
}

// rows adds rows of a matrix: a row that occurs once is sent with the call, since no other call reads it; any other is an object.
func (c *call) rows(r engine.Rows) error {
	s := c.sumsOf(r.Of)
	names, err := s.rows()
	if err != nil {
		return err
	}
	var own []byte
	for _, i := range r.At {
		row := s.row(i)
		if names[i] == "" {
			own = append(own, row...)
			continue
		}
		c.inline(own)
		own = nil
		c.object(object{names[i], len(row), func() ([]byte, error) { return row, nil }})
	}
	c.inline(own)
	return nil
}

// argument begins an argument.
func (c *call) argument(s shapes.Shape) {
	c.frame.Args = append(c.frame.Args, arg{Type: s.DType, Dims: slices.Clone(s.Dimensions)})
}

func (c *call) inline(b []byte) {
	if data := trim(b); len(b) > 0 {
		c.part(part{Size: len(b), Sent: len(data)})
		c.frame.bytes = append(c.frame.bytes, data)
	}
}

func (c *call) object(o object) {
	c.objects = append(c.objects, o)
	c.part(part{Name: o.name, Size: o.size})
}

func (c *call) part(p part) {
	a := &c.frame.Args[len(c.frame.Args)-1]
	a.Parts = append(a.Parts, p)
}

// mostLost is how many workers a call may cost.
const mostLost = 3

// do gives the call to one worker after the other until one has answered, or to this process once there is none.
func (c *call) do(ctx context.Context) (values []engine.Value, err error) {
	done, known, err := c.tried(ctx, c.frame.Program)
	if err != nil {
		return nil, err
	}
	defer func() { done(err) }()
	most := mostLost
	if n := len(c.all); !known && n > 1 { // this process is not the next one to try it
		most = min(n, most)
	}
	for lost := []string(nil); ; {
		p, err := c.take(ctx)
		if err != nil {
			return nil, err
		}
		if p == nil {
			return c.doHere(ctx)
		}
		h, data, err := p.ask(ctx, c.frame, c.want, c.objects)
		c.give(p)
		switch {
		case err == nil:
			c.at, c.here = p, nil
			return c.values(h, data)
		case !errors.Is(err, errLost):
			return nil, fmt.Errorf("worker: program %q: %w", c.name, err)
		}
		if lost = append(lost, err.Error()); len(lost) == most && !errors.Is(err, errClosed) {
			return nil, fmt.Errorf("worker: program %q: %d workers were lost while they had it, so it may bring them down: %s", c.name, most, strings.Join(lost, "; "))
		}
	}
}

// doHere runs the call in this process, if that may go on.
func (c *call) doHere(ctx context.Context) (values []engine.Value, err error) {
	if err := c.mayGoOn(); err != nil {
		return nil, err
	}
	select {
	case c.Workers.here <- struct{}{}:
		defer func() { <-c.Workers.here }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	arguments := slices.Clone(c.arguments)
	for i, a := range arguments {
		switch a := a.(type) {
		case engine.Inline:
			arguments[i] = a.Tensor
		case engine.Rows:
			s, all := c.sumsOf(a.Of), []byte(nil)
			if _, err := s.rows(); err != nil {
				return nil, err
			}
			for _, row := range a.At {
				all = append(all, s.row(row)...)
			}
			dims := slices.Clone(a.Of.Shape().Dimensions)
			dims[0] = len(a.At)
			if arguments[i], err = xla.FromBytes(all, a.Of.DType(), dims); err != nil {
				return nil, err
			}
		}
	}
	c.here, err = engine.Here(1).Run(ctx, c.program, arguments)
	return c.here, err
}

// values returns the results of a call: tensors if they came with the answer, handles on those that the worker keeps.
func (c *call) values(h *head, data []byte) (values []engine.Value, err error) {
	for i, r := range h.Results {
		if r.Kept {
			values = append(values, c.keep(i, r))
			continue
		}
		t, err := xla.FromBytes(data[:r.bytes()], r.Type, r.Dims)
		if err != nil {
			return nil, fmt.Errorf("worker: %w", err)
		}
		data = data[r.bytes():]
		values = append(values, engine.Values([]*tensors.Tensor{t})...)
	}
	return values, nil
}

// tried admits calls of a new program one at a time, until one was answered: a program that crashes workers costs no more of them than
// one call does. The caller says how its call ended.
func (w *Workers) tried(ctx context.Context, program string) (done func(error), known bool, err error) {
	alone := make(chan struct{}, 1) // a token for the one call that is admitted; closed once there was an answer
	alone <- struct{}{}
	v, _ := w.known.LoadOrStore(program, alone)
	alone = v.(chan struct{})
	select {
	case _, first := <-alone:
		return func(err error) {
			switch {
			case first && err == nil:
				close(alone)
			case first:
				alone <- struct{}{}
			}
		}, !first, nil
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
}

// take returns the worker that has the least to do, once one has less than it makes ready; nil if all are lost.
func (w *Workers) take(ctx context.Context) (*process, error) {
	for {
		var best *process
		left := false
		w.mu.Lock()
		for _, p := range w.all {
			if p.lost() != nil {
				continue
			}
			if left = true; p.load <= p.hello.Slots && (best == nil || p.load < best.load) {
				best = p
			}
		}
		changed := w.changed
		if best != nil {
			best.load++
		}
		w.mu.Unlock()
		if best != nil || !left {
			return best, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// give says that a worker no longer has a call.
func (w *Workers) give(p *process) {
	w.mu.Lock()
	p.load--
	w.mu.Unlock()
	w.change()
}

// change wakes those that wait for a worker.
func (w *Workers) change() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
}

// kept is a handle on a result that a worker keeps. If the worker is lost, the call runs again.
type kept struct {
	*place
	dtype dtypes.DType
	dims  []int

	mu   sync.Mutex
	here engine.Value // nil until it is fetched
}

// place is where the result is. It is dropped there once: after it was fetched, by Free, or when its handle is garbage.
type place struct {
	call  *call
	index int
	once  sync.Once
}

func (r *place) name() string { return resultName(r.call.frame.ID, r.index) }

func (r *place) forget() {
	r.once.Do(func() {
		r.call.again.Lock()
		defer r.call.again.Unlock()
		if r.call.here == nil {
			r.call.at.drop(r.name())
		}
	})
}

// collectAfter is how many bytes workers may keep more before the garbage collector is run: it sees only small handles.
const collectAfter = 192 << 20

// keep returns a handle on a result.
func (c *call) keep(i int, r result) *kept {
	at := &place{call: c, index: i}
	k := &kept{place: at, dtype: r.Type, dims: r.Dims}
	runtime.AddCleanup(k, func(at *place) { go at.forget() }, at)
	if c.bytes.Add(int64(r.bytes())) > int64(max(1, c.Workers.Concurrency()))*collectAfter {
		c.bytes.Store(0)
		runtime.GC()
	}
	return k
}

// Dims implements engine.Value.
func (k *kept) Dims() []int { return k.dims }

// Remote implements engine.Value.
func (k *kept) Remote() bool { return true }

// Free implements engine.Value.
func (k *kept) Free() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.here != nil {
		k.here.Free()
	}
	k.forget()
}

// Tensor implements engine.Value: it fetches the result.
func (k *kept) Tensor() (*tensors.Tensor, error) {
	defer runtime.KeepAlive(k)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.here == nil {
		r := result{Type: k.dtype, Dims: k.dims}
		f := frame{head: head{Read: k.name()}}
		_, data, err := k.ask(f, []result{r}, nil)
		if err != nil {
			return nil, err
		}
		if k.here == nil {
			t, err := xla.FromBytes(data, k.dtype, k.dims)
			if err != nil {
				return nil, err
			}
			k.here = engine.Values([]*tensors.Tensor{t})[0]
		}
		k.forget()
	}
	return k.here.Tensor()
}

// Then implements engine.Value. All results are fetched.
func (k *kept) Then(p *xla.Program, arguments ...any) (values []engine.Value, err error) {
	defer runtime.KeepAlive(k)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.here == nil {
		d := k.call.device
		c, err := d.call(p, k, arguments, every)
		if err != nil {
			return nil, fmt.Errorf("worker: %w", err)
		}
		done, _, err := d.tried(d.ctx, c.frame.Program)
		if err != nil {
			return nil, err
		}
		h, data, err := k.ask(c.frame, c.want, c.objects)
		done(err)
		if err != nil {
			return nil, fmt.Errorf("worker: program %q: %w", c.name, err)
		}
		if k.here == nil {
			return c.values(h, data)
		}
	}
	return k.here.Then(p, arguments...)
}

// ask asks the worker that keeps the result. If that is lost, the call is repeated first; if this process does so, it sets here instead.
func (k *kept) ask(f frame, want []result, objects []object) (h *head, data []byte, err error) {
	c := k.call
	c.again.Lock()
	defer c.again.Unlock()
	for range mostLost {
		if c.here == nil && c.at.lost() != nil {
			if _, err := c.do(c.ctx); err != nil {
				return nil, nil, err
			}
		}
		if c.here != nil {
			k.here = c.here[k.index]
			return nil, nil, nil
		}
		f.ID = c.calls.Add(1)
		if h, data, err = c.at.ask(c.ctx, f, want, objects); !errors.Is(err, errLost) {
			return h, data, err
		}
	}
	return nil, nil, fmt.Errorf("%d workers were lost while they had it, so it may bring them down: %w", mostLost, err)
}

// seed makes the names of objects, which are for this process and its workers.
var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// nameOf names bytes.
func nameOf(b []byte) string {
	return fmt.Sprintf("%x", binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, maphash.Bytes(seeds[0], b)), maphash.Bytes(seeds[1], b)))
}

// sums memoizes the names of a tensor's bytes, and of each row that occurs more than once.
type sums struct {
	whole func() (string, error)
	rows  func() ([]string, error)
	data  []byte // of which each call needs some rows
	n     int
}

// sumsOf returns those of a tensor, which never changes.
func (w *Workers) sumsOf(t *tensors.Tensor) *sums {
	key := weak.Make(t)
	if s, ok := w.sums.Load(key); ok {
		return s.(*sums)
	}
	s := &sums{n: t.Shape().Dim(0)}
	s.whole = sync.OnceValues(func() (string, error) {
		b, err := xla.HostBytes(key.Value())
		return nameOf(b), err
	})
	s.rows = sync.OnceValues(func() (names []string, err error) {
		if s.data, err = xla.HostBytes(key.Value()); err != nil {
			return nil, err
		}
		times := map[string]int{}
		for i := range s.n {
			names = append(names, nameOf(s.row(i)))
			times[names[i]]++
		}
		for i, name := range names {
			if times[name] == 1 {
				names[i] = ""
			}
		}
		return names, nil
	})
	v, known := w.sums.LoadOrStore(key, s)
	if !known {
		runtime.AddCleanup(t, func(key weak.Pointer[tensors.Tensor]) { w.sums.Delete(key) }, key)
	}
	return v.(*sums)
}

// row returns the bytes of a row.
func (s *sums) row(i int) []byte {
	size := len(s.data) / max(1, s.n)
	return s.data[i*size : (i+1)*size : (i+1)*size]
}
