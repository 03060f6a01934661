package fedkit

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/lines"
	"fedkit.example/fedkit/internal/text"
)

// archive is what a run leaves on the disk as it goes on: its history, and its checkpoint. Both may be missing.
type archive struct {
	opts    Options
	h       *History    // the run's, whose rounds are as Options.Keep has them
	states  []any       // of the strategy
	history *lines.File // of Options.History
	begun   bool        // the history file is this run's
	log     *lines.File // the rounds of Options.Checkpoint
	saver   *saver
	last    *snapshot // of the last round
	saved   int       // the round of the last checkpoint
	at      time.Time // when it was
}

// openArchive claims the files, clears what a killed run has left behind, and refuses paths that cannot be written.
func openArchive(o Options, h *History, states []any) (a *archive, err error) {
	a = &archive{opts: o, h: h, states: states}
	defer func() {
		if err != nil {
			a.release()
			a = nil
		}
	}()
	if path := o.History; path != "" {
		if a.history, err = lines.Open("Options.History", path, path); err != nil {
			return a, err
		}
	}
	path := o.Checkpoint
	if path == "" {
		return a, nil
	}
	if a.log, err = lines.Open("Options.Checkpoint", path, path+roundsSuffix); err != nil {
		return a, err
	}
	finishRotation(path)
	f, err := os.Create(path + newSuffix)
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(path+newSuffix))
	}
	if err != nil {
		return a, lines.CannotWrite("Options.Checkpoint", path, err)
	}
	return a, nil
}

// resume returns the rounds that the checkpoint has, with all Solves and Clusters, after setting the States: none if there
// is no checkpoint, whatever else is there. One that is damaged is set aside, and the one before it used.
func (a *archive) resume() (rounds []Record, err error) {
	if a.log == nil {
		return nil, nil
	}
	path := a.opts.Checkpoint
	rounds, err = a.load(path)
	if errors.Is(err, fs.ErrNotExist) { // never written, or removed
		if err := os.Remove(path + beforeSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, a.begin(0, 0, 0)
	}
	var other otherRun
	if err == nil || errors.As(err, &other) {
		return rounds, err
	}
	rounds, worse := a.load(path + beforeSuffix)
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

// load goes on from one file.
func (a *archive) load(path string) (rounds []Record, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("checkpoint %s: %w", path, text.ShortError(err))
		}
	}()
	c, state, err := readCheckpoint(b)
	if err != nil {
		return nil, err
	}
	if err := c.fits(a.h, a.states); err != nil {
		return nil, err
	}
	if was := c.Run.Code; was != a.h.Code {
		slog.Warn("fedkit: other code began the run", "checkpoint", path, "was", was, "is", a.h.Code)
	}
	if was := c.Run.Hardware; was != a.h.Hardware && was != "" {
		slog.Warn("fedkit: other hardware began the run, which may round differently", "checkpoint", path, "was", was, "is", a.h.Hardware)
	}
	if rounds, err = readRounds(a.log.Name(), c); err != nil {
		return nil, err
	}
	if err := decodeStates(state, a.states); err != nil {
		return nil, err
	}
	return rounds, a.begin(len(rounds), c.Size, c.Sum)
}

// readRounds reads the rounds that a checkpoint goes on from.
func readRounds(path string, c *checkpointHeader) ([]Record, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("its rounds: %v", err) // not as if there were no checkpoint
	}
	if c.Size < 0 || c.Size > int64(len(b)) {
		return nil, fmt.Errorf("its rounds: %s has %d bytes, want %d", path, len(b), c.Size)
	}
	h, sum, open, err := history.ParseOpen(b[:c.Size])
	if err == nil {
		err = h.Check()
	}
	switch {
	case err != nil:
	case sum != c.Sum || !open:
		err = errors.New("they are not those of the checkpoint")
	case len(h.Rounds) != c.Round || c.Round > 0 && h.Last().Round != c.Round:
		err = fmt.Errorf("%d of %d rounds", len(h.Rounds), c.Round)
	case h.Clients != c.Run.Clients:
		err = fmt.Errorf("%d clients, want %d", h.Clients, c.Run.Clients)
	}
	if err != nil {
		return nil, fmt.Errorf("its rounds: %s: %w", path, err)
	}
	return h.Rounds, nil
}

