package fleet

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"fedkit.example/fedkit/internal/remote"
	"github.com/nats-io/nats.go"
)

// askAgain ends the requests for work that were made before a reconnection.
func (w *work) askAgain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.again)
	w.again = make(chan struct{})
}

// take takes one call after the other, as long as ctx lasts.
func (w *work) take(ctx context.Context) {
	for ctx.Err() == nil {
		w.mu.Lock()
		again := w.again
		w.mu.Unlock()
		asking, cancel := context.WithTimeout(ctx, turn+late)
		go func() {
			defer cancel()
			select {
			case <-again:
			case <-asking.Done():
			}
		}()
		err := w.takeOne(ctx, asking)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			pause(ctx, 100*time.Millisecond) // no notebook has come yet, or the hub was started again and the queue has to be made again
		}
	}
}

// takeOne takes a call if one comes while asking lasts.
func (w *work) takeOne(ctx, asking context.Context) error {
	calls, err := w.nc.SubscribeSync(w.nc.NewInbox())
	if err != nil {
		return err
	}
	defer func() { _ = calls.Unsubscribe() }() // so that the desk knows that nobody waits any more
	if err := w.nc.PublishRequest(desks+w.beat.Worker+wantCall, calls.Subject, []byte(queueOf(w.beat.Kind.Key()))); err != nil {
		return err
	}
	m, err := calls.NextMsgWithContext(asking)
	switch {
	case err != nil:
		return err
	case m.Header.Get(replyError) != "":
		return errors.New(m.Header.Get(replyError))
	case m.Header.Get(leaseField) != "": // else none came
		_ = m.Respond(nil)
		w.do(ctx, m)
	}
	return nil
}

// do answers a call from the queue. It renews the lease meanwhile.
func (w *work) do(ctx context.Context, m *nats.Msg) {
	say := func(what string) { _ = w.nc.Publish(desks+w.beat.Worker+what, []byte(m.Header.Get(leaseField))) }
	c, err := remote.DecodeCall(m.Data)
	if err != nil {
		w.say("a call that cannot be read: %v", err)
		say(done)
		return
	}
	from, _, _ := strings.Cut(c.ID, ".")
	w.mu.Lock()
	heard, known := w.heard[from]
	if known && time.Since(heard) > 10*silent { // nobody waits for it any more
		w.mu.Unlock()
		say(done)
		return
	}
	w.mu.Unlock()
	defer w.busy(c)()
	to := answers + from + "." + w.beat.Worker
	begun := remote.Answer{ID: c.ID, Machine: w.beat.Worker, Begun: true}
	_ = w.nc.Publish(to, begun.Encode()) // so that it is known who is to blame if no more is heard
	working, stop := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for tick := time.NewTicker(late); ; {
			select {
			case <-working.Done():
				tick.Stop()
				return
			case <-tick.C:
				say(renew)
			}
		}
	})
	_ = w.nc.FlushTimeout(late) // before the program, which may end this process; the beats say it too
	a := w.perform(ctx, c, true)
	stop()
	renewing.Wait()
	if ctx.Err() != nil {
		say(back)
		return
	}
	if w.answer(ctx, to, a) {
		say(done)
	}
}

// busy notes that the worker has a call, until it is done.
func (w *work) busy(c *remote.Call) (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.doing[c.ID]++
	w.names[c.ID] = c.Name
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.doing[c.ID]--; w.doing[c.ID] == 0 {
			delete(w.doing, c.ID)
			delete(w.names, c.ID)
		}
		w.beat.Done++
	}
}

// answer publishes an answer to a subject of its notebook's, and says whether the hub has it.
func (w *work) answer(ctx context.Context, to string, a *remote.Answer) bool {
	m := nats.NewMsg(to)
	m.Header.Set(answerTo, a.ID)
	m.Data = a.Encode()
	for ctx.Err() == nil {
		if err := w.nc.PublishMsg(m); err == nil && w.nc.FlushTimeout(late) == nil {
			return true
		}
		pause(ctx, 100*time.Millisecond)
	}
	return false
}

// asked answers a call that was sent to this worker.
func (w *work) asked(ctx context.Context, m *nats.Msg) {
	c, err := remote.DecodeCall(m.Data)
	if err != nil {
		w.say("a call that cannot be read: %v", err)
		return
	}
	defer w.busy(c)()
	_ = m.Respond(w.perform(ctx, c, false).Encode()) // it is asked again if nobody hears
}
