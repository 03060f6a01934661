package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"fedkit.example/fedkit/history"
	"github.com/gofrs/flock"
)

// Sight is the progress of a run, as its file has it.
type Sight struct {
	History *history.History // without per-client results; nil before the first round. Stopped if the run ended early
	Of      int              // planned rounds; 0 if unknown
	Going   bool             // a program is writing the file
	Last    time.Time        // when the file was last written
}

// justMade is how long an empty file may be unlocked: its program has created it, and is about to lock it.
const justMade = time.Second

// Look reads the progress of a run from the file that it writes, in any program. The path is that of Options.History or
// Options.Checkpoint. The run is not disturbed. A killed run stops Going at once.
//
// Errors: no such file; a file that LoadLight refuses.
func Look(path string) (*Sight, error) {
	file, s := path, &Sight{}
	if exists(path + roundsSuffix) {
		file = path + roundsSuffix
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("fedkit: look: %w", err)
	}
	s.Last, s.Going = info.ModTime(), isWritten(file) // checked first: if nobody writes, what is read then is complete
	if info.Size() == 0 {
		s.Going = s.Going || time.Since(s.Last) < justMade
		return s, nil
	}
	if s.History, err = history.LoadLight(file); err != nil {
		return s, err
	}
	s.Of = planned(s.History)
	if file != path {
		s.ofCheckpoint(path)
	}
	if s.Going && !s.History.Stopped { // the file of a previous run, until the first round is over
		s.History = nil
	}
	return s, nil
}

// planned returns the planned rounds of a run, 0 if its history does not say.
func planned(h *history.History) int {
	text, _ := h.Settings.At("Rounds")
	n, _ := strconv.Atoi(text)
	return n
}

// ofCheckpoint adds the checkpoint's plan: the rounds' file has no end line, and a resumed run may be longer.
func (s *Sight) ofCheckpoint(path string) {
	if b, err := os.ReadFile(path); err == nil {
		if c, _, err := parse(b); err == nil {
			s.Of = max(s.Of, planned(c.Run.History()))
		}
	}
	n := len(s.History.Rounds)
	if s.Going && n > s.Of { // the checkpoint with the longer plan is not written yet
		s.Of = 0
	}
	s.History.Stopped = s.Going || n < s.Of
}

// isWritten reports whether a run holds the lock of a file. On a file system without locks, it is always true.
func isWritten(file string) bool {
	lock := flock.New(file, flock.SetFlag(os.O_RDONLY))
	ok, err := lock.TryRLock()
	_ = lock.Close()
	return !ok && !errors.Is(err, fs.ErrNotExist)
}