// begin lets further rounds follow the first ones.
func (a *archive) begin(round int, size int64, sum lines.Sum) error {
	err := a.log.Cut(size, sum)
	if size == 0 {
		err = restart(a.log, a.h)
	}
	if err != nil {
		return err
	}
	a.saved, a.at = round, time.Now()
	run := *a.h
	run.Rounds = nil
	a.saver = newSaver(&checkpointFile{path: a.opts.Checkpoint, run: &run, log: a.log.File})
	return nil
}

// add keeps a round, which has everything, and returns the error of a checkpoint that could not be written.
func (a *archive) add(r *Record) error {
	if a.history != nil {
		if err := a.stream(); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	if a.log == nil {
		return nil
	}
	own := *r
	a.opts.Keep.scores(&own, a.opts)
	err := add(a.log, &own)
	if err == nil {
		err = a.snap(r.Round)
	}
	if err == nil && a.due(r.Round) {
		err = a.save()
	}
	if err == nil {
		err = a.saver.failed()
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// stream writes the rounds that the history file lacks.
func (a *archive) stream() error {
	from := len(a.h.Rounds) - 1
	if !a.begun {
		from = 0
		if err := restart(a.history, a.h); err != nil {
			return err
		}
		a.begun = true
	}
	for i := max(from, 0); i < len(a.h.Rounds); i++ {
		if err := add(a.history, &a.h.Rounds[i]); err != nil {
			return err
		}
	}
	return nil
}

// snap keeps the State of the round that is over, since the next one may be interrupted half-way.
func (a *archive) snap(round int) error {
	copies, err := copyStates(a.states)
	a.last = &snapshot{round: round, size: a.log.Size, sum: a.log.Sum, states: copies}
	return err
}

// due says whether a checkpoint is written after a round.
func (a *archive) due(round int) bool {
	every, after := a.opts.CheckpointEvery, a.opts.CheckpointAfter
	if every == 0 && after == 0 {
		every = a.opts.EvalEvery
	}
	return every > 0 && round%every == 0 || after > 0 && time.Since(a.at) >= after
}

func (a *archive) save() error {
	a.saved, a.at = a.last.round, time.Now()
	return a.saver.save(a.last)
}

// finish writes what is still missing when the run is over: the last round's checkpoint, and the end of a history unless
// the run failed.
func (a *archive) finish(failed error) error {
	var errs []error
	if a.saver != nil {
		if a.last != nil && a.last.round > a.saved {
			_ = a.save() // close tells
		}
		if err := a.saver.close(); err != nil && !errors.Is(failed, err) {
			errs = append(errs, fmt.Errorf("checkpoint: %w", err))
		}
	}
	if a.history != nil && failed == nil {
		if err := a.end(); err != nil {
			errs = append(errs, fmt.Errorf("history: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (a *archive) end() error {
	if !a.begun {
		if err := a.stream(); err != nil {
			return err
		}
	}
	if err := a.history.Append(func(c *lines.Sum) ([]byte, error) { return history.EndLine(c, a.h) }); err != nil {
		return err
	}
	return a.history.Sync()
}

// release lets other runs have the files.
func (a *archive) release() {
	if a == nil {
		return
	}
	if a.saver != nil {
		_ = a.saver.close() // finish told
	}
	if a.log != nil && a.useless() {
		_ = os.Remove(a.log.Name())
	}
	_ = a.log.Close()
	_ = a.history.Close()
}

// useless says whether the rounds' file has nothing that a checkpoint goes on from.
func (a *archive) useless() bool {
	info, err := a.log.Stat()
	return err == nil && info.Size() == 0 || !exists(a.opts.Checkpoint) && !exists(a.opts.Checkpoint+beforeSuffix)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// add adds the line of a round to a file.
func add(f *lines.File, r *Record) error {
	return f.Append(func(c *lines.Sum) ([]byte, error) { return history.RecordLine(c, r) })
}

// restart leaves nothing but the line of a history.
func restart(f *lines.File, h *History) error {
	if err := f.Cut(0, 0); err != nil {
		return err
	}
	return f.Append(func(c *lines.Sum) ([]byte, error) { return history.HeadingLine(c, h) })
}
