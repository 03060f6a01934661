// Package jpyexec is a file that setup adds to GoNB's package of this name: see install_gonb in scripts/setup.sh.
package jpyexec

import (
	"bytes"
	"fmt"
	"io"
)

// What is shown of output that is longer, in bytes.
const (
	firstShown = 400_000
	lastShown  = 100_000
)

// copyBriefly copies what a program prints to the notebook w as it comes. Of output longer than firstShown + lastShown, it leaves out the
// lines in the middle, and says how many. A capture, if there is one, gets all of it.
func copyBriefly(w io.Writer, r io.Reader, capture io.Writer) error {
	if capture != nil {
		r = io.TeeReader(r, capture)
	}
	r = &places{Reader: r, start: true}
	if _, err := io.CopyN(w, r, firstShown); err == io.EOF {
		return nil
	} else if err != nil {
		return err
	}
	var kept bytes.Buffer
	cut, lines, some := false, 1, make([]byte, 1<<15)
	for {
		n, err := r.Read(some)
		kept.Write(some[:n])
		if more := kept.Len() - lastShown; more > 0 {
			if !cut {
				fmt.Fprintf(w, "\n… these were %d kB: of what follows, the last lines are shown when it ends …\n", firstShown/1000)
			}
			cut, lines = true, lines+bytes.Count(kept.Next(more), []byte("\n"))
		}
		if err == nil {
			continue
		}
		if cut {
			kept.Next(bytes.IndexByte(kept.Bytes(), '\n') + 1) // the end of a line
			fmt.Fprintf(w, "… lines left out: %d …\n", lines)
		}
		if _, wrong := kept.WriteTo(w); err == io.EOF {
			err = wrong
		}
		return err
	}
}

// A places passes on at once what it reads, but a line that a tab begins only as a whole: Go writes a trace in pieces, and GoNB knows a
// place in the code by its whole line.
type places struct {
	io.Reader
	kept  []byte // read and not passed on
	start bool   // kept begins a line
	err   error
}

func (r *places) Read(p []byte) (n int, err error) {
	for {
		ready, last := len(r.kept), bytes.LastIndexByte(r.kept, '\n')+1
		if r.err == nil && (last > 0 || r.start) && len(r.kept)-last < 1000 && bytes.HasPrefix(r.kept[last:], []byte("\t")) {
			ready = last
		}
		if ready > 0 {
			n = copy(p, r.kept[:ready])
			r.kept, r.start = r.kept[n:], r.kept[n-1] == '\n'
			return n, nil
		}
		if r.err != nil {
			return 0, r.err
		}
		some := make([]byte, 1<<15)
		n, r.err = r.Reader.Read(some)
		r.kept = append(r.kept, some[:n]...)
	}
}
