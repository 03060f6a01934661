package remote

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
)

// calls and answers that are messages of this protocol.
var (
	someCalls = []*Call{
		{},
		{ID: "a.1.1", Program: "p", Name: "n", Return: 5, Args: []Arg{
			{dtypes.Float32, []int{2, 2}, []Part{{Size: 8, Data: make([]byte, 8)}, {Size: 8, Object: "o"}}},
			{dtypes.Int32, nil, []Part{{Size: 4, Kept: Key("b", 1)}}},
			{dtypes.Uint8, []int{0}, nil},
			{dtypes.Float32, []int{100}, []Part{{Size: 400, Data: make([]byte, 4)}}},
		}},
	}
	someAnswers = []*Answer{
		{Error: "e", Missing: []string{"o"}},
		{Seconds: 0.5, Results: []Result{{dtypes.Float32, []int{2}, false, make([]byte, 8)}, {dtypes.Float64, []int{1 << 20}, true, nil}}},
	}
)

func FuzzDecodeCall(f *testing.F) {
	for _, c := range someCalls {
		f.Add(c.Encode())
	}
	f.Add(made(`{"Args":[`+strings.Repeat(`{"Parts":[{},{}]},`, 1000)+`{}]}`, 0))
	f.Add(made(`{}`, 1<<16))
	f.Fuzz(func(t *testing.T, message []byte) {
		var c *Call
		var err error
		takes(t, 100*len(message), func() { c, err = DecodeCall(message) })
		if err != nil {
			return
		}
		for _, a := range c.Args { // what will be allocated
			if bytesOf(a.Type, a.Dims) < 0 {
				t.Fatalf("%+v", a)
			}
		}
		again, err := DecodeCall(c.Encode())
		if err != nil || !bytes.Equal(again.Encode(), c.Encode()) {
			t.Fatalf("%v\n%+v\n%+v", err, c, again)
		}
	})
}

// made returns a message of a head and some empty inline values.
func made(head string, empty int) []byte {
	return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(head))), head...), make([]byte, 4*empty)...)
}

// takes fails if a function allocates more than most bytes and another 1 MiB.
func takes(t *testing.T, most int, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(most)+1<<20 {
		t.Fatalf("%d bytes of memory, want at most %d", took, most+1<<20)
	}
}

func FuzzDecodeAnswer(f *testing.F) {
	for _, a := range someAnswers {
		f.Add(a.Encode())
	}
	for _, head := range []string{`{"Results":[` + strings.Repeat(`{},`, 80_000) + `{}]}`, `{"Missing":[` + strings.Repeat(`"",`, 80_000) + `""]}`,
		`{"Results":[{"Dims":[` + strings.Repeat(`0,`, 120_000) + `0]}]}`, strings.Repeat("[", 200_000), `{"Results":[{"Type":` + strings.Repeat("9", 200_000) + `}]}`} {
		f.Add(made(head, 0))
	}
	f.Add(made(`{"Missing":[`+strings.Repeat(`"",`, 1<<20)+`""]}`, 0))
	f.Add(made(`{}`, 1<<20))
	f.Fuzz(func(t *testing.T, message []byte) {
		var a *Answer
		var err error
		takes(t, 32<<20, func() { a, err = DecodeAnswer(message) }) // however long it is
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		again, err := DecodeAnswer(a.Encode())
		if err != nil || !bytes.Equal(again.Encode(), a.Encode()) {
			t.Fatalf("%v\n%+v\n%+v", err, a, again)
		}
	})
}

func TestMessages(t *testing.T) {
	for _, c := range someCalls {
		if got, err := DecodeCall(c.Encode()); err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%v\n%+v\n%+v", err, got, c)
		}
	}
	for _, a := range someAnswers {
		if got, err := DecodeAnswer(a.Encode()); err != nil || !reflect.DeepEqual(got, a) {
			t.Errorf("%v\n%+v\n%+v", err, got, a)
		}
	}
	part := func(size int, dims ...int) *Call {
		return &Call{Args: []Arg{{dtypes.Float32, dims, []Part{{Size: size, Data: make([]byte, 4)}}}}}
	}
	for what, c := range map[string]*Call{
		"a part too long":        part(8, 1),
		"a part too short":       part(4, 2),
		"a negative size":        part(-4, 1),
		"a negative dimension":   part(4, -1),
		"more than can be":       part(1<<40, 1<<40, 1<<40),
		"dimensions that wrap":   part(0, 1<<38, 1<<24),
		"no bytes for a part":    {Args: []Arg{{dtypes.Float32, []int{1}, []Part{{Size: 4}}}}},
		"a type that is none":    {Args: []Arg{{99, nil, nil}}},
		"sizes that wrap around": {Args: []Arg{{dtypes.Uint8, []int{4}, []Part{{Size: 1 << 62, Object: "a"}, {Size: 1 << 62, Object: "a"}, {Size: 1 << 62, Object: "a"}, {Size: 1<<62 + 4, Object: "a"}}}}},
		"an object and a result": {Args: []Arg{{dtypes.Uint8, []int{4}, []Part{{Size: 4, Object: "a", Kept: "b"}}}}},
	} {
		if got, err := DecodeCall(c.Encode()); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
	for _, b := range [][]byte{nil, {1}, {1, 0, 0, 0}, {255, 255, 255, 255, '{'}, {2, 0, 0, 0, '{', '}', 1}, {2, 0, 0, 0, '{', '}', 0, 0, 0, 0}} {
		if c, err := DecodeCall(b); err == nil {
			t.Errorf("%v: %+v", b, c)
		}
		if a, err := DecodeAnswer(b); err == nil {
			t.Errorf("%v: %+v", b, a)
		}
	}
}

// Repetitions at the end of bytes are not sent.
func TestTrim(t *testing.T) {
	for _, b := range [][]byte{nil, {1}, {0, 0, 0, 0}, make([]byte, 9), bytes.Repeat([]byte{255}, 400), {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4}, {9, 1, 2, 3, 4, 1, 2, 3, 4}} {
		short := Trim(b)
		if !fills(short, len(b)) || !bytes.Equal(fill(nil, short, len(b)), b) {
			t.Errorf("%v → %v", b, short)
		}
	}
	if n := len(Trim(make([]byte, 400))); n != 4 {
		t.Errorf("%d bytes of 400 zeros, want 4", n)
	}
}
