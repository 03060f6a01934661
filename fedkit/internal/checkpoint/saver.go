package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"fedkit.example/datasets/room"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/file"
	"fedkit.example/fedkit/internal/lines"
)

// snapshot is the content of a checkpoint after a round.
type snapshot struct {
	round  int
	size   int64 // of the rounds' file up to this round
	sum    lines.Sum
	states States // copies
	early  string // History.Early
}

// saver writes checkpoints in the background. Its duty cycle is at most 1/60: if rounds are faster, the newest snapshot waits and
// older ones are dropped.
type saver struct {
	path    string
	run     *history.History // without rounds
	log     *os.File         // the rounds
	pending chan *snapshot   // the newest, waiting
	closing chan struct{}
	over    sync.WaitGroup

	mu  sync.Mutex
	err error // the first
}

func newSaver(path string, run history.History, log *os.File) *saver {
	run.Rounds = nil
	s := &saver{path: path, run: &run, log: log, pending: make(chan *snapshot, 1), closing: make(chan struct{})}
	s.over.Go(func() {
		for snap := range s.pending {
			if s.failed() != nil {
				continue
			}
			begin := time.Now() // until the disk is done: the system's work for it takes processors too
			err := s.write(snap)
			s.mu.Lock()
			s.err = err
			s.mu.Unlock()
			select {
			case <-time.After(idleFactor * time.Since(begin)):
			case <-s.closing: // the last one does not wait
			}
		}
	})
	return s
}

// idleFactor is the idle time after a write, per time of writing.
const idleFactor = 60

// save queues a snapshot in place of a waiting one, and returns the error of earlier ones.
func (s *saver) save(snap *snapshot) error {
	select {
	case <-s.pending:
	default:
	}
	s.pending <- snap // the only sender
	return s.failed()
}

// close waits until everything is written.
func (s *saver) close() error {
	if s.pending != nil {
		close(s.pending)
		close(s.closing)
		s.over.Wait()
		s.pending = nil
	}
	return s.failed()
}

func (s *saver) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Suffixes of the files beside a checkpoint.
const (
	roundsSuffix  = ".rounds"  // the rounds so far, as in a history file
	beforeSuffix  = ".before"  // the previous checkpoint
	newSuffix     = ".new"     // the next one, while it is written
	damagedSuffix = ".damaged" // one that could not be read
)

// write writes a checkpoint atomically, and keeps the previous one.
func (s *saver) write(snap *snapshot) (err error) {
	defer func() {
		if p := recover(); p != nil { // in a method of a State
			err = fmt.Errorf("panic: %w", fault.Panicked(p))
		}
		if err != nil {
			_ = os.Remove(s.path + newSuffix) // of no use
			err = fmt.Errorf("checkpoint %s of round %d: %w", s.path, snap.round, err)
		}
	}()
	if err := errors.Join(s.held(), s.log.Sync()); err != nil {
		return err
	}
	f, err := os.Create(s.path + newSuffix)
	if err != nil {
		return err
	}
	if err = encode(f, s.run, snap); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close(), s.held()); err != nil {
		return err
	}
	if err := os.Rename(s.path, s.path+beforeSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(s.path+newSuffix, s.path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(s.path))
	if err != nil {
		return err
	}
	_ = folder.Sync() // not every file system supports it
	return folder.Close()
}

// guards has conditions by paths of checkpoints.
var guards sync.Map

// Guard lets a checkpoint be written only while held returns nil, until release is called.
func Guard(path string, held func() error) (release func()) {
	guards.Store(path, held)
	return func() { guards.Delete(path) }
}

func (s *saver) held() error {
	if held, ok := guards.Load(s.path); ok {
		return held.(func() error)()
	}
	return nil
}

// Own copies the rounds of a checkpoint, if there is one, into a new file in their place: a process that has lost its run, or a server
// that remembers the lock of a dead one, may still have the old file.
func Own(path string) error {
	f, err := os.Open(path + roundsSuffix)
	if err != nil {
		return nil // none, or what Open will refuse
	}
	defer f.Close()
	return file.Stream(f.Name(), func(w io.Writer) error { _, err := io.Copy(w, f); return err })
}

// finishRotation completes a rotation that was killed between its two renames.
func finishRotation(path string) {
	if exists(path) || !exists(path+beforeSuffix) {
		return
	}
	b, err := room.ReadFile(path+newSuffix, 1)
	if err == nil {
		_, _, err = parse(b)
	}
	if err == nil {
		_ = os.Rename(path+newSuffix, path) // otherwise the run starts over
	}
}
