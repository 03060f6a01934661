package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"fedkit.example/datasets/room"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/lines"
	"fedkit.example/fedkit/internal/text"
)

// Config says which files a run has, and when it writes them.
type Config struct {
	History    string                // its file, "" for none: Options.History
	Checkpoint string                // its path, "" for none: Options.Checkpoint
	Every      int                   // rounds between checkpoints; 0: not by rounds
	After      time.Duration         // time between checkpoints; 0: not by time
	Thin       func(*history.Record) // removes from a round what a checkpoint does not keep
}

// Files are the files that a run writes. Either may be missing.
type Files struct {
	config  Config
	h       *history.History // the run's, whose rounds are as the history file keeps them
	states  States
	history *lines.File // of Options.History
	begun   bool        // the history file has this run's heading
	written int         // rounds in the history file
	log     *lines.File // the rounds of Options.Checkpoint
	last    *snapshot   // of the last round
	saved   int         // the round of the last checkpoint
	at      time.Time   // the time of the last checkpoint
	pending bool        // one is due
	rest    time.Time   // none is written before: due ones give way to newer ones
}

// Open locks the files, cleans up after a killed run, and refuses paths that cannot be written.
func Open(c Config, h *history.History, states States) (f *Files, err error) {
	f = &Files{config: c, h: h, states: states}
	defer func() {
		if err != nil {
			f.Release()
			f = nil
		}
	}()
	if path := c.History; path != "" {
		if f.history, err = lines.Open("Options.History", path, path); err != nil {
			return f, err
		}
	}
	path := c.Checkpoint
	if path == "" {
		return f, nil
	}
	if f.log, err = lines.Open("Options.Checkpoint", path, path+roundsSuffix); err != nil {
		return f, err
	}
	finishRotation(path)
	if err = os.WriteFile(path+newSuffix, nil, 0o666); err == nil {
		err = os.Remove(path + newSuffix)
	}
	if err != nil {
		return f, lines.CannotWrite("Options.Checkpoint", path, err)
	}
	return f, nil
}

// Resume sets the States from the checkpoint, and returns its rounds: none if there is no checkpoint, whatever other files there
// are. Then it calls each for every round, with all Results and Clusters, before it reads the next: what that drops takes no memory. A
// damaged checkpoint is set aside, and the previous one is used: then each begins again with round 1.
func (f *Files) Resume(each func(*history.Record)) (rounds []history.Record, err error) {
	if f.log == nil {
		return nil, nil
	}
	path := f.config.Checkpoint
	rounds, err = f.load(path, each)
	if errors.Is(err, fs.ErrNotExist) { // never written, or removed
		if err := os.Remove(path + beforeSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, f.begin(0, 0, 0)
	}
	var other otherRun
	if err == nil || errors.As(err, &other) {
		return rounds, err
	}
	rounds, worse := f.load(path+beforeSuffix, each)
	switch {
	case errors.Is(worse, fs.ErrNotExist):
		return nil, err
	case worse != nil:
		return nil, errors.Join(err, worse)
	}
	slog.Warn("fedkit: the run goes on from the checkpoint before", "round", len(rounds), "kept", path+damagedSuffix, "because", err)
	if err := os.Rename(path, path+damagedSuffix); err != nil {
		return nil, err
	}
	return rounds, os.Rename(path+beforeSuffix, path)
}

// load resumes from one file.
func (f *Files) load(path string, each func(*history.Record)) (rounds []history.Record, err error) {
	b, err := room.ReadFile(path, 1)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("checkpoint %s: %w", path, text.ShortError(err))
		}
	}()
	c, state, err := parse(b)
	if err != nil {
		return nil, err
	}
	if err := c.fits(f.h, f.states); err != nil {
		return nil, err
	}
	if was := c.Run.Code; was != f.h.Code {
		slog.Warn("fedkit: other code began the run", "checkpoint", path, "was", was, "is", f.h.Code)
	}
	if was := c.Run.Hardware; was != f.h.Hardware && was != "" {
		slog.Warn("fedkit: other hardware began the run, which may round differently", "checkpoint", path, "was", was, "is", f.h.Hardware)
	}
	if err := f.states.decode(state); err != nil {
		return nil, err
	}
	if rounds, err = f.readRounds(c, each); err != nil {
		return nil, fmt.Errorf("its rounds: %s: %w", f.log.Name(), err)
	}
	return rounds, f.begin(len(rounds), c.Size, c.Sum)
}

