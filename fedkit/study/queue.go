package study

import (
	"context"
	"slices"
	"sync"
	"time"
)

// queue holds the runs that this process does not compute yet.
type queue struct {
	mu      sync.Mutex
	missing []*plan
	next    time.Time // when it is worthwhile to look again at those that others compute
}

// take returns the first run that no other process computes, with its lock, and with room for it. While others compute all that
// are left, it waits. It returns nil if none is left, or ctx is done.
func (q *queue) take(ctx context.Context) (*plan, *lock) {
	for {
		if ctx.Err() != nil {
			return nil, nil
		}
		if p, l := q.try(); p != nil || len(q.left()) == 0 {
			return p, l
		}
		select {
		case <-ctx.Done():
		case <-time.After(poll):
		}
	}
}

func (q *queue) try() (*plan, *lock) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now().Before(q.next) { // another worker has just looked
		return nil, nil
	}
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
	q.next = now().Add(poll)
	return nil, nil
}

// remove reports whether the run was still there.
func (q *queue) remove(p *plan) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.missing)
	q.missing = slices.DeleteFunc(q.missing, func(o *plan) bool { return o == p })
	return len(q.missing) < n
}

// left returns the runs that are still there.
func (q *queue) left() []*plan {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.missing)
}
