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

// Sight is how far a run is, as its file says.
type Sight struct {
	History *history.History // without what is known of each client; nil before the first round. Stopped if the run ended early
	Of      int              // rounds that it is to reach; 0 if that is not known
	Going   bool             // a program writes the file
	Last    time.Time        // when the file was last written
}

// justMade is how long an empty file may be nobody's: its program has made it, and is about to lock it.
const justMade = time.Second

// Look says how far the run is that writes a file, from any program. The path is that of Options.History or Options.Checkpoint.
// The run is not disturbed. One that is killed goes on no more, at once.
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
	s.Last, s.Going = info.ModTime(), isWritten(file) // asked first: what is read is then all, if nobody writes
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
	if s.Going && !s.History.Stopped { // the file of a run before, until the first round is over
		s.History = nil
	}
	return s, nil
}

// planned returns how many rounds a run is to have, 0 if its history does not say.
func planned(h *history.History) int {
	text, _ := h.Settings.At("Rounds")
	n, _ := strconv.Atoi(text)
	return n
}

// ofCheckpoint adds what a checkpoint says: its rounds' file has no end, and a run that goes on may be for longer.
func (s *Sight) ofCheckpoint(path string) {
	if b, err := os.ReadFile(path); err == nil {
		if c, _, err := parse(b); err == nil {
			s.Of = max(s.Of, planned(c.Run.History()))
		}
	}
	n := len(s.History.Rounds)
	if s.Going && n > s.Of { // the checkpoint that says it is not written yet
		s.Of = 0
	}
	s.History.Stopped = s.Going || n < s.Of
}

// isWritten says whether a run writes a file: it then has the lock. On a file system without locks, it may always.
func isWritten(file string) bool {
	lock := flock.New(file, flock.SetFlag(os.O_RDONLY))
	ok, err := lock.TryRLock()
	_ = lock.Close()
	return !ok && !errors.Is(err, fs.ErrNotExist)
}
