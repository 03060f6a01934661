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

// AtOnce implements engine.Device.
func (d *device) AtOnce() int {
	n := 1
	for _, kind := range d.kinds {
		n += d.fleet.room(kind)
	}
	return n
}

// Away implements engine.Device.
func (d *device) Away() bool { return true }

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

// part holds bytes of an argument: inline, or as an object.
type part struct {
	size   int
	inline []byte
	object *object
}

// call prepares a call. Its ID, which also names its results, cannot be guessed. The first argument, unless nil, is a result that
// a worker keeps.
func (d *device) call(p *xla.Program, first *kept, arguments []any, back int) (*call, error) {
	c := &call{d: d, program: p, arguments: arguments,
		msg: &remote.Call{ID: fmt.Sprint(d.prefix, d.count.Add(1), ".", newName()), Return: back}}
	var list []shapes.Shape
	if first != nil {
		list = append(list, shapes.Make(first.dtype, first.dims...))
		size := xla.Bytes(first.dtype, first.dims)
		c.msg.Args = append(c.msg.Args, remote.Arg{Type: first.dtype, Dims: first.dims, Parts: []remote.Part{{Size: size, Kept: first.key()}}})
	}
	room := int(d.fleet.nc.MaxPayload()) - 64<<10 // for what travels with the call
	for _, a := range arguments {
		shape, parts, err := d.argument(a, first != nil)
		if err != nil {
			return nil, err
		}
		list = append(list, shape)
		room = c.add(shape, parts, room)
	}
	source, err := p.Source(list)
	if err != nil {
		return nil, err
	}
	for _, t := range p.Side() {
		shape, parts, err := d.argument(t, false)
		if err != nil {
			return nil, err
		}
		room = c.add(shape, parts, room)
	}
	text := d.fleet.store.object(source.Hash, len(source.Text), func() ([]byte, error) { return source.Text, nil })
	c.msg.Program, c.msg.Name = source.Hash, source.Name
	c.returns = remote.Expected(source.Results, back)
	c.objects = append(c.objects, text)
	return c, nil
}

// add adds an argument. What is small or has no hash yet travels with the call, as long as there is room.
func (c *call) add(shape shapes.Shape, parts []part, room int) int {
	arg := remote.Arg{Type: shape.DType, Dims: slices.Clone(shape.Dimensions)}
	for _, p := range parts {
		if p.inline != nil && len(remote.Trim(p.inline)) > room {
			p.object, p.inline = c.d.fleet.store.given(p.inline), nil
		}
		if p.object == nil {
			p.inline = remote.Trim(p.inline)
			room -= len(p.inline)
			c.msg.Inline = append(c.msg.Inline, p.inline)
			arg.Parts = append(arg.Parts, remote.Part{Size: p.size})
			continue
		}
		c.objects = append(c.objects, p.object)
		arg.Parts = append(arg.Parts, remote.Part{Size: p.size, Object: p.object.hash})
	}
	c.msg.Args = append(c.msg.Args, arg)
	return room
}

// argument returns the shape and the parts of an argument: inline bytes if it is tiny or only this call has it, else objects. If
// it is to travel along with the call, it is an object only if the store has it.
func (d *device) argument(a any, along bool) (shape shapes.Shape, parts []part, err error) {
	switch a := a.(type) {
	case engine.Rows:
		shape = a.Of.Shape().Clone()
		shape.Dimensions[0] = len(a.At)
		parts, err = d.fleet.store.rows(a.Of, a.At)
		return shape, parts, err
	case engine.Seldom:
		return d.argument(a.Tensor, true)
	case *tensors.Tensor:
		if a.IsOnAnyDevice() && int(a.ByteSize()) > tiny {
			o, err := d.fleet.store.tensor(a)
			if err != nil {
				return shape, nil, err
			}
			if !along || d.fleet.store.has(o) {
				return a.Shape(), []part{{size: o.size, object: o}}, nil
			}
		}
		b, err := xla.HostBytes(a)
		return a.Shape(), []part{{size: len(b), inline: nonNil(b)}}, err
	}
	t, err := tensors.FromAnyValue(a)
	if err != nil {
		return shape, nil, err
	}
	b, err := xla.HostBytes(t)
	return t.Shape(), []part{{size: len(b), inline: nonNil(b)}}, err
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
