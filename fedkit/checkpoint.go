package fedkit

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/lines"
)

// A checkpoint is what a run needs to go on, in two files: the rounds so far, which only grows, and the strategy's State,
// which is written anew each time:
//
//	magic, format (4 bytes), length of the header (4 bytes), header (JSON), State (gob), CRC-32C of all of it (4 bytes)
//
// with little-endian numbers. Randomness needs nothing, since it depends on seed, round and client alone.
const (
	checkpointMagic  = "fedkit checkpoint\n"
	checkpointFormat = 1
)

// checkpointHeader says which run a checkpoint belongs to, and how far it is.
type checkpointHeader struct {
	Run    history.Heading   `json:"run"`
	Round  int               `json:"round"`
	Size   int64             `json:"size"`   // of the rounds' file up to this round
	Sum    lines.Sum         `json:"sum"`    // its checksum
	Layout map[string]string `json:"layout"` // of State: gob would skip a field that has another name now
}

// checkWritable makes the folder of a checkpoint, and refuses a path that is a folder.
func checkWritable(path string) error {
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

// encodeCheckpoint writes what a checkpoint holds.
func encodeCheckpoint(f io.Writer, run *History, snap *snapshot) error {
	header, err := json.Marshal(checkpointHeader{Run: history.HeadingOf(run), Round: snap.round, Size: snap.size, Sum: snap.sum, Layout: layoutOf(snap.states)})
	if err != nil {
		return err
	}
	b, sum := bufio.NewWriterSize(f, 1<<20), crc32.New(lines.Castagnoli)
	w := io.MultiWriter(b, sum)
	start := binary.LittleEndian.AppendUint32([]byte(checkpointMagic), checkpointFormat)
	start = binary.LittleEndian.AppendUint32(start, uint32(len(header)))
	if _, err := w.Write(append(start, header...)); err != nil {
		return err
	}
	if err := encodeStates(w, snap.states); err != nil {
		return err
	}
	if _, err := b.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32())); err != nil {
		return err
	}
	return b.Flush()
}

func encodeStates(w io.Writer, states []any) error {
	e := gob.NewEncoder(w)
	for _, state := range states {
		if err := e.Encode(state); err != nil {
			return fmt.Errorf("the strategy's State cannot be saved: %w", err)
		}
	}
	return nil
}

// readCheckpoint returns the header and the encoded State.
func readCheckpoint(b []byte) (h *checkpointHeader, state []byte, err error) {
	rest, ok := bytes.CutPrefix(b, []byte(checkpointMagic))
	switch start := b[:min(len(b), 256)]; {
	case !ok && bytes.Contains(start, []byte("History")) && bytes.Contains(start, []byte("Layout")):
		return nil, nil, errors.New("an older version of fedkit wrote it, in a format that this one does not read: remove the file to begin anew, or finish the run with that version")
	case !ok:
		return nil, nil, errors.New("no checkpoint, or altered")
	case len(rest) < 12:
		return nil, nil, errors.New("truncated")
	}
	format, n := binary.LittleEndian.Uint32(rest), int64(binary.LittleEndian.Uint32(rest[4:]))
	if format > checkpointFormat {
		return nil, nil, fmt.Errorf("%w: format %d, this one reads %d", ErrNewer, format, checkpointFormat)
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if rest = rest[8 : len(rest)-4]; crc32.Checksum(body, lines.Castagnoli) != sum || format != checkpointFormat || n > int64(len(rest)) {
		return nil, nil, errors.New("truncated or altered: its checksum does not match")
	}
	h = &checkpointHeader{Run: history.HeadingOf(new(History))}
	if err := lines.Strict(rest[:n], h); err != nil {
		return nil, nil, err
	}
	return h, rest[n:], nil
}

// decodeStates sets States to what encodeStates wrote.
func decodeStates(b []byte, states []any) (err error) {
	defer func() {
		if p := recover(); p != nil { // gob is given a file's bytes
			err = fmt.Errorf("the strategy's State: %v", p)
		}
	}()
	d := gob.NewDecoder(bytes.NewReader(b))
	for _, state := range states {
		reflect.ValueOf(state).Elem().SetZero() // gob leaves out what is zero
		if err := d.Decode(state); err != nil {
			return fmt.Errorf("the strategy's State: %w", err)
		}
	}
	return nil
}

// otherRun is the error of a checkpoint that belongs to another run: it says in what they differ.
type otherRun []string

func (o otherRun) Error() string {
	return fmt.Sprintf("%v: it belongs to another run: %s", ErrInvalid, strings.Join(o, "; "))
}

func (o otherRun) Unwrap() error { return ErrInvalid }

// fits refuses a checkpoint of another run.
func (h *checkpointHeader) fits(run *History, states []any) error {
	differ := append(h.Run.History().Differs(run), differLayouts(h.Layout, layoutOf(states))...)
	if differ != nil {
		return otherRun(differ)
	}
	return nil
}
