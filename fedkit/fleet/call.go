package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fedkit.example/fedkit/internal/remote"
	"fedkit.example/fedkit/internal/text"
	"fedkit.example/fedkit/internal/xla"
)

// call is a call to workers, until nobody needs its results any more.
type call struct {
	d         *device
	program   *xla.Program
	arguments []any // as given, for a check in this process
	msg       *remote.Call
	objects   []object
	room      int // bytes that may still travel with it

	returns []remote.Result // expected in an answer

	again   sync.Mutex // one repetition at a time
	mu      sync.Mutex
	answer  *remote.Answer // the one that counts
	holders []string       // workers that keep its results
	lost    []string       // workers that were lost with it: if they come back, they may keep its results too
	using   int            // results that are needed
	counted bool           // in using
	given   []*member      // workers that were given it since it was last begun
}

// attempt is one execution of a call, by one worker after another until one answers. If it is late, up to two more are asked in
// parallel.
type attempt struct {
	*call
	ctx     context.Context // until nobody needs an answer
	replies chan reply
	out     int // workers whose reply is to come
	start   time.Time
	begun   time.Time // when the last of them was given the call
	times   int       // that the call was given in turn
	last    error     // why it was given again
	also    int       // workers that were asked since others were late
}

// reply is what came of giving a call to a worker.
type reply struct {
	*remote.Answer
	err  error
	also bool // others have the call too, and matter
}

// mostTimes limits how often a call is given to workers that return no valid answer.
const mostTimes = 20

// do gives the call to workers until one has answered, whatever happens to the hub and to workers. Late answers of others are compared.
func (c *call) do(ctx context.Context) (answer *remote.Answer, err error) {
	ended, err := c.tried(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { ended(err) }()
	c.mu.Lock()
	c.given = nil
	c.mu.Unlock()
	asking, cancel := context.WithCancel(c.d.ctx)
	a := &attempt{call: c, ctx: asking, replies: make(chan reply), start: time.Now()}
	defer func() {
		if err != nil {
			cancel()
		}
		go a.finish(cancel)
	}()
	tick := time.NewTicker(beat / 5)
	defer tick.Stop()
	for {
		if a.out == 0 {
			if err := a.acquire(ctx); err != nil {
				return nil, err
			}
		}
		select {
		case r := <-a.replies:
			a.out--
			right, err := a.take(r)
			if err != nil {
				return nil, err
			}
			if right {
				return c.audited(ctx, r.Answer)
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
			if err := a.poll(); err != nil {
				return nil, err
			}
		}
	}
}

// tried admits calls of a new program one at a time, until a worker has answered one, in this run or another: a program that
// crashes workers costs no more of them than one call does. The caller reports how its call ended.
func (c *call) tried(ctx context.Context) (ended func(error), err error) {
	alone := make(chan struct{}, 1) // a token for the one call that is admitted; closed once there was an answer
	alone <- struct{}{}
	v, _ := c.d.fleet.tried.LoadOrStore(c.msg.Program, alone)
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
		}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// acquire waits for a seat at a worker, and gives it the call. It fails if there is no worker, or if the call was given to too many.
func (a *attempt) acquire(ctx context.Context) error {
	f := a.d.fleet
	if err := a.failed(); err != nil {
		return err
	}
	if a.times++; a.times > mostTimes {
		return fmt.Errorf("fleet: program %q was given to workers %d times, and no answer came; the last time: %v", a.msg.Name, mostTimes, a.last)
	}
	worker, err := f.seats.take(ctx, a.d.line, a.d.kinds, f.patience())
	switch died := a.died(); {
	case errors.Is(err, ErrNoWorker) && len(died) > 0:
		return fmt.Errorf("program %q: lost while they had it: %s; %w", a.msg.Name, strings.Join(died, ", "), f.nobody())
	case errors.Is(err, ErrNoWorker):
		return f.nobody()
	case err != nil:
		return err
	}
	if err := a.put(ctx); err != nil { // before the worker is asked: lateness counts from then
		f.seats.give(worker)
		return err
	}
	a.give(worker, false)
	return nil
}

// put uploads what the call needs to the store.
func (c *call) put(ctx context.Context) error {
	if err := c.d.fleet.store.put(ctx, c.objects); err != nil {
		return fmt.Errorf("program %q: %w", c.msg.Name, err)
	}
	return nil
}

// give sends the call to a worker, and gives its seat back when the worker no longer has the call.
func (a *attempt) give(worker string, also bool) {
	a.out++
	a.begun = time.Now()
	go func() {
		answer, err := a.ask(a.ctx, worker)
		a.replies <- reply{answer, err, also}
		if a.ctx.Err() != nil { // the worker may still be computing
			a.abandon(worker)
		}
		a.d.fleet.seats.give(worker)
	}()
}

// take takes a reply, and reports whether it is the right answer. Otherwise the call goes on, unless that is an error.
func (a *attempt) take(r reply) (right bool, err error) {
	switch {
	case r.err == nil && a.d.fleet.isOut(r.Machine):
		return false, nil
	case r.err == nil:
		a.d.times.add(a.msg.Program, min(max(0, r.Seconds), time.Since(a.start).Seconds()))
		return true, nil
	case r.also, errors.Is(r.err, errLost):
		a.last = r.err
		return false, nil
	}
	return false, r.err
}

// poll fails a call that has cost too many workers, and asks another worker that is idle if the call takes long.
func (a *attempt) poll() error {
	if err := a.failed(); err != nil {
		return err
	}
	given := a.hadBy()
	if a.also == maxAttempts-1 || len(given) >= maxAttempts || time.Since(a.begun) < a.d.times.slow(a.msg.Program) {
		return nil
	}
	if other := a.d.fleet.seats.takeNow(seat{a.d.kinds, given, atIdle}); other != "" {
		a.also++
		a.give(other, true)
	}
	return nil
}

// finish compares answers that arrive after the first.
func (a *attempt) finish(cancel func()) {
	for ; a.out > 0; a.out-- {
		if r := <-a.replies; r.err == nil {
			a.compareLate(r.Answer)
		}
	}
	cancel()
}

// failed returns why the call cannot go on: its run has failed, or three workers were lost while they had the call, which fails the run.
func (c *call) failed() error {
	died := c.died()
	if len(died) < maxAttempts {
		return c.d.err()
	}
	err := fmt.Errorf("fleet: program %q: %d workers were lost while they had it: %s; it may bring them down, see their logs", c.msg.Name, len(died), strings.Join(died, ", "))
	if c.d.err() == nil {
		c.d.fail(err)
	}
	return err
}

// begin notes that a worker is given the call.
func (c *call) begin(w *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.given, w) {
		c.given = append(c.given, w)
	}
}

// spare notes that the call did not reach a worker, so that it is not to blame if the worker is lost.
func (c *call) spare(w *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.given = slices.DeleteFunc(c.given, func(other *member) bool { return other == w })
}

// hadBy returns the names of the workers that were given the call.
func (c *call) hadBy() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.given {
		names = append(names, w.name)
	}
	return names
}

