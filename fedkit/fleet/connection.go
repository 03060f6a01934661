package fleet

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// lostHub ends all requests that wait for a reply.
func (f *Fleet) lostHub() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away()
}

// here notes that the hub is there: it may be a new one, without objects. Workers get more time than usual to reconnect too.
func (f *Fleet) here() {
	f.store.forget()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.workers {
		w.seen = time.Now().Add(silent)
	}
	f.there, f.away = context.WithCancel(f.ctx)
}

// hub waits until the hub is there, and returns a context that ends when it is lost, or with ctx.
func (f *Fleet) hub(ctx context.Context) (context.Context, context.CancelFunc, error) {
	for begin := time.Now(); ; pause(ctx, beat/20) {
		f.mu.Lock()
		there := f.there
		f.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case f.ctx.Err() != nil:
			return nil, nil, fmt.Errorf("fleet: %w: this fleet was closed", ErrNoHub)
		case there.Err() == nil:
			both, cancel := context.WithCancel(ctx)
			stop := context.AfterFunc(there, cancel)
			return both, func() { stop(); cancel() }, nil
		case time.Since(begin) > f.patience():
			return nil, nil, fmt.Errorf("fleet: %w for %v: start it again with ./scripts/hub", ErrNoHub, f.patience())
		}
	}
}

func (f *Fleet) patience() time.Duration { return cmp.Or(f.Timeout, 30*time.Second) }
