package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// setUp makes the store, if the hub does not have it.
func (f *Fleet) setUp(ctx context.Context) error {
	objects, err := f.js.ObjectStore(ctx, bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		objects, err = f.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: bucket, Storage: jetstream.FileStorage, TTL: storeAge})
	}
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.store.objects == nil { // only a name: it serves for another hub too
		f.store.objects = objects
	}
	return nil
}

// away marks the hub as lost, which ends all requests that wait for a reply.
func (f *Fleet) away() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.losses++
	select {
	case <-f.ready:
		f.ready = make(chan struct{})
		close(f.gone)
	default:
	}
}

// here marks the hub as present and set up, unless it was lost again meanwhile. Workers get more time than usual to reconnect too.
func (f *Fleet) here(losses int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.losses != losses {
		return
	}
	for _, w := range f.workers {
		w.seen = time.Now().Add(silent)
	}
	select {
	case <-f.ready:
	default:
		f.gone = make(chan struct{})
		close(f.ready)
	}
}

// back sets the hub up after a reconnection: it may be a new one, without objects. Requests that were under way are then sent again.
func (f *Fleet) back() {
	f.mu.Lock()
	losses := f.losses
	f.mu.Unlock()
	for f.nc.IsConnected() {
		ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
		err := f.setUp(ctx)
		cancel()
		if err == nil {
			f.store.forget()
			f.here(losses)
			return
		}
		pause(f.ctx, beat/5)
	}
}

// hub waits until the hub is there, and returns a context that ends when it is lost, or with ctx.
func (f *Fleet) hub(ctx context.Context) (context.Context, context.CancelFunc, error) {
	f.mu.Lock()
	ready := f.ready
	f.mu.Unlock()
	select {
	case <-ready:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-f.ctx.Done():
		return nil, nil, fmt.Errorf("fleet: %w: this fleet was closed", ErrNoHub)
	case <-time.After(f.patience()):
		return nil, nil, fmt.Errorf("fleet: %w for %v: start it again with ./scripts/hub", ErrNoHub, f.patience())
	}
	f.mu.Lock()
	gone := f.gone
	f.mu.Unlock()
	there, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-gone:
		case <-there.Done():
		}
	}()
	return there, cancel, nil
}

func (f *Fleet) patience() time.Duration { return cmp.Or(f.Patience, 30*time.Second) }
