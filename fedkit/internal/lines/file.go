package lines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"fedkit.example/fedkit/internal/fault"
	"github.com/gofrs/flock"
)

// File is a file of lines (see Sum) that grows during a run, locked against other writers.
type File struct {
	*os.File
	lock *flock.Flock
	Size int64 // of the complete lines
	Sum  Sum   // their checksum
}

// Open opens and locks the file of an option, whose value is path, and creates it and its folders as needed. Its content stays.
func Open(option, path, file string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return nil, CannotWrite(option, path, err)
	}
	l := new(File)
	for l.File == nil {
		f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, CannotWrite(option, path, err)
		}
		l.lock = flock.New(file)
		if ok, err := tryLock(l.lock); err == nil && !ok {
			_ = f.Close() // nothing was written
			return nil, fault.Invalid(option, path, "a file of its own: another process writes this one")
		} // an error means a file system without locks
		opened, _ := f.Stat()
		if there, _ := os.Stat(file); os.SameFile(opened, there) {
			l.File = f
			break
		}
		l.lock, _ = nil, f.Close() // its previous owner has removed it
	}
	return l, nil
}

// tryLock retries for a moment, since ReadProgress holds the lock for less than that.
func tryLock(lock *flock.Flock) (bool, error) {
	if ok, err := lock.TryLock(); ok || err != nil { // without a timeout: a busy machine may exceed it before the first try
		return ok, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	ok, err := lock.TryLockContext(ctx, 5*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return ok, err
}

// CannotWrite is the error for the file of an option that cannot be written.
func CannotWrite(option, path string, err error) error {
	return fmt.Errorf("%w: %s = %s: must be a file that can be written: %w", fault.ErrInvalid, option, path, err)
}

// Append adds a line. After an error the file is as it was.
func (l *File) Append(make func(*Sum) ([]byte, error)) error {
	sum := l.Sum
	line, err := make(&sum)
	if err != nil {
		return err
	}
	if _, err := l.File.WriteAt(line, l.Size); err != nil {
		_ = l.File.Truncate(l.Size) // best effort: readers skip half a line
		return fmt.Errorf("%s: %w", l.Name(), err)
	}
	l.Size += int64(len(line))
	l.Sum = sum
	return nil
}

// Cut truncates the file to size bytes, whose checksum is sum.
func (l *File) Cut(size int64, sum Sum) error {
	l.Size, l.Sum = size, sum
	return l.File.Truncate(size)
}

// Close closes the file, and unlocks it for other writers.
func (l *File) Close() error {
	if l == nil {
		return nil
	}
	err := l.File.Close()
	_ = l.lock.Unlock() // it has no other use
	return err
}
