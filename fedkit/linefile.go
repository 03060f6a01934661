package fedkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// lineFile is a file of lines (see chain) that grows while a run goes on, and that no other process writes.
type lineFile struct {
	path string
	f    *os.File
	lock *flock.Flock
	size int64 // what is written whole
	sum  chain
}

// openLines opens the file of an option, which begins at path, and makes it and its folders as needed. What is in it stays.
func openLines(option, path, file string) (*lineFile, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return nil, cannotWrite(option, path, err)
	}
	l := &lineFile{path: file}
	for l.f == nil {
		f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, cannotWrite(option, path, err)
		}
		l.lock = flock.New(file)
		if ok, err := tryLock(l.lock); err == nil && !ok {
			_ = f.Close() // nothing was written
			return nil, Invalid(option, path, "a file of its own: another process writes this one")
		} // an error means a file system without locks
		opened, _ := f.Stat()
		if there, _ := os.Stat(file); os.SameFile(opened, there) {
			l.f = f
			break
		}
		l.lock, _ = nil, f.Close() // who had it has removed it
	}
	return l, nil
}

// tryLock waits a moment, since Look has the lock for less than that.
func tryLock(lock *flock.Flock) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	ok, err := lock.TryLockContext(ctx, 5*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return ok, err
}

func cannotWrite(option, path string, err error) error {
	return fmt.Errorf("%w: %s = %s: must be a file that can be written: %w", ErrInvalid, option, path, err)
}

// append adds a line. After an error the file is as it was.
func (l *lineFile) append(make func(*chain) ([]byte, error)) error {
	sum := l.sum
	line, err := make(&sum)
	if err != nil {
		return err
	}
	if _, err := l.f.WriteAt(line, l.size); err != nil {
		_ = l.f.Truncate(l.size) // best effort: half a line is left out by readers
		return fmt.Errorf("%s: %w", l.path, err)
	}
	l.size += int64(len(line))
	l.sum = sum
	return nil
}

// add adds the line of a round.
func (l *lineFile) add(r *Record) error {
	return l.append(func(c *chain) ([]byte, error) { return c.recordOf(r) })
}

// cut leaves the first size bytes, whose checksum is sum.
func (l *lineFile) cut(size int64, sum chain) error {
	l.size, l.sum = size, sum
	return l.f.Truncate(size)
}

// restart leaves nothing but the line of a history.
func (l *lineFile) restart(h *History) error {
	if err := l.cut(0, 0); err != nil {
		return err
	}
	return l.append(func(c *chain) ([]byte, error) { return c.headingOf(h) })
}

// close lets others write.
func (l *lineFile) close() error {
	if l == nil {
		return nil
	}
	err := l.f.Close()
	_ = l.lock.Unlock() // it has no other use
	return err
}
