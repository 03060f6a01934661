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
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// call is a call that workers are asked for, until nobody needs its results any more.
type call struct {
	d         *device
	program   *xla.Program
	arguments []any // as they were given, for who checks it
	msg       *remote.Call
	objects   []*object

	returns []remote.Result // what an answer has

	answers chan received

	again   sync.Mutex // it is done again by one at a time
	mu      sync.Mutex
	answer  *remote.Answer // the one that counts
	holders []string       // workers that keep its results
	using   int            // results that are needed
	counted bool           // in using
	begun   []start        // who took it since it was published
}

// start is that a worker took a call.
type start struct {
	*member
	at time.Time
}

// attempt is a call that is waited for.
type attempt struct {
	*call
	ctx       context.Context
	kind      string
	hub       chan struct{} // its state when the call was published
	begin     time.Time
	given     time.Time // to a worker that was asked for it, or to the queue
	published time.Time
	wait      time.Duration // until it is published again if nobody has it
	died      int           // workers that were lost with it before it was published
	tries     int
	queued    uint64   // where it stands in the queue; 0: nowhere
	more      bool     // it may be done more than once
	asked     []string // who was asked for it directly, since others were slow or wrong
}

// do publishes the call and waits for an answer, whatever happens to the hub and to workers.
func (c *call) do(ctx context.Context) (answer *remote.Answer, err error) {
	f := c.d.fleet
	ended, err := c.tried(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { ended(err) }()
	if err := c.d.err(); err != nil {
		return nil, err
	}
	a := &attempt{call: c, ctx: ctx}
	if err := a.sit(); err != nil {
		return nil, err
	}
	defer func() {
		if a.kind != "" {
			f.seats.give(a.kind)
		}
	}()
	f.store.hold(c.objects)
	defer f.store.letGo(c.objects)
	c.mu.Lock()
	c.begun = nil
	c.mu.Unlock()
	for len(c.answers) > 0 { // to the last time it was done
		<-c.answers
	}
	f.calls.Store(c.msg.ID, c)
	defer func() {
		if err != nil {
			f.calls.Delete(c.msg.ID)
		}
		if err != nil || a.more { // else the worker that answered says that it is done
			a.withdraw()
		}
	}()
	a.begin = time.Now()
	tick := time.NewTicker(beat / 5)
	defer tick.Stop()
	for publish := true; ; {
		if publish {
			if err := a.publish(); err != nil {
				return nil, fmt.Errorf("program %q: %w", c.msg.Name, err)
			}
		}
		select {
		case got := <-c.answers:
			var right bool
			if right, publish, err = a.take(got); err != nil {
				return nil, err
			}
			if right {
				return c.audited(ctx, got.Answer)
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
			if publish, err = a.look(); err != nil {
				return nil, err
			}
		}
	}
}

// tried waits until a worker has answered a call of the program, in this run or another, or until this call is the only one of it: a
// program that brings workers down gets no more of them than one call does. Who is let through says how the call ended.
func (c *call) tried(ctx context.Context) (ended func(error), err error) {
	alone := make(chan struct{}, 1) // it has the right to be the only one; closed once there was an answer
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

// sit waits for a seat, unless there is nobody to work.
func (a *attempt) sit() (err error) {
	a.kind, err = a.d.fleet.seats.take(a.ctx, a.d.line, a.d.kinds)
	if errors.Is(err, ErrNoWorker) {
		return a.d.fleet.nobody()
	}
	return err
}

// take looks at an answer, and says whether it is right, or the call has to be published again.
func (a *attempt) take(got received) (right, again bool, err error) {
	f := a.d.fleet
	if f.isOut(got.Machine) {
		return false, true, nil
	}
	if got.wrong != nil {
		err := f.distrust(got.Machine, got.wrong)
		if a.tries++; a.tries > 20 {
			return false, false, fmt.Errorf("fleet: %w", err)
		}
		return false, !a.alsoAsk([]string{got.Machine}, false), nil
	}
	if len(got.Missing) > 0 {
		if a.tries++; a.tries > 20 {
			return false, false, fmt.Errorf("fleet: program %q: workers, %s the last, do not find %d objects in the hub's store, which is too small or damaged",
				a.msg.Name, f.labelOf(got.Machine), len(got.Missing))
		}
		f.store.forget(got.Missing...)
		return false, true, nil
	}
	if got.Error != "" {
		return false, false, f.said(got.Answer)
	}
	a.d.times.add(a.msg.Program, min(max(0, got.Seconds), time.Since(a.begin).Seconds()))
	return true, false, nil
}

// look sees how it is with the call, and says whether it has to be published again.
func (a *attempt) look() (again bool, err error) {
	f := a.d.fleet
	at, died, unheard := a.where()
	_ = a.blame(died) // it fails the run
	switch alone := f.aloneFor([]string{a.kind}); {
	case a.d.err() != nil:
		return false, a.d.err()
	case f.isAgain(a.hub): // the hub was lost, and the call with it
		a.queued, a.more = 0, true
		return true, nil
	case f.aloneFor(a.d.kinds) > f.patience():
		if len(died) > 0 {
			return false, fmt.Errorf("program %q: lost while they had it: %s; %w", a.msg.Name, strings.Join(died, ", "), f.nobody())
		}
		return false, f.nobody()
	case alone > silent && len(a.d.kinds) > 1: // somebody of another kind may
		f.seats.give(a.kind)
		return true, a.sit()
	case at != nil:
		a.published, a.wait = time.Now(), 0
		if len(a.asked) < 2 && a.had() < thrice && time.Since(a.given) > a.d.times.slow(a.msg.Program) {
			a.alsoAsk(at, true)
		}
	case unheard+len(died) >= thrice: // it goes to nobody else until it is known what became of these
	case alone == 0 && len(died) > a.died: // who had it was lost
		a.died, a.wait = len(died), 0
		return true, nil
	case alone == 0 && time.Since(a.published) > silent+a.wait: // nobody has it: a message was lost, or all are busy
		if a.tries++; a.tries > 60 {
			return false, fmt.Errorf("fleet: program %q was given to workers %d times, and no answer came", a.msg.Name, a.tries)
		}
		a.wait = min(2*(a.wait+silent), time.Minute)
		return true, nil
	}
	return false, nil
}

// blame fails the run once three workers were lost while they had the call.
func (c *call) blame(died []string) error {
	if len(died) < thrice {
		return nil
	}
	err := fmt.Errorf("fleet: program %q: %d workers were lost while they had it: %s; it may bring them down, see their logs", c.msg.Name, len(died), strings.Join(died, ", "))
	if c.d.err() == nil {
		c.d.fail(err)
	}
	return err
}

// begin notes that a worker has the call.
func (c *call) begin(w *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun = append(slices.DeleteFunc(c.begun, func(s start) bool { return s.member == w }), start{w, time.Now()})
}

// had returns how many workers have or had the call.
func (c *call) had() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.begun)
}

// where returns the workers that have the call, the labels of those that were lost while they had it, and how many of those that took it
// were not heard of since.
func (c *call) where() (at, died []string, unheard int) {
	f := c.d.fleet
	at = f.at(c.msg.ID)
	f.mu.Lock()
	defer f.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.begun {
		select {
		case <-s.gone:
			if s.out == "" {
				died = append(died, s.label())
			}
		default:
			if !s.seen.After(s.at) {
				unheard++
			}
			if time.Since(s.at) < silent && !slices.Contains(at, s.Worker) { // its next beat says so
				at = append(at, s.Worker)
			}
		}
	}
	return at, died, unheard
}

// said is the error that a worker answered with.
func (f *Fleet) said(a *remote.Answer) error {
	return fmt.Errorf("worker %s: %s", text.Short(f.labelOf(a.Machine)), text.Short(a.Error))
}

// alsoAsk asks another worker directly, if there is one. It may have to be idle.
func (a *attempt) alsoAsk(not []string, idle bool) bool {
	other := a.d.fleet.other(a.d.kinds, append(not, a.asked...), idle)
	if other == "" {
		return false
	}
	a.asked, a.given = append(a.asked, other), time.Now()
	withdrawn := a.withdraw() // it would go to others too, should these be lost
	c := a.call
	if w := c.d.fleet.member(other); w != nil {
		c.begin(w)
	}
	c.d.fleet.store.hold(c.objects)
	go func() {
		defer c.d.fleet.store.letGo(c.objects)
		<-withdrawn
		if got, err := c.ask(c.d.ctx, other); err == nil { // else the others go on
			c.answered(got, nil)
		}
	}()
	return true
}

// publish puts what the call needs into the store, and the call into the queue.
func (a *attempt) publish() error {
	f := a.d.fleet
	<-a.withdraw()
	for begin := time.Now(); ; {
		if err := f.store.put(a.ctx, a.objects); err != nil {
			return err
		}
		there, cancel, err := f.hub(a.ctx)
		if err != nil {
			return err
		}
		f.mu.Lock()
		a.hub = f.ready
		f.mu.Unlock()
		if err = f.makeQueue(there, a.kind); err == nil {
			var ack *jetstream.PubAck
			if ack, err = f.js.Publish(there, queue+queueOf(a.kind), a.msg.Encode()); err == nil {
				a.queued = ack.Sequence
			}
		}
		cancel()
		switch {
		case err == nil:
			a.published = time.Now()
			a.given = a.published
			return nil
		case a.ctx.Err() != nil:
			return a.ctx.Err()
		case errors.Is(err, nats.ErrMaxPayload):
			return err
		case time.Since(begin) > f.patience():
			return fmt.Errorf("fleet: the hub does not take calls: %w", err)
		}
		pause(a.ctx, beat/5)
	}
}

// withdraw takes the call out of the queue, if it was put there. It returns at once; the channel is closed when it is done.
func (a *attempt) withdraw() <-chan struct{} {
	end := make(chan struct{})
	if a.queued == 0 {
		close(end)
		return end
	}
	f, at := a.d.fleet, a.queued
	a.queued, a.more = 0, true
	go func() {
		defer close(end)
		ctx, cancel := context.WithTimeout(f.ctx, silent)
		defer cancel()
		_ = f.stream.DeleteMsg(ctx, at) // if it is there yet; the hub forgets it after a while
	}()
	return end
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
