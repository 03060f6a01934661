package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/remote"
	"fedkit.example/fedkit/internal/xla"
	"github.com/nats-io/nats.go"
)

// call is a call that workers are asked for, until nobody needs its results any more.
type call struct {
	d         *device
	program   *xla.Program
	arguments []any // as they were given, for who checks it
	msg       *remote.Call
	objects   []*object

	answers chan *remote.Answer

	again   sync.Mutex // it is done again by one at a time
	mu      sync.Mutex
	answer  *remote.Answer // the one that counts
	holders []string       // workers that keep its results
	using   int            // results that are needed
}

// do publishes the call and waits for an answer, whatever happens to the hub and to workers.
func (c *call) do(ctx context.Context) (*remote.Answer, error) {
	f := c.d.fleet
	if err := c.d.err(); err != nil {
		return nil, err
	}
	kind, err := f.seats.take(ctx, c.d.line, c.d.kinds)
	if err != nil {
		return nil, err
	}
	defer f.seats.give(kind)
	f.store.hold(c.objects)
	defer f.store.letGo(ctx, c.objects)
	f.calls.Store(c.msg.ID, c)
	begin, published, wait := time.Now(), time.Time{}, time.Duration(0)
	excluded, tries := []string(nil), 0
	publish := true
	var ready chan struct{}
	for tick := time.NewTicker(beat / 5); ; {
		if publish {
			if ready, err = c.publish(ctx, kind, excluded); err != nil {
				return nil, fmt.Errorf("program %q: %w", c.msg.Name, err)
			}
			publish, published = false, time.Now()
			if f.Audit > 0 && tries == 0 && rand.Float64() < f.Audit { // who is asked twice changes no result
				go c.audit(ctx, kind)
			}
		}
		select {
		case a := <-c.answers:
			if m := f.member(a.Machine); m != nil && m.out != "" {
				publish = true
				continue
			}
			if len(a.Missing) > 0 {
				if tries++; tries > 20 {
					return nil, fmt.Errorf("fleet: program %q: workers do not find %d objects in the hub's store, which is too small or damaged", c.msg.Name, len(a.Missing))
				}
				f.store.forget(a.Missing...)
				publish = true
				continue
			}
			if a.Error != "" {
				return nil, fmt.Errorf("worker %s: %s", f.labelOf(a.Machine), a.Error)
			}
			c.d.times.add(c.msg.Program, a.Seconds)
			c.accept(a)
			return a, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		switch at, named := f.at(c.msg.ID); {
		case f.isAgain(ready): // the hub was lost, and the call with it
			publish = true
		case f.aloneFor() > f.patience():
			return nil, f.nobody()
		case named && len(excluded) < 2 && time.Since(begin) > c.d.times.slow(c.msg.Program) && f.idle(kind, at): // somebody is faster
			excluded = append(excluded, at...)
			publish = true
		case named:
			published, wait = time.Now(), 0
		case time.Since(published) > silent+wait: // nobody has it: a message was lost, or all are busy
			if tries++; tries > 60 {
				return nil, fmt.Errorf("fleet: program %q was given to workers %d times, and no answer came", c.msg.Name, tries)
			}
			wait = min(2*(wait+silent), time.Minute)
			publish = true
		}
	}
}

// publish puts what the call needs into the store, and the call into the queue. It returns the state of the hub at that time.
func (c *call) publish(ctx context.Context, kind string, not []string) (ready chan struct{}, err error) {
	f := c.d.fleet
	for begin := time.Now(); ; {
		if err := f.store.put(ctx, c.objects); err != nil {
			return nil, err
		}
		there, cancel, err := f.hub(ctx)
		if err != nil {
			return nil, err
		}
		f.mu.Lock()
		ready = f.ready
		f.mu.Unlock()
		msg := *c.msg
		msg.Not = not
		if err = f.queueOf(there, kind); err == nil {
			_, err = f.js.Publish(there, queue+kind, msg.Encode())
		}
		cancel()
		switch {
		case err == nil:
			return ready, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, nats.ErrMaxPayload):
			return nil, err
		case time.Since(begin) > f.patience():
			return nil, fmt.Errorf("fleet: the hub does not take calls: %w", err)
		}
		pause(ctx, beat/5)
	}
}

// isAgain reports whether the hub was lost and is there again, since it was in a state.
func (f *Fleet) isAgain(state chan struct{}) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.ready:
		return f.ready != state
	default:
		return false
	}
}

// aloneFor returns for how long there has been no worker.
func (f *Fleet) aloneFor() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.alone.IsZero() {
		return 0
	}
	return time.Since(f.alone)
}

// at returns the workers that say that they have a call.
func (f *Fleet) at(call string) (workers []string, any bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, w := range f.workers {
		if w.counts() && slices.Contains(w.Doing, call) {
			workers = append(workers, name)
		}
	}
	return workers, workers != nil
}

