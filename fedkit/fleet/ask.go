package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// read fetches a result of this many bytes from a worker, a few chunks at a time. Of large results, a worker serves one at a time.
func (f *Fleet) read(ctx context.Context, worker, key string, size int) ([]byte, error) {
	if w := f.member(worker); w != nil && size > chunk {
		w.reading.Lock()
		defer w.reading.Unlock()
	}
	data := make([]byte, size)
	return data, fill(ctx, data, 0, func(ctx context.Context, from, n int) ([]byte, error) {
		some, err := f.ask(ctx, worker, askRead, readRequest{key, int64(from), int64(n)}.encode(), nil)
		if err == nil && len(some) != n {
			err = f.distrust(worker, fmt.Errorf("%d bytes of a result, not %d", len(some), n))
		}
		return some, err
	})
}

// ask sends a request to a worker, and resends it for as long as the worker is there and does not reply. c is the call that is
// requested, nil for other requests.
func (f *Fleet) ask(ctx context.Context, worker, what string, request []byte, c *call) ([]byte, error) {
	lost := fmt.Errorf("worker %s: %w", f.labelOf(worker), errLost)
	reached := false // the worker may have received the request
	for wait := silent; ; wait = min(2*wait, time.Minute) {
		there, leaveHub, err := f.hub(ctx)
		if err != nil {
			return nil, err
		}
		w := f.member(worker)
		if w == nil {
			leaveHub()
			return nil, lost
		}
		asking, cancel := context.WithCancel(there)
		if c != nil {
			if !f.sendInTurn(asking, w, c, len(request)) {
				cancel()
				leaveHub()
				continue
			}
			c.begin(w)
		}
		go func() {
			defer cancel()
			f.awaitReply(asking, w, c, wait)
		}()
		reply, err := f.nc.RequestWithContext(asking, asks+worker+what, request)
		cancel()
		leaveHub()
		err = said(reply, err)
		_, hasSaid := errors.AsType[refused](err)
		switch {
		case err == nil:
			return reply.Data, nil
		case errors.Is(err, errLost):
			return nil, lost
		case hasSaid:
			return nil, fmt.Errorf("worker %s: %w", f.labelOf(worker), err)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, nats.ErrNoResponders): // dead, unless its connection was lost: then it says so soon
			if c != nil && !reached {
				c.spare(w)
			}
			f.mu.Lock()
			if time.Since(w.seen) > 3*beat && f.workers[worker] == w {
				f.lost(w)
			}
			f.mu.Unlock()
			pause(ctx, beat/5)
		case errors.Is(err, nats.ErrMaxPayload):
			return nil, err
		default:
			reached = true
		}
		select {
		case <-w.gone:
			return nil, lost
		default:
		}
	}
}

// sendInTurn waits until no other large call is on its way to a worker, and lets the next one go once the worker has this one: the hub
// closes the connection of a worker for which it has more to keep than memory, and loses all of it. It reports whether the call can go:
// not if the worker is gone first, or ctx ends.
func (f *Fleet) sendInTurn(ctx context.Context, w *member, c *call, size int) bool {
	if size <= chunk {
		return true
	}
	select {
	case w.sending <- struct{}{}:
	case <-w.gone:
		return false
	case <-ctx.Done():
		return false
	}
	go func() {
		defer func() { <-w.sending }()
		for {
			f.mu.Lock()
			at, beaten := w.has(c.msg.ID), w.beaten
			f.mu.Unlock()
			if at {
				return
			}
			select {
			case <-beaten:
			case <-w.gone:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return true
}

// awaitReply returns when ctx ends, when the worker is gone, and when its reply must have been lost: after a while, but not while its
// heartbeats list the call. Before the hub forgets that the worker may reply, it is asked once more in any case.
func (f *Fleet) awaitReply(ctx context.Context, w *member, c *call, wait time.Duration) {
	end := time.Now().Add(replyExpires / 2)
	for timer := time.NewTimer(wait); ; timer.Reset(beat) {
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-w.gone:
			return
		case <-timer.C:
		}
		f.mu.Lock()
		at := c != nil && w.has(c.msg.ID)
		f.mu.Unlock()
		if !at || time.Now().After(end) {
			return
		}
	}
}

// errLost says that a worker does not have a result any more, or is gone itself.
var errLost = errors.New("lost")

// asLost is an error of a worker that counts as its loss: another worker is asked.
type asLost struct{ error }

// Is reports whether the target is errLost.
func (asLost) Is(target error) bool { return target == errLost }
