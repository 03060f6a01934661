package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/remote"
	"fedkit.example/fedkit/internal/xla"
)

// audited accepts an answer. A random share, Fleet.Audit, is accepted only once a second worker has computed the same.
func (c *call) audited(ctx context.Context, a *remote.Answer) (*remote.Answer, error) {
	f := c.d.fleet
	if rand.Float64() >= f.Audit { // which calls are audited changes no result
		c.accept(a)
		return a, nil
	}
	for not := []string(nil); ; {
		other := f.seats.takeNow(seat{c.d.kinds, append(not, a.Machine), atAny})
		if other == "" { // no second worker: accept it unchecked
			c.accept(a)
			return a, nil
		}
		not = append(not, other)
		b, err := c.ask(ctx, other)
		f.seats.give(other)
		if errors.Is(err, errLost) {
			continue
		}
		if err != nil {
			return nil, err
		}
		same, err := c.same(a, b)
		if errors.Is(err, errLost) { // either worker was lost
			a = b
			continue
		}
		if err != nil {
			return nil, err
		}
		if same {
			c.accept(a)
			c.mu.Lock()
			c.holds(b.Machine)
			c.mu.Unlock()
			return a, nil
		}
		wrong, why := c.judge(a, b)
		for _, w := range wrong {
			f.leaveOut(w.Machine, why)
		}
		if len(wrong) > 1 {
			return nil, fmt.Errorf("fleet: %s", why)
		}
		if wrong[0] == a {
			a = b
		}
	}
}

// compare compares a second answer with the one that counts. If their bytes differ, the worker that is wrong is excluded, and if its results
// have been used, the run fails.
func (c *call) compare(first, second *remote.Answer) {
	f := c.d.fleet
	same, err := c.same(first, second)
	if err != nil || same {
		if same && err == nil {
			c.mu.Lock()
			c.holds(second.Machine)
			c.mu.Unlock()
		}
		return
	}
	wrong, why := c.judge(first, second)
	for _, a := range wrong {
		f.leaveOut(a.Machine, why)
	}
	if slices.Contains(wrong, first) {
		c.d.fail(fmt.Errorf("fleet: worker %s: %s; its result was used in this run already: run it again, from the checkpoint before if it has any", f.labelOf(first.Machine), why))
	}
}

// same reports whether two answers have the same bytes.
func (c *call) same(a, b *remote.Answer) (bool, error) {
	if len(a.Results) != len(b.Results) || !slices.EqualFunc(a.Inline, b.Inline, bytes.Equal) {
		return false, nil
	}
	var keys []string
	for i, r := range a.Results {
		if r.Kept {
			keys = append(keys, remote.Key(a.ID, i))
		}
	}
	if keys == nil {
		return true, nil
	}
	request := []byte(strings.Join(keys, " "))
	one, err := c.d.fleet.ask(c.d.ctx, a.Machine, askHash, request, nil)
	if err != nil {
		return false, err
	}
	other, err := c.d.fleet.ask(c.d.ctx, b.Machine, askHash, request, nil)
	return bytes.Equal(one, other), err
}

// judge returns which of two answers are wrong. This process computes the call itself if it is of the workers' kind; otherwise both are.
func (c *call) judge(first, second *remote.Answer) (wrong []*remote.Answer, why string) {
	f := c.d.fleet
	both := fmt.Sprintf("for the same call of program %q it and worker %%s gave results with other bytes", c.msg.Name)
	if kind, err := thisKind(); err == nil && slices.Contains(c.d.kinds, kind.Key()) {
		if sums, err := c.compute(); err == nil {
			for i, a := range []*remote.Answer{first, second} {
				if got, err := c.sums(a); err == nil && !slices.Equal(got, sums) {
					wrong = append(wrong, a)
					why = fmt.Sprintf(both, f.labelOf([]string{second.Machine, first.Machine}[i])) + ", and this process agrees with the other"
				}
			}
			if len(wrong) == 1 {
				return wrong, why
			}
		}
	}
	return []*remote.Answer{first, second}, fmt.Sprintf("for the same call of program %q workers %s and %s gave results with other bytes", c.msg.Name, f.labelOf(first.Machine), f.labelOf(second.Machine))
}

// sums returns the hashes of all results of an answer.
func (c *call) sums(a *remote.Answer) (sums []string, err error) {
	inline := a.Inline
	for i, r := range a.Results {
		if !r.Kept {
			sums, inline = append(sums, hashOf(inline[0])), inline[1:]
			continue
		}
		b, err := c.d.fleet.ask(c.d.ctx, a.Machine, askHash, []byte(remote.Key(a.ID, i)), nil)
		if err != nil {
			return nil, err
		}
		sums = append(sums, strings.TrimSpace(string(b)))
	}
	return sums, nil
}

// compute runs the call in this process, and returns the hashes of its results.
func (c *call) compute() (sums []string, err error) {
	arguments := slices.Clone(c.arguments)
	for i, a := range arguments {
		switch a := a.(type) {
		case engine.Seldom:
			arguments[i] = a.Tensor
		case engine.Rows:
			if arguments[i], err = gather(a); err != nil {
				return nil, err
			}
		}
	}
	out, err := c.program.Call(arguments...)
	if err != nil {
		return nil, err
	}
	defer xla.Free(out...)
	for _, t := range out {
		b, err := xla.HostBytes(t)
		if err != nil {
			return nil, err
		}
		sums = append(sums, hashOf(b))
	}
	return sums, nil
}

// gather copies rows into one tensor.
func gather(r engine.Rows) (any, error) {
	all, err := xla.HostBytes(r.Of)
	if err != nil {
		return nil, err
	}
	shape := r.Of.Shape()
	size := len(all) / shape.Dimensions[0]
	var some []byte
	for _, i := range r.At {
		some = append(some, all[i*size:(i+1)*size]...)
	}
	return xla.FromBytes(some, shape.DType, append([]int{len(r.At)}, shape.Dimensions[1:]...))
}