// idle reports whether a worker of a kind has nothing to do, other than some.
func (f *Fleet) idle(kind string, other []string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, w := range f.workers {
		if w.counts() && w.kind == kind && len(w.Doing) == 0 && !slices.Contains(other, name) {
			return true
		}
	}
	return false
}

func (f *Fleet) labelOf(worker string) string {
	if w := f.member(worker); w != nil {
		return w.label()
	}
	return worker
}

// answered takes an answer. That of a call which has one is compared with it.
func (f *Fleet) answered(m *nats.Msg) {
	a, err := remote.DecodeAnswer(m.Data)
	if err != nil {
		return // not from a worker
	}
	v, ok := f.calls.Load(a.ID)
	if !ok {
		return
	}
	c := v.(*call)
	c.mu.Lock()
	first := c.answer
	c.mu.Unlock()
	if first != nil && len(a.Missing) == 0 && a.Error == "" {
		if first.Machine != a.Machine {
			go c.compare(first, a)
		}
		return
	}
	select {
	case c.answers <- a:
	default: // more than anybody asked for
	}
}

// accept makes an answer the one that counts.
func (c *call) accept(a *remote.Answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answer == nil {
		c.answer = a
		for _, r := range a.Results {
			if r.Kept {
				c.using++
			}
		}
	}
	if !slices.Contains(c.holders, a.Machine) {
		c.holders = append(c.holders, a.Machine)
	}
	if c.using == 0 {
		c.d.fleet.forgetLater(c)
	}
}

// forgetLater keeps a call whose results are all here for a while, so that late answers can be compared.
func (f *Fleet) forgetLater(c *call) {
	if old := f.done.add(c.msg.ID); old != "" {
		f.calls.Delete(old)
	}
}

// ring is the calls that were done last.
type ring struct {
	mu   sync.Mutex
	ids  [256]string
	next int
}

func (r *ring) add(id string) (old string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, r.ids[r.next] = r.ids[r.next], id
	r.next = (r.next + 1) % len(r.ids)
	return old
}

// audit asks another worker than the first for the same, a little later.
func (c *call) audit(ctx context.Context, kind string) {
	for ctx.Err() == nil {
		pause(ctx, beat/10)
		c.mu.Lock()
		a := c.answer
		c.mu.Unlock()
		if a != nil {
			c.d.fleet.store.hold(c.objects)
			defer c.d.fleet.store.letGo(ctx, c.objects)
			_, _ = c.publish(ctx, kind, []string{a.Machine}) // what cannot be checked is not checked
			return
		}
	}
}

// compare finds out who is wrong if two workers answered with other bytes. That worker is left out. If its results have been used,
// the run fails.
func (c *call) compare(first, second *remote.Answer) {
	f := c.d.fleet
	same, err := c.same(first, second)
	if err != nil || same {
		if same && err == nil {
			c.mu.Lock()
			if !slices.Contains(c.holders, second.Machine) {
				c.holders = append(c.holders, second.Machine)
			}
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
	one, err := c.d.fleet.ask(c.d.ctx, a.Machine, askHash, request)
	if err != nil {
		return false, err
	}
	other, err := c.d.fleet.ask(c.d.ctx, b.Machine, askHash, request)
	return bytes.Equal(one, other), err
}

// judge returns which of two answers are wrong: this process computes the call itself if it is of the workers' kind.
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
		b, err := c.d.fleet.ask(c.d.ctx, a.Machine, askHash, []byte(remote.Key(a.ID, i)))
		if err != nil {
			return nil, err
		}
		sums = append(sums, strings.TrimSpace(string(b)))
	}
	return sums, nil
}

// compute does the call in this process, and returns the hashes of its results.
func (c *call) compute() (sums []string, err error) {
	arguments := slices.Clone(c.arguments)
	for i, a := range arguments {
		if r, ok := a.(engine.Rows); ok {
			if arguments[i], err = together(r); err != nil {
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

// together returns rows as a tensor of their own.
func together(r engine.Rows) (any, error) {
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

// times are how long programs take, so that who takes much longer is noticed.
type times struct {
	mu      sync.Mutex
	seconds map[string][]float64 // by program, the last ones
}

func (t *times) add(program string, seconds float64) {
	const most = 16
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seconds == nil {
		t.seconds = map[string][]float64{}
	}
	list := append(t.seconds[program], seconds)
	t.seconds[program] = list[max(0, len(list)-most):]
}

// slow returns how long a call of a program may take until somebody else is asked too: four times the median, and a second.
func (t *times) slow(program string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.Sorted(slices.Values(t.seconds[program]))
	if len(list) == 0 {
		return time.Hour // it may have to be compiled first
	}
	return time.Second + time.Duration(4*list[len(list)/2]*float64(time.Second))
}