// died returns the labels of the workers that were lost while they had the call, but for those that said that they leave, and those
// where it still waited for other notebooks' calls.
func (c *call) died() (labels []string) {
	f := c.d.fleet
	f.mu.Lock()
	defer f.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.given {
		select {
		case <-w.gone:
			if w.out == "" && !w.Leaving && !slices.Contains(w.Waiting, c.msg.ID) {
				labels = append(labels, w.label())
			}
		default:
		}
	}
	return labels
}

// ask runs the call on one worker. The error is errLost if another worker should run it.
func (c *call) ask(ctx context.Context, worker string) (*remote.Answer, error) {
	f := c.d.fleet
	missing := 0
	for range 10 {
		if err := c.failed(); err != nil {
			return nil, err
		}
		if err := c.put(ctx); err != nil {
			return nil, err
		}
		data, err := f.ask(ctx, worker, askRun, c.msg.Encode(), c)
		if errors.Is(err, errLost) {
			c.mu.Lock()
			c.lost = append(c.lost, worker)
			c.mu.Unlock()
		}
		if err != nil {
			return nil, err
		}
		a, err := remote.DecodeAnswer(data)
		if err == nil {
			a.ID, a.Machine = c.msg.ID, worker // whatever the answer says
			err = c.check(a)
		}
		switch {
		case err != nil:
			return nil, f.distrust(worker, fmt.Errorf("program %q: %w", c.msg.Name, err))
		case a.Error != "":
			return nil, fmt.Errorf("worker %s: %s", text.Short(f.labelOf(worker)), text.Short(a.Error))
		case len(a.Missing) == 0:
			return a, nil
		case len(a.Missing[0]) != 64: // a result, not an object
			return nil, fmt.Errorf("result %s: %w", a.Missing[0], errLost)
		}
		missing = len(a.Missing)
		f.store.doubt(a.Missing)
	}
	return nil, asLost{fmt.Errorf("fleet: program %q: worker %s does not find %d objects at the hub's desk, which is too small or damaged", c.msg.Name, f.labelOf(worker), missing)}
}

// abandon tells a worker to forget the call, and returns once the worker no longer has it.
func (c *call) abandon(worker string) {
	f := c.d.fleet
	w := f.member(worker)
	if w == nil {
		return
	}
	f.forgetCall(worker, c)
	for from := time.Now().Add(beat); f.ctx.Err() == nil; pause(f.ctx, beat) {
		select {
		case <-w.gone:
			return
		default:
		}
		f.mu.Lock()
		free := w.seen.After(from) && !w.has(c.msg.ID)
		f.mu.Unlock()
		if free {
			return
		}
	}
}
