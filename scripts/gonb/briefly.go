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
