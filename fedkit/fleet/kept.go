package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/remote"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/tensors"
)

// kept is a handle on a result that a worker keeps. If the worker is lost, the call runs again.
type kept struct {
	*there
	dtype dtypes.DType
	dims  []int

	mu   sync.Mutex
	here *tensors.Tensor // nil until it is fetched
}

// there is the result at the worker. It is released there once: after a fetch, by Free, or when its handle is garbage.
type there struct {
	call  *call
	index int
	once  sync.Once
}

// key returns the result's name at the worker.
func (t *there) key() string { return remote.Key(t.call.msg.ID, t.index) }

func (t *there) forget() {
	t.once.Do(func() {
		c, f := t.call, t.call.d.fleet
		c.mu.Lock()
		holders := slices.Concat(c.holders, c.lost)
		c.using--
		c.mu.Unlock()
		for _, worker := range holders {
			f.forget(worker, t.key())
		}
	})
}

// keep returns a handle on a result that a worker keeps. A cleanup frees the result there. The garbage collector sees only small
// handles, so it is run here once they stand for much memory.
func (c *call) keep(i int, r remote.Result) *kept {
	t := &there{call: c, index: i}
	k := &kept{there: t, dtype: r.Type, dims: r.Dims}
	runtime.AddCleanup(k, (*there).forget, t)
	f := c.d.fleet
	if n := int64(xla.Bytes(r.Type, r.Dims)); f.pending.Add(n) > int64(max(1, f.Concurrency()))*collectAfter {
		f.pending.Store(0)
		runtime.GC()
	}
	return k
}

// collectAfter is the number of bytes of results, for each program that runs at a time, after which the garbage collector is run.
const collectAfter = 192 << 20

// values returns the results of a call: tensors if they came with the answer, handles on those that the worker keeps.
func (c *call) values(a *remote.Answer) (values []engine.Value, err error) {
	for i, r := range a.Results {
		if r.Kept {
			values = append(values, c.keep(i, r))
			continue
		}
		t, err := xla.FromBytes(r.Data, r.Type, r.Dims)
		if err != nil {
			return nil, fmt.Errorf("fleet: %w", err)
		}
		values = append(values, engine.Values([]*tensors.Tensor{t})...)
	}
	return values, nil
}

// Dims implements engine.Value.
func (k *kept) Dims() []int { return k.dims }

// Remote implements engine.Value.
func (k *kept) Remote() bool { return true }

// Free implements engine.Value.
func (k *kept) Free() {
	k.mu.Lock()
	xla.Free(k.here)
	k.mu.Unlock()
	k.forget()
}

// withHolder calls ask with a worker that keeps the result. If none is left, the call runs again first.
func (k *kept) withHolder(ask func(worker string) error) error {
	c, d := k.call, k.call.d
	for try := 0; ; try++ {
		if err := d.err(); err != nil {
			return err
		}
		worker, err := c.holder()
		if err == nil {
			err = ask(worker)
		}
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, errLost) || try > 10:
			return err
		case d.ctx.Err() != nil:
			return d.ctx.Err()
		}
		c.mu.Lock()
		c.holders = slices.DeleteFunc(c.holders, func(other string) bool { return other == worker })
		c.mu.Unlock()
	}
}

// holder returns a worker that keeps the results of the call. If there is none, the call runs again.
func (c *call) holder() (string, error) {
	c.again.Lock()
	defer c.again.Unlock()
	f := c.d.fleet
	c.mu.Lock()
	holders := slices.Clone(c.holders)
	c.mu.Unlock()
	for _, worker := range holders {
		if f.member(worker) != nil {
			return worker, nil
		}
	}
	c.mu.Lock()
	first := c.answer
	c.holders = nil
	c.mu.Unlock()
	a, err := c.do(c.d.ctx)
	if err != nil {
		return "", err
	}
	if !slices.EqualFunc(first.Results, a.Results, func(a, b remote.Result) bool { return bytes.Equal(a.Data, b.Data) }) {
		err := fmt.Errorf("fleet: workers %s and %s gave results with other bytes for the same call of program %q", f.labelOf(first.Machine), f.labelOf(a.Machine), c.msg.Name)
		c.d.fail(err)
		return "", err
	}
	return a.Machine, nil
}

// Tensor implements engine.Value: it fetches the result.
func (k *kept) Tensor() (*tensors.Tensor, error) {
	defer runtime.KeepAlive(k) // no cleanup meanwhile
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.here != nil {
		return k.here, nil
	}
	var data []byte
	err := k.withHolder(func(worker string) (err error) {
		data, err = k.call.d.fleet.read(k.call.d.ctx, worker, k.key(), xla.Bytes(k.dtype, k.dims))
		return err
	})
	if err != nil {
		return nil, err
	}
	if k.here, err = xla.FromBytes(data, k.dtype, k.dims); err == nil {
		k.forget()
	}
	return k.here, err
}

// Then implements engine.Value. All results are fetched.
func (k *kept) Then(p *xla.Program, arguments ...any) (values []engine.Value, err error) {
	defer runtime.KeepAlive(k) // no cleanup meanwhile
	k.mu.Lock()
	here := k.here
	k.mu.Unlock()
	if here != nil {
		return engine.Values([]*tensors.Tensor{here})[0].Then(p, arguments...)
	}
	d := k.call.d
	c, err := d.call(p, k, arguments, int(d.fleet.nc.MaxPayload())/4*3)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	ended, err := c.tried(d.ctx)
	if err != nil {
		return nil, err
	}
	err = k.withHolder(func(worker string) error {
		values, err = c.at(worker)
		return err
	})
	ended(err)
	return values, err
}

// at runs the call on one worker, and fetches all results.
func (c *call) at(worker string) ([]engine.Value, error) {
	a, err := c.ask(c.d.ctx, worker)
	if err != nil {
		return nil, err
	}
	for i := range a.Results {
		r := &a.Results[i]
		if !r.Kept {
			continue
		}
		key := remote.Key(a.ID, i)
		if r.Data, err = c.d.fleet.read(c.d.ctx, worker, key, xla.Bytes(r.Type, r.Dims)); err != nil {
			return nil, err
		}
		r.Kept = false
		c.d.fleet.forget(worker, key)
	}
	return c.values(a)
}
