package study

import (
	"context"
	"slices"
	"sync"
	"time"
)

// queue holds the runs that no process computes yet.
type queue struct {
	mu      sync.Mutex
	missing []*plan
}

// take returns the first run that no other process computes, with its lock, and with room for it. While others compute all that
// are left, it waits. It returns nil if none is left, or ctx is done.
func (q *queue) take(ctx context.Context) (*plan, *lock) {
	for {
		if ctx.Err() != nil {
			return nil, nil
		}
		if p, l := q.try(); p != nil || q.empty() {
			return p, l
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (q *queue) try() (*plan, *lock) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := 0; i < len(q.missing); {
		p := q.missing[i]
		l, err := tryLock(p.dir, p.ID)
		if l == nil && err == nil { // another process computes it
			i++
			continue
		}
		q.missing = slices.Delete(q.missing, i, i+1)
		if err == nil {
			err = p.room()
		}
		if err == nil {
			return p, l
		}
		l.release()
		p.blocked = err
	}
	return nil, nil
}

func (q *queue) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.missing) == 0
}
