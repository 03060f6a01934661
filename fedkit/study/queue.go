package study

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
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

// lock lets one process at a time compute or remove a run. It is released when its process ends in any way. On a file system
// without locks it has no effect: two processes may then compute the same run, with the same results.
type lock struct{ *flock.Flock }

// tryLock returns nil if another process has the lock.
func tryLock(dir, id string) (*lock, error) {
	path := filepath.Join(dir, ".locks", id)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	for {
		f := flock.New(path)
		ok, err := f.TryLock()
		var open *fs.PathError
		switch {
		case errors.As(err, &open):
			return nil, fmt.Errorf("study: %w", err)
		case err != nil:
			return &lock{f}, nil
		case !ok:
			return nil, f.Close()
		}
		// The previous holder may have removed the file, so that others lock a new one of that name.
		is, err := f.Stat()
		if err == nil {
			if at, err := os.Stat(path); err == nil && os.SameFile(is, at) {
				return &lock{f}, nil
			}
		}
		_ = f.Close()
	}
}

// release removes the file while it has the lock.
func (l *lock) release() {
	if l == nil {
		return
	}
	_ = os.Remove(l.Path())
	_ = l.Close()
}

// clearAfterKills removes the locks of processes that were killed, and the checkpoints of runs that they had stored.
func clearAfterKills(dir string) {
	files, _ := os.ReadDir(filepath.Join(dir, ".locks"))
	for _, f := range files {
		l, _ := tryLock(dir, f.Name())
		if l == nil {
			continue
		}
		if r, err := read(dir, f.Name()); err == nil && !r.Retry {
			r.removeCheckpoint()
		}
		l.release()
	}
}

// Computing returns the IDs of the runs that processes compute in a folder now.
func Computing(dir string) (ids []string) {
	files, _ := os.ReadDir(filepath.Join(dir, ".locks"))
	for _, f := range files {
		l, err := tryLock(dir, f.Name())
		if l == nil && err == nil {
			ids = append(ids, f.Name())
		}
		l.release()
	}
	return ids
}
