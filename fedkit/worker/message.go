package worker

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/gomlx/compute/dtypes"
)

// magic is the first line of a worker, with the version of its messages.
const magic = "fedkit-worker 7\n"

// frame is a message: the lengths of its head and its bytes, the head in JSON, and the bytes. One without anything is a heartbeat.
type frame struct {
	ID    uint64   `json:",omitempty"` // of a call and of its answer
	bytes [][]byte // for the head's Store, the parts without names, or the results that the worker does not keep

	// To a worker.
	Drop    []string `json:",omitempty"` // what is no longer needed
	Store   string   `json:",omitempty"` // the name of the bytes
	Program string   `json:",omitempty"` // to run: the name of its text
	Args    []arg    `json:",omitempty"`
	Keep    []int    `json:",omitempty"` // the results that the worker keeps, by their resultName; the answer has the others

	// From a worker.
	Hello *hello `json:",omitempty"`
	Error string `json:",omitempty"`
}

// hello is what a worker says of itself.
type hello struct {
	PID   int
	Slots int // programs that it runs at a time
	Kind  Kind
}

// arg is an argument: the bytes of its parts, one after the other.
type arg struct {
	Type  dtypes.DType
	Dims  []int
	Parts []part
}

// part is bytes that the worker has by a name, that are in the frame, or that are those of an earlier part.
type part struct {
	Name string `json:",omitempty"`
	Size int    `json:",omitempty"`
	Like int    `json:",omitempty"` // from 1, in its argument
}

func resultName(call uint64, i int) string { return fmt.Sprint(call, "/", i) }

// check refuses an answer with results of another size, before any of its bytes are read.
func (f *frame) check(size, want uint64) error {
	if size == want || size == 0 && f.Error != "" {
		return nil
	}
	return fmt.Errorf("it answered %d bytes, not %d", size, want)
}

// buffer is how many bytes are read and written at a time.
const buffer = 64 << 10

// sender writes frames.
type sender struct {
	mu sync.Mutex
	to *bufio.Writer
}

// send writes frames, one right after the other.
func (s *sender) send(frames ...*frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range frames {
		head, err := json.Marshal(f)
		if err != nil {
			return err
		}
		size := 0
		for _, b := range f.bytes {
			size += len(b)
		}
		lengths := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), uint64(size))
		for _, b := range append([][]byte{lengths, head}, f.bytes...) {
			_, _ = s.to.Write(b)
		}
	}
	return s.to.Flush() // with the error of any write
}

var errFrame = errors.New("not a message of fedkit")

// receive reads a frame, and returns how many bytes follow it.
func receive(from io.Reader) (f *frame, size uint64, err error) {
	var lengths [16]byte
	if _, err := io.ReadFull(from, lengths[:]); err != nil {
		return nil, 0, err
	}
	n := binary.LittleEndian.Uint64(lengths[:])
	if n > 4<<20 {
		return nil, 0, fmt.Errorf("%w: a head of %d bytes", errFrame, n)
	}
	head := make([]byte, n)
	if _, err := io.ReadFull(from, head); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errFrame, err)
	}
	f = new(frame)
	if err := json.Unmarshal(head, f); err != nil {
		return nil, 0, fmt.Errorf("%w: %.200s", errFrame, err)
	}
	return f, binary.LittleEndian.Uint64(lengths[8:]), nil
}
