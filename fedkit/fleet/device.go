package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/remote"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
)

// device is the fleet as a run sees it.
type device struct {
	fleet  *Fleet
	ctx    context.Context // until the run is over
	cancel context.CancelFunc
	kinds  []string // of workers that it may use
	prefix string   // of the IDs of its calls
	line   *line
	count  atomic.Int64
	times  times

	mu     sync.Mutex
	failed error // results that were used turned out wrong
}

// Concurrency implements engine.Device: each worker makes one call ready while it runs others.
func (d *device) Concurrency() int { return 1 + d.fleet.atOnce(1, d.kinds...) }

// Remote implements engine.Device.
func (d *device) Remote() bool { return true }

// leave ends the run: workers forget what they keep of it.
func (d *device) leave() {
	_ = d.fleet.nc.Publish(goodbyes+d.fleet.name, []byte(d.prefix)) // they forget it when this process is gone, at the latest
	d.cancel()
}

func (d *device) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failed = errors.Join(d.failed, err)
}

func (d *device) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// Run implements engine.Device: it runs the program on a free worker.
func (d *device) Run(ctx context.Context, p *xla.Program, arguments []any) ([]engine.Value, error) {
	c, err := d.call(p, nil, arguments, small)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	a, err := c.do(ctx)
	if err != nil {
		return nil, err
	}
	return c.values(a)
}

// Limits, which tests change.
var (
	small = 32 << 10 // bytes of results that return with the answer to a call that any worker may run; larger ones stay there
	tiny  = 2 << 10  // bytes of an argument that travels with every call, not once
)

// call prepares a call. Its ID, which also names its results, cannot be guessed. The first argument, unless nil, is a result that
// a worker keeps.
func (d *device) call(p *xla.Program, first *kept, arguments []any, back int) (*call, error) {
	s := &d.fleet.store
	c := &call{d: d, program: p, arguments: arguments, room: int(d.fleet.nc.MaxPayload()) - 64<<10,
		msg: &remote.Call{ID: fmt.Sprint(d.prefix, d.count.Add(1), ".", newName()), Desk: s.desk, Return: back}}
	var list []shapes.Shape
	if first != nil {
		list = append(list, shapes.Make(first.dtype, first.dims...))
		c.argument(list[0])
		c.part(remote.Part{Size: xla.Bytes(first.dtype, first.dims), Kept: first.key()})
	}
	for _, a := range arguments {
		shape, err := c.add(a, first != nil)
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
		if _, err := c.add(t, false); err != nil {
			return nil, err
		}
	}
	c.msg.Program, c.msg.Name = source.Hash, source.Name
	c.returns = remote.Expected(source.Results, back)
	c.objects = append(c.objects, objectOf(source.Hash, source.Text))
	return c, nil
}

// add adds an argument, and returns its shape: inline bytes if it is tiny or only this call has it, else objects. If it is to travel
// along with the call, it is an object only if the desk has it.
func (c *call) add(a any, along bool) (shape shapes.Shape, err error) {
	s := &c.d.fleet.store
	t, known := a.(*tensors.Tensor)
	switch a := a.(type) {
	case engine.Rows:
		shape = a.Of.Shape().Clone()
		shape.Dimensions[0] = len(a.At)
		c.argument(shape)
		return shape, c.rows(a)
	case engine.Inline:
		return c.add(a.Tensor, true)
	}
	if !known {
		if t, err = tensors.FromAnyValue(a); err != nil {
			return shape, err
		}
	}
	c.argument(t.Shape())
	if known && t.IsOnAnyDevice() && int(t.ByteSize()) > tiny {
		o, err := s.tensor(t)
		if err != nil {
			return shape, err
		}
		if !along || s.of(o.hash).there.Load() {
			c.object(o)
			return t.Shape(), nil
		}
	}
	b, err := xla.HostBytes(t)
	c.inline(b)
	return t.Shape(), err
}

// rows adds the rows of a matrix: a row that occurs once travels inline, since no other call reads it; any other is an object.
func (c *call) rows(r engine.Rows) error {
	h, err := c.d.fleet.store.rowsOf(r.Of)
	if err != nil {
		return err
	}
	var own []byte
	for _, i := range r.At {
		if !h.often[i] {
			own = append(own, h.row(i)...)
			continue
		}
		c.inline(own)
		own = nil
		c.object(objectOf(h.rows[i], h.row(i)))
	}
	c.inline(own)
	return nil
}

// argument begins an argument.
func (c *call) argument(s shapes.Shape) {
	c.msg.Args = append(c.msg.Args, remote.Arg{Type: s.DType, Dims: slices.Clone(s.Dimensions)})
}

// inline adds bytes that travel with the call, as long as there is room.
func (c *call) inline(b []byte) {
	data := remote.Trim(b)
	switch {
	case len(b) == 0:
	case len(data) > c.room:
		c.object(objectOf(hashOf(b), b))
	default:
		c.room -= len(data)
		c.part(remote.Part{Size: len(b), Data: data})
	}
}

func (c *call) object(o object) {
	c.objects = append(c.objects, o)
	c.part(remote.Part{Size: o.size, Object: o.hash})
}

func (c *call) part(p remote.Part) {
	a := &c.msg.Args[len(c.msg.Args)-1]
	a.Parts = append(a.Parts, p)
}
