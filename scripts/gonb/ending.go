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

func (h *Held) Write(p []byte) (n int, err error) {
	now := append(h.kept, p...)
	h.kept = nil
	if at := begins.FindIndex(p); at != nil {
		h.kept = bytes.Clone(p[at[0]:])
		if h.reason = nil; p[at[0]] != 'e' { // no program's own "error: "
			h.reason = h.kept
		}
		now = now[:len(now)-len(h.kept)]
	} else if len(h.reason) > 0 && !bytes.Contains(h.reason, []byte("\n")) {
		h.reason = append(bytes.Clone(h.reason), p...)
	}
	if len(now) > 0 {
		_, err = h.Writer.Write(now)
	}
	return len(p), err
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
	if h, _ := stderr.(*Held); h != nil {
		if err != nil && len(h.kept) > 0 && !bytes.Contains(h.kept, []byte("\ngoroutine ")) {
			return errors.New(strings.TrimSpace(string(h.kept)))
		}
		_, _ = h.Write(nil) // the trace
		if first, _, _ := strings.Cut(string(h.reason), "\n"); err != nil && first != "" {
			return errors.New(first)
		}
	}
	for _, w := range why {
		if err != nil && strings.Contains(err.Error(), w.said) {
			return errors.New(w.sentence)
		}
	}
	return err
}
