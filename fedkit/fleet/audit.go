package fleet

import (
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
		switch wrong, why, err := c.compare(a, b); {
		case errors.Is(err, errLost): // either worker was lost
			a = b
		case err != nil:
			return nil, err
		case wrong == nil:
			c.accept(a)
			c.accept(b)
			return a, nil
		case len(wrong) > 1:
			return nil, fmt.Errorf("fleet: %s", why)
		case wrong[0] == a:
			a = b
		}
	}
}

// compare returns which of two answers are wrong, and why: none if they have the same bytes. If this process is of the workers' kind,
// it computes the call itself; otherwise both are. Workers with wrong answers are left out.
func (c *call) compare(a, b *remote.Answer) (wrong []*remote.Answer, why string, err error) {
	one, err := c.sums(a)
	if err != nil {
		return nil, "", err
	}
	other, err := c.sums(b)
	if err != nil || one == other {
		return nil, "", err
	}
	f := c.d.fleet
	wrong = []*remote.Answer{a, b}
	why = fmt.Sprintf("for the same call of program %q workers %s and %s gave results with other bytes", c.msg.Name, f.labelOf(a.Machine), f.labelOf(b.Machine))
	if kind, err := thisKind(); err == nil && slices.Contains(c.d.kinds, kind.Key()) {
		if right, err := c.compute(); err == nil && (right == one || right == other) {
			if right == one {
				a, b = b, a
			}
			wrong = []*remote.Answer{a}
			why = fmt.Sprintf("for the same call of program %q it and worker %s gave results with other bytes, and this process agrees with the other", c.msg.Name, f.labelOf(b.Machine))
		}
	}
	for _, w := range wrong {
		f.leaveOut(w.Machine, why)
	}
	return wrong, why, nil
}

// sums returns the hashes of an answer's results, a line each, those that the worker keeps last.
func (c *call) sums(a *remote.Answer) (sums string, err error) {
	var keys []string
	for i, r := range a.Results {
		if r.Kept {
			keys = append(keys, remote.Key(a.ID, i))
		} else {
			sums += hashOf(r.Data) + "\n"
		}
	}
	if keys == nil {
		return sums, nil
	}
	far, err := c.d.fleet.ask(c.d.ctx, a.Machine, askHash, readRequest{Key: strings.Join(keys, " ")}.encode(), nil)
	return sums + string(far), err
}

// compute runs the call in this process, and returns the sums of its results.
func (c *call) compute() (sums string, err error) {
	arguments := slices.Clone(c.arguments)
	for i, a := range arguments {
		switch a := a.(type) {
		case engine.Inline:
			arguments[i] = a.Tensor
		case engine.Rows:
			if arguments[i], err = gather(a); err != nil {
				return "", err
			}
		}
	}
	out, err := c.program.Call(arguments...)
	if err != nil {
		return "", err
	}
	defer xla.Free(out...)
	kept := ""
	for i, t := range out {
		b, err := xla.HostBytes(t)
		if err != nil {
			return "", err
		}
		if line := hashOf(b) + "\n"; c.returns[i].Kept {
			kept += line
		} else {
			sums += line
		}
	}
	return sums + kept, nil
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
