package remote

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/gomlx/compute/dtypes"
)

// calls and answers that are messages of this protocol.
var (
	someCalls = []*Call{
		{},
		{ID: "a.1.1", Program: "p", Name: "n", Return: 5, Args: []Arg{
			{dtypes.Float32, []int{2, 2}, []Part{{Size: 8}, {Size: 8, Object: "o"}}},
			{dtypes.Int32, nil, []Part{{Size: 4, Kept: Key("b", 1)}}},
			{dtypes.Uint8, []int{0}, nil},
			{dtypes.Float32, []int{100}, []Part{{Size: 400}}},
		}, Inline: [][]byte{make([]byte, 8), make([]byte, 4)}},
	}
	someAnswers = []*Answer{
		{ID: "a", Machine: "m", Begun: true},
		{ID: "a", Machine: "m", Error: "e", Missing: []string{"o"}},
		{ID: "a", Machine: "m", Seconds: 0.5, Results: []Result{{dtypes.Float32, []int{2}, false}, {dtypes.Float64, []int{1 << 20}, true}}, Inline: [][]byte{make([]byte, 8)}},
	}
)

func FuzzDecodeCall(f *testing.F) {
	for _, c := range someCalls {
		f.Add(c.Encode())
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		c, err := DecodeCall(message)
		if err != nil {
			return
		}
		for _, a := range c.Args { // what will be made room for
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

func FuzzDecodeAnswer(f *testing.F) {
	for _, a := range someAnswers {
		f.Add(a.Encode())
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		a, err := DecodeAnswer(message)
		if err != nil {
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
		return &Call{Args: []Arg{{dtypes.Float32, dims, []Part{{Size: size}}}}, Inline: [][]byte{make([]byte, 4)}}
	}
	for what, c := range map[string]*Call{
		"a part too long":        part(8, 1),
		"a part too short":       part(4, 2),
		"a negative size":        part(-4, 1),
		"a negative dimension":   part(4, -1),
		"more than can be":       part(1<<40, 1<<40, 1<<40),
		"dimensions that wrap":   part(0, 1<<38, 1<<24),
		"no bytes for a part":    {Args: part(4, 1).Args},
		"bytes of no part":       {Inline: [][]byte{nil}},
		"a type that is none":    {Args: []Arg{{99, nil, nil}}},
		"sizes that wrap around": {Args: []Arg{{dtypes.Uint8, []int{4}, []Part{{Size: 1 << 62, Object: "a"}, {Size: 1 << 62, Object: "a"}, {Size: 1 << 62, Object: "a"}, {Size: 1<<62 + 4, Object: "a"}}}}},
		"an object and a result": {Args: []Arg{{dtypes.Uint8, []int{4}, []Part{{Size: 4, Object: "a", Kept: "b"}}}}},
	} {
		if got, err := DecodeCall(c.Encode()); err == nil {
			t.Errorf("%s: %+v", what, got)
		}
	}
	for _, b := range [][]byte{nil, {1}, {1, 0, 0, 0}, {255, 255, 255, 255, '{'}, {2, 0, 0, 0, '{', '}', 1}, {2, 0, 0, 0, '{', '}', 1, 0, 0, 0}} {
		if c, err := DecodeCall(b); err == nil {
			t.Errorf("%v: %+v", b, c)
		}
		if a, err := DecodeAnswer(b); err == nil {
			t.Errorf("%v: %+v", b, a)
		}
	}
}

// Bytes that repeat their end travel without the repetitions.
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
