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

// idleFactor is the time between two writes, per time of writing: the duty cycle is at most 1/60.
const idleFactor = 60

// Suffixes of the files beside a checkpoint.
const (
	roundsSuffix  = ".rounds"  // the rounds so far, as in a history file
	beforeSuffix  = ".before"  // the previous checkpoint
	newSuffix     = ".new"     // the next one, while it is written
	damagedSuffix = ".damaged" // one that could not be read
)

// save writes the checkpoint of the last round atomically, and keeps the previous one.
func (f *Files) save() (err error) {
	path, begin := f.config.Checkpoint, time.Now()
	f.saved, f.at, f.pending = f.last.round, begin, false
	defer func() {
		if err != nil {
			_ = os.Remove(path + newSuffix) // of no use
			err = fmt.Errorf("checkpoint %s of round %d: %w", path, f.last.round, err)
		}
		f.rest = time.Now().Add(idleFactor * time.Since(begin))
	}()
	defer fault.Recovered("", &err) // in a method of a State
	if err := errors.Join(held(path), f.log.Sync()); err != nil {
		return err
	}
	next, err := os.Create(path + newSuffix)
	if err != nil {
		return err
	}
	if err = encode(next, f.h, f.last); err == nil {
		err = next.Sync()
	}
	if err = errors.Join(err, next.Close(), held(path)); err != nil {
		return err
	}
	return rotate(path)
}

// rotate puts the next checkpoint in the place of the previous one, and keeps that.
func rotate(path string) error {
	if err := os.Rename(path, path+beforeSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(path+newSuffix, path); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
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

func held(path string) error {
	if held, ok := guards.Load(path); ok {
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
