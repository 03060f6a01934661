// Package checkpoint writes the files of a run, and resumes from them: its history, and its checkpoint with the States of its
// strategy.
package checkpoint

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"

	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/lines"
)

// A checkpoint is what a run needs to resume, in two files: the rounds so far, which only grows, and the strategy's State, which
// is rewritten each time:
//
//	magic, format (4 bytes), length of the header (4 bytes), header (JSON), State (gob), CRC-32C of all of it (4 bytes)
//
// with little-endian numbers. Random generators are not saved, since randomness depends on seed, round and client alone.
const (
	magic  = "fedkit checkpoint\n"
	format = 1
)

// header identifies the run of a checkpoint, and its round.
type header struct {
	Run    history.Heading   `json:"run"`
	Round  int               `json:"round"`
	Size   int64             `json:"size"`            // of the rounds' file up to this round
	Sum    lines.Sum         `json:"sum"`             // its checksum
	Layout map[string]string `json:"layout"`          // of State: gob would skip a renamed field
	Early  string            `json:"early,omitempty"` // History.Early, of which the heading says nothing
}

// CheckWritable makes the folder of a checkpoint, and refuses a path that is a folder.
func CheckWritable(path string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		if info, _ := os.Stat(path); info != nil && info.IsDir() || os.IsPathSeparator(path[len(path)-1]) {
			err = errors.New("it is a folder")
		}
	}
	if err != nil {
		return lines.CannotWrite("Options.Checkpoint", path, err)
	}
	return nil
}

// encode writes a checkpoint.
func encode(f io.Writer, run *history.History, snap *snapshot) error {
	head, err := json.Marshal(header{Run: history.HeadingOf(run), Round: snap.round, Size: snap.size, Sum: snap.sum, Layout: snap.states.layout(), Early: snap.early})
	if err != nil {
		return err
	}
	b, sum := bufio.NewWriterSize(f, 1<<20), crc32.New(lines.Castagnoli)
	w := io.MultiWriter(b, sum)
	start := binary.LittleEndian.AppendUint32([]byte(magic), format)
	start = binary.LittleEndian.AppendUint32(start, uint32(len(head)))
	_, _ = w.Write(append(start, head...)) // Flush returns the error of any write
	if err := snap.states.Encode(w); err != nil {
		return err
	}
	_, _ = b.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
	return b.Flush()
}

// parse returns the header and the encoded State.
func parse(b []byte) (h *header, state []byte, err error) {
	rest, ok := bytes.CutPrefix(b, []byte(magic))
	switch start := b[:min(len(b), 256)]; {
	case !ok && bytes.Contains(start, []byte("History")) && bytes.Contains(start, []byte("Layout")):
		return nil, nil, errors.New("an older version of fedkit wrote it, in a format that this one does not read: remove the file to start over, or finish the run with that version")
	case !ok:
		return nil, nil, errors.New("no checkpoint, or altered")
	case len(rest) < 12:
		return nil, nil, errors.New("truncated")
	}
	was, n := binary.LittleEndian.Uint32(rest), int64(binary.LittleEndian.Uint32(rest[4:]))
	if was > format {
		return nil, nil, fmt.Errorf("%w: format %d, this one reads %d", fault.ErrNewer, was, format)
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if rest = rest[8 : len(rest)-4]; crc32.Checksum(body, lines.Castagnoli) != sum || was != format || n > int64(len(rest)) {
		return nil, nil, errors.New("truncated or altered: its checksum does not match")
	}
	h = &header{Run: history.HeadingOf(new(history.History))}
	if err := lines.Strict(rest[:n], h); err != nil {
		return nil, nil, err
	}
	return h, rest[n:], nil
}

// otherRun is the error of a checkpoint that belongs to another run: it lists the differences.
type otherRun []string

func (o otherRun) Error() string {
	return fmt.Sprintf("%v: it belongs to another run: %s", fault.ErrInvalid, strings.Join(o, "; "))
}

func (o otherRun) Unwrap() error { return fault.ErrInvalid }

// fits refuses a checkpoint of another run.
func (h *header) fits(run *history.History, states States) error {
	differ := append(h.Run.History().Differs(run), differLayouts(h.Layout, states.layout())...)
	if differ != nil {
		return otherRun(differ)
	}
	return nil
}