// readRounds reads the rounds of a checkpoint.
func (f *Files) readRounds(c *header, each func(*history.Record)) ([]history.Record, error) {
	if info, err := f.log.Stat(); err != nil {
		return nil, err
	} else if c.Size < 0 || c.Size > info.Size() {
		return nil, fmt.Errorf("%d bytes, want %d", info.Size(), c.Size)
	}
	h, sum, open, err := history.ReadOpen(io.NewSectionReader(f.log, 0, c.Size), func(h *history.History, r *history.Record) error {
		if h.Clients != c.Run.Clients {
			return fmt.Errorf("%d clients, want %d", h.Clients, c.Run.Clients)
		}
		each(r)
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case sum != c.Sum || !open:
		return nil, errors.New("they are not those of the checkpoint")
	case len(h.Rounds) != c.Round || c.Round > 0 && h.Last().Round != c.Round:
		return nil, fmt.Errorf("%d of %d rounds", len(h.Rounds), c.Round)
	}
	return h.Rounds, nil
}

// begin prepares the files for the rounds after the given one.
func (f *Files) begin(round int, size int64, sum lines.Sum) error {
	err := f.log.Cut(size, sum)
	if size == 0 {
		err = restart(f.log, f.h)
	}
	if err != nil {
		return err
	}
	f.saved, f.at = round, time.Now()
	return nil
}

// Add writes a complete round, and returns the error of a checkpoint that could not be written.
func (f *Files) Add(r *history.Record) error {
	if f.history != nil {
		if err := f.stream(); err != nil {
			return fault.Within("history", err)
		}
	}
	if f.log == nil {
		return nil
	}
	own := *r
	f.config.Thin(&own)
	err := f.log.Append(history.RecordLine(&own))
	if err == nil {
		err = f.snap(r.Round)
	}
	f.pending = f.pending || f.due(r.Round)
	if err == nil && f.pending && time.Now().After(f.rest) {
		err = f.save()
	}
	return fault.Within("checkpoint", err)
}

// stream writes the rounds that the history file lacks.
func (f *Files) stream() error {
	if !f.begun {
		if err := restart(f.history, f.h); err != nil {
			return err
		}
		f.begun = true
	}
	for ; f.written < len(f.h.Rounds); f.written++ {
		if err := f.history.Append(history.RecordLine(&f.h.Rounds[f.written])); err != nil {
			return err
		}
	}
	return nil
}

// snap copies the State after a round, since the next one may be interrupted halfway.
func (f *Files) snap(round int) error {
	copies, err := f.states.Copy()
	f.last = &snapshot{round: round, size: f.log.Size, sum: f.log.Sum, states: copies, early: f.h.Early}
	return err
}

// due reports whether a checkpoint is due after a round.
func (f *Files) due(round int) bool {
	every, after := f.config.Every, f.config.After
	return every > 0 && round%every == 0 || after > 0 && time.Since(f.at) >= after
}

// Finish writes what is missing when the run is over: the last round's checkpoint, and the end of a history unless the run
// failed.
func (f *Files) Finish(failed error) (err error) {
	if f.last != nil && f.last.round > f.saved {
		err = fault.Within("checkpoint", f.save())
	}
	if f.history != nil && failed == nil {
		err = errors.Join(err, fault.Within("history", f.end()))
	}
	return err
}

func (f *Files) end() error {
	if err := f.stream(); err != nil {
		return err
	}
	if err := f.history.Append(history.EndLine(f.h)); err != nil {
		return err
	}
	return f.history.Sync()
}

// Release closes the files, and unlocks them for other runs.
func (f *Files) Release() {
	if f == nil {
		return
	}
	if f.log != nil && f.useless() {
		_ = os.Remove(f.log.Name())
	}
	_ = f.log.Close()
	_ = f.history.Close()
}

// useless reports whether no checkpoint refers to the rounds' file. One that another process has put in its place is that one's.
func (f *Files) useless() bool {
	info, err := f.log.Stat()
	if there, _ := os.Stat(f.log.Name()); !os.SameFile(info, there) {
		return false
	}
	return err == nil && info.Size() == 0 || !exists(f.config.Checkpoint) && !exists(f.config.Checkpoint+beforeSuffix)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// restart empties a file but for the heading line of a history.
func restart(f *lines.File, h *history.History) error {
	if err := f.Cut(0, 0); err != nil {
		return err
	}
	return f.Append(history.HeadingLine(h))
}
