package jpyexec

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"regexp"
	"strings"
)

// Mistakes returns what fedkit's stand-in for go says of a cell in this folder that err, of Go's parser, refuses; else the error's text.
func Mistakes(dir string, err error) string {
	cmd := exec.Command("go", "mistakes")
	cmd.Dir = dir
	if said, failed := cmd.Output(); failed == nil && len(said) > 0 {
		return strings.TrimSpace(string(said))
	}
	return err.Error()
}

// A Held writes to a notebook what a cell writes to standard error, but keeps the report of what ended it back: that is the cell's error.
type Held struct {
	io.Writer
	kept   []byte // not written yet
	reason []byte // the first line of a report of Go's own, which comes in pieces
}

var begins = regexp.MustCompile(`(?m)^(?:error|panic|fatal error): `)

func (h *Held) Write(p []byte) (int, error) {
	if err := h.flush(); err != nil {
		return 0, err
	}
	now := p
	if at := begins.FindIndex(p); at != nil {
		now, h.kept = p[:at[0]], bytes.Clone(p[at[0]:])
		if h.reason = nil; p[at[0]] != 'e' {
			h.reason = bytes.Clone(h.kept)
		}
	} else if len(h.reason) > 0 && !bytes.Contains(h.reason, []byte("\n")) {
		h.reason = append(h.reason, p...)
	}
	return len(p), h.write(now)
}

func (h *Held) flush() error {
	kept := h.kept
	h.kept = nil
	return h.write(kept)
}

func (h *Held) write(p []byte) (err error) {
	if len(p) > 0 {
		_, err = h.Writer.Write(p)
	}
	return err
}

// why are sentences on what ends a cell that has not said it itself.
var why = []struct{ said, sentence string }{
	{"signal: killed", "the cell was killed (signal: killed): the system does that when memory is short, so let fewer clients train in a round, " +
		"or in smaller batches; and GoNB five seconds after the stop button, if the cell goes on"},
	{"permission denied", "the cell's program cannot be run where it was built, in TMPDIR or /tmp (permission denied): if that is mounted noexec, " +
		"start Jupyter with TMPDIR set to another folder"},
}

// Ending returns the error that a cell is seen to end with, nil if err, of its process, is nil.
func Ending(err error, stderr io.Writer) error {
	h, _ := stderr.(*Held)
	switch {
	case err == nil && h != nil:
		return h.flush()
	case err == nil:
		return nil
	case h != nil && len(h.kept) > 0 && !bytes.Contains(h.kept, []byte("\ngoroutine ")):
		return errors.New(strings.TrimSpace(string(h.kept)))
	case h != nil && len(h.reason) > 0:
		_ = h.flush() // the trace
		first, _, _ := strings.Cut(string(h.reason), "\n")
		return errors.New(first)
	}
	for _, w := range why {
		if strings.Contains(err.Error(), w.said) {
			return errors.New(w.sentence)
		}
	}
	return err
}
