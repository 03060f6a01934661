package study

import (
	"context"
	"slices"
	"sync"
	"time"
)

// queue has the runs that nobody computes yet.
type queue struct {
	mu      sync.Mutex
	missing []*plan
}

// take returns the first run that no other process computes, with its lock. While others compute all that are left, it
// waits. It returns nil if none is left, or ctx is done.
func (q *queue) take(ctx context.Context) (*plan, *lock, error) {
	for {
		if ctx.Err() != nil {
			return nil, nil, nil
		}
		if p, l, err := q.try(); p != nil || err != nil || q.empty() {
			return p, l, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (q *queue) try() (*plan, *lock, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, p := range q.missing {
		if l, err := tryLock(p.dir, p.ID); l != nil || err != nil {
			q.missing = slices.Delete(q.missing, i, i+1)
			if err != nil {
				p = nil
			}
			return p, l, err
		}
	}
	return nil, nil, nil
}

func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.missing) == 0
}
