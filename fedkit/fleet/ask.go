package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"
)

// read fetches a result of this many bytes from a worker, a few chunks at a time. Of large ones a worker keeps only one at hand.
func (f *Fleet) read(ctx context.Context, worker, key string, size int) ([]byte, error) {
	if w := f.member(worker); w != nil && size > chunk {
		w.reading.Lock()
		defer w.reading.Unlock()
	}
	data := make([]byte, size)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for from := 0; from < size; from += chunk {
		to := min(from+chunk, size)
		group.Go(func() error {
			request, err := json.Marshal(readRequest{key, from, to - from})
			if err != nil {
				return err
			}
			some, err := f.ask(ctx, worker, askRead, request)
			if err == nil && len(some) != to-from {
				err = f.distrust(worker, fmt.Errorf("%d bytes of a result, not %d", len(some), to-from))
			}
			copy(data[from:], some)
			return err
		})
	}
	return data, group.Wait()
}

// ask asks a worker something, and asks again while it is there and does not answer.
func (f *Fleet) ask(ctx context.Context, worker, what string, request []byte) ([]byte, error) {
	lost := fmt.Errorf("worker %s: %w", f.labelOf(worker), errLost)
	for wait := silent; ; wait = min(2*wait, time.Minute) {
		there, leaveHub, err := f.hub(ctx)
		if err != nil {
			return nil, err
		}
		w := f.member(worker)
		if w == nil || f.isOut(worker) {
			leaveHub()
			return nil, lost
		}
		asking, cancel := context.WithTimeout(there, wait)
		stop := make(chan struct{})
		go func() {
			select {
			case <-w.gone:
				cancel()
			case <-stop:
			}
		}()
		reply, err := f.nc.RequestWithContext(asking, asks+worker+what, request)
		close(stop)
		cancel()
		leaveHub()
		switch {
		case err == nil && reply.Header.Get(replyLost) != "":
			return nil, lost
		case err == nil && reply.Header.Get(replyError) != "":
			return nil, fmt.Errorf("worker %s: %.4000s", f.labelOf(worker), reply.Header.Get(replyError))
		case err == nil:
			return reply.Data, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, nats.ErrNoResponders): // dead, unless its connection was lost: then it says so soon
			f.mu.Lock()
			if time.Since(w.seen) > 3*beat && f.workers[worker] == w {
				f.lost(w)
			}
			f.mu.Unlock()
			pause(ctx, beat/5)
		case errors.Is(err, nats.ErrMaxPayload):
			return nil, err
		}
		select {
		case <-w.gone:
			return nil, lost
		default:
		}
	}
}

// errLost says that a worker does not have a result any more, or is gone itself.
var errLost = errors.New("lost")
