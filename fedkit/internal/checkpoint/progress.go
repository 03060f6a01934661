package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"fedkit.example/datasets/room"
	"fedkit.example/fedkit/history"
	"github.com/gofrs/flock"
)

// Progress is the progress of a run, as its file has it.
type Progress struct {
	History *history.History // without per-client results; nil before the first round. Stopped if the run ended before its last round, unless Early says why
	Planned int              // planned rounds; 0 if unknown
	Running bool             // a program is writing the file
	Updated time.Time        // when the file was last written
}

// justMade is how long an empty file may be unlocked: its program has created it, and is about to lock it.
const justMade = time.Second

// ReadProgress reads the progress of a run from the file that it writes, in any program. The path is that of Options.History or
// Options.Checkpoint. The run is not disturbed. A killed run stops Running at once.
//
// Errors: no such file; a file that LoadLight refuses.
func ReadProgress(path string) (*Progress, error) {
	file, s := path, &Progress{}
	if exists(path + roundsSuffix) {
		file = path + roundsSuffix
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("fedkit: progress: %w", err)
	}
	free, refused := tryShared(file) // checked first: if nobody writes, what is read then is complete
	s.Updated, s.Running = info.ModTime(), !free && !errors.Is(refused, fs.ErrNotExist)
	if info.Size() == 0 {
		s.Running = s.Running || time.Since(s.Updated) < justMade
		return s, nil
	}
	if s.History, err = history.LoadLight(file); err != nil {
		return s, err
	}
	s.Planned = planned(s.History)
	if file != path {
		s.ofCheckpoint(path, refused == nil)
	}
	switch {
	case !s.Running || s.History.Stopped:
	case refused != nil: // without locks, a run that has all its rounds is over, and another one counts as running
		s.Running = false
	default: // the file of a previous run, until the first round is over
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
func (s *Progress) ofCheckpoint(path string, locks bool) {
	if b, err := room.ReadFile(path, 1); err == nil {
		if c, _, err := parse(b); err == nil {
			s.Planned, s.History.Early = max(s.Planned, planned(c.Run.History())), c.Early
		}
	}
	n := len(s.History.Rounds)
	if s.Running && n > s.Planned { // the checkpoint with the longer plan is not written yet
		s.Planned = 0
	}
	s.History.Stopped = s.Running && locks || n < s.Planned && s.History.Early == ""
}

// tryShared reports whether no run holds the lock of a file. Its error is that of a file system without locks, or of a missing file.
var tryShared = func(file string) (bool, error) {
	lock := flock.New(file, flock.SetFlag(os.O_RDONLY))
	defer lock.Close()
	return lock.TryRLock()
}
