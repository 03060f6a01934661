// Package remote is the protocol by which one machine has another run programs and keep their results, and the Machine that
// serves it. It knows programs and bytes, and nothing of clients, rounds or models.
package remote

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// Protocol is the version of the messages. Machines of different versions do not work together.
const Protocol = 4

// Call asks a machine to run a program.
type Call struct {
	ID      string // unique
	Program string // hash of its StableHLO text
	Name    string // of the program, for messages
	Desk    string // where its program and its objects are
	Args    []Arg
	Return  int // bytes of results that the answer may carry; the rest is kept
}

// Arg is an argument: its parts, concatenated.
type Arg struct {
	Type  dtypes.DType
	Dims  []int
	Parts []Part
}

// Part is bytes from one of three places: inline in the message, in the store by hash, or kept by the machine as an earlier
// result. If inline bytes end in repetitions of their last four, as padded lists of examples do, the repetitions are not sent.
type Part struct {
	Size   int
	Object string `json:",omitempty"` // hash
	Kept   string `json:",omitempty"` // see Key
	Data   []byte `json:"-"`          // in the message
}

// inline reports whether the bytes are in the message.
func (p Part) inline() bool { return p.Object == "" && p.Kept == "" }

// Key is the name under which result i of a call is kept.
func Key(call string, i int) string { return fmt.Sprintf("%s/%d", call, i) }

// Answer is a machine's reply to a call.
type Answer struct {
	ID      string   `json:"-"` // of the call, and Machine, that of the machine: for whoever has asked
	Machine string   `json:"-"`
	Seconds float64  // compute time
	Error   string   `json:",omitempty"`
	Missing []string `json:",omitempty"` // objects missing from the desk, and results no longer kept
	Results []Result
}

// Result is a result of a program.
type Result struct {
	Type dtypes.DType
	Dims []int
	Kept bool   // by the machine
	Data []byte `json:"-"` // in the message, unless it is kept
}

// String returns it as Float32[2 3], and whether it is kept.
func (r Result) String() string {
	kept := ""
	if r.Kept {
		kept = " kept"
	}
	return fmt.Sprintf("%v%v%s", r.Type, r.Dims, kept)
}

// Expected returns the results that a machine reports for a program with results of these shapes, in a call with Return back.
func Expected(shapes []shapes.Shape, back int) (results []Result) {
	for _, s := range shapes {
		r := Result{Type: s.DType, Dims: s.Dimensions}
		if size := xla.Bytes(r.Type, r.Dims); size > back {
			r.Kept = true
		} else {
			back -= size
		}
		results = append(results, r)
	}
	return results
}

// Equal reports whether two results are of the same type and dimensions, and both kept or both not.
func (r Result) Equal(other Result) bool {
	return r.Type == other.Type && r.Kept == other.Kept && slices.Equal(r.Dims, other.Dims)
}

var errMessage = errors.New("not a message of this protocol")

// read reads the inline bytes, and refuses inconsistent sizes.
func (c *Call) read(rest []byte) ([]byte, error) {
	for i, a := range c.Args {
		size, want := 0, bytesOf(a.Type, a.Dims)
		for j := range a.Parts {
			p, ok := &a.Parts[j], true
			if p.Size < 0 || p.Size > want-size || p.Object != "" && p.Kept != "" {
				return nil, fmt.Errorf("%w: argument %d", errMessage, i)
			}
			size += p.Size
			if p.inline() {
				p.Data, rest, ok = next(rest)
				if !ok || !fills(p.Data, p.Size) {
					return nil, fmt.Errorf("%w: argument %d is not whole", errMessage, i)
				}
			}
		}
		if want < 0 || want != size {
			return nil, fmt.Errorf("%w: argument %d: %d bytes for %s %v", errMessage, i, size, a.Type, a.Dims)
		}
	}
	return rest, nil
}

// Trim returns bytes without the repetitions of their last four.
func Trim(b []byte) []byte {
	n := len(b)
	for n >= 8 && [4]byte(b[n-4:n]) == [4]byte(b[n-8:n-4]) {
		n -= 4
	}
	return b[:n]
}

// fills reports whether b, with its last four bytes repeated, can fill size bytes.
func fills(b []byte, size int) bool {
	return len(b) == size || len(b) >= 4 && len(b) < size && (size-len(b))%4 == 0
}

// fill appends b to data, with its last four bytes repeated up to a size.
func fill(data, b []byte, size int) []byte {
	end := len(data) + size
	for data = append(data, b...); len(data) < end; {
		data = append(data, b[len(b)-4:]...)
	}
	return data
}

// read reads the results that are not kept, and refuses those that do not have their size.
func (a *Answer) read(rest []byte) ([]byte, error) {
	for i := range a.Results {
		r, ok := &a.Results[i], true
		size := bytesOf(r.Type, r.Dims)
		if size < 0 {
			return nil, fmt.Errorf("%w: result %d: %.100s", errMessage, i, r)
		}
		if !r.Kept {
			if r.Data, rest, ok = next(rest); !ok || len(r.Data) != size {
				return nil, fmt.Errorf("%w: result %d is not whole", errMessage, i)
			}
		}
	}
	return rest, nil
}

// bytesOf returns the size of a value, −1 for an invalid type or dimensions.
func bytesOf(t dtypes.DType, dims []int) int {
	if !t.IsSupported() || t.IsPacked() {
		return -1
	}
	return xla.Bytes(t, dims)
}

// Encode returns the message: the head as JSON and the inline bytes, each length-prefixed.
func (c *Call) Encode() []byte {
	message := head(c)
	for _, a := range c.Args {
		for _, p := range a.Parts {
			if p.inline() {
				message = add(message, p.Data)
			}
		}
	}
	return message
}

// Encode returns the message.
func (a *Answer) Encode() []byte {
	message := head(a)
	for _, r := range a.Results {
		if !r.Kept {
			message = add(message, r.Data)
		}
	}
	return message
}

func head(of any) []byte {
	text, err := json.Marshal(of)
	if err != nil {
		panic(err) // the types above always marshal
	}
	return add(nil, text)
}

func add(message, b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(message, uint32(len(b))), b...)
}

// DecodeCall decodes and validates an untrusted call.
func DecodeCall(message []byte) (*Call, error) {
	c := new(Call)
	return c, decode(message, c, math.MaxInt)
}

// DecodeAnswer decodes and validates an untrusted answer.
func DecodeAnswer(message []byte) (*Answer, error) {
	a := new(Answer)
	return a, decode(message, a, mostHead)
}

// mostHead bounds the head of an answer: its small values take much more memory decoded than encoded.
const mostHead = 256 << 10

// decode reads a head of at most most bytes, and what it announces.
func decode(message []byte, into interface {
	read(inline []byte) (rest []byte, err error)
}, most int) error {
	object, rest, ok := next(message)
	if !ok {
		return errMessage
	}
	if len(object) > most {
		return fmt.Errorf("%w: a head of %d bytes, want at most %d", errMessage, len(object), most)
	}
	if err := json.Unmarshal(object, into); err != nil {
		return fmt.Errorf("%w: %.200s", errMessage, err)
	}
	rest, err := into.read(rest)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%w: %d bytes more than are named", errMessage, len(rest))
	}
	return err
}

// next splits off the first length-prefixed bytes of a message.
func next(message []byte) (first, rest []byte, ok bool) {
	if len(message) < 4 {
		return nil, nil, false
	}
	n := binary.LittleEndian.Uint32(message)
	if message = message[4:]; uint64(n) > uint64(len(message)) {
		return nil, nil, false
	}
	return message[:n], message[n:], true
}
