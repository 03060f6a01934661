package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
)

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

// shelf is a store that counts how often each object is fetched.
type shelf struct {
	mu      sync.Mutex
	objects map[string][]byte
	fetched map[string]int
}

func (s *shelf) put(b []byte) (hash string) {
	sum := sha256.Sum256(b)
	hash = hex.EncodeToString(sum[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects, s.fetched = map[string][]byte{}, map[string]int{}
	}
	s.objects[hash] = b
	return hash
}

func (s *shelf) fetch(_ context.Context, _, hash string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetched[hash]++
	if b, ok := s.objects[hash]; ok {
		return b, nil
	}
	return nil, fmt.Errorf("%w: %s", ErrNoObject, hash)
}

// machine returns a machine with this much memory, and its store.
func machine(t *testing.T, memory int64) (*Machine, *shelf) {
	t.Helper()
	client := expect.Value(xla.NewClient())(t)
	s := new(shelf)
	s.put(nil)
	return NewMachine(client, 2, memory, s.fetch), s
}

func floats(values ...float32) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// sum is a program: the sum of two vectors.
const sum = `module @program {
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.add"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "stablehlo.return"(%0) : (tensor<4xf32>) -> ()
}
}`

// adding is a call of sum; results of more than back bytes are kept.
func adding(s *shelf, id string, back int, a, b Part, inline ...[]byte) *Call {
	c := &Call{ID: id, Program: s.put([]byte(sum)), Name: "sum", Return: back}
	for _, p := range []Part{a, b} {
		if p.Size = 16; p.inline() {
			p.Data, inline = inline[0], inline[1:]
		}
		c.Args = append(c.Args, Arg{dtypes.Float32, []int{4}, []Part{p}})
	}
	return c
}

func run(t *testing.T, m *Machine, c *Call) *Answer {
	t.Helper()
	c, err := DecodeCall(c.Encode()) // as it travels
	expect.OK(t, err)
	return expect.Value(DecodeAnswer(m.Run(t.Context(), c, true).Encode()))(t)
}

// Arguments come in the message, from the store, and from kept results; results are returned or kept.
func TestRun(t *testing.T) {
	m, s := machine(t, 1<<20)
	one, ten := floats(1, 2, 3, 4), floats(10, 20, 30, 40)
	a := run(t, m, adding(s, "first", 0, Part{}, Part{Object: s.put(ten)}, one))
	if a.Error != "" || len(a.Results) != 1 || !a.Results[0].Kept || a.Results[0].Data != nil {
		t.Fatalf("%+v", a)
	}
	b := run(t, m, adding(s, "second", 16, Part{Kept: Key("first", 0)}, Part{Kept: Key("first", 0)}))
	if b.Error != "" || !bytes.Equal(b.Results[0].Data, floats(22, 44, 66, 88)) {
		t.Fatalf("%+v", b)
	}
	kept, ok, err := m.Read(Key("first", 0))
	if !ok || err != nil || !bytes.Equal(kept, floats(11, 22, 33, 44)) {
		t.Fatal(kept, ok, err)
	}
	m.Forget(func(key string) bool { return key == Key("first", 0) })
	if _, ok, _ := m.Read(Key("first", 0)); ok {
		t.Error("it was not forgotten")
	}
	c := run(t, m, adding(s, "third", 16, Part{Kept: Key("first", 0)}, Part{Kept: Key("first", 0)}))
	if !slices.Equal(c.Missing, []string{Key("first", 0)}) {
		t.Errorf("%+v, want what is missing", c)
	}
}

// Objects that are missing from the store, or damaged, are reported as missing; once they are there, calls succeed.
func TestMissing(t *testing.T) {
	m, s := machine(t, 1<<20)
	hash := s.put(floats(1, 2, 3, 4))
	for what, b := range map[string][]byte{"gone": nil, "damaged": floats(1, 2, 3, 5), "cut off": floats(1, 2, 3)} {
		s.objects[hash] = b
		if b == nil {
			delete(s.objects, hash)
		}
		if a := run(t, m, adding(s, what, 16, Part{Object: hash}, Part{Object: hash})); !slices.Equal(a.Missing, []string{hash}) {
			t.Errorf("%s: %+v, want it to be missing", what, a)
		}
	}
	s.put(floats(1, 2, 3, 4))
	if a := run(t, m, adding(s, "back", 16, Part{Object: hash}, Part{Object: hash})); !bytes.Equal(a.Results[0].Data, floats(2, 4, 6, 8)) {
		t.Errorf("%+v", a)
	}
}

// Objects are fetched once while there is room, and evicted least recently used first; kept results stay.
func TestMemory(t *testing.T) {
	m, s := machine(t, 3*16)
	var hashes []string
	for i := range 3 {
		hashes = append(hashes, s.put(floats(float32(i), 0, 0, 0)))
	}
	call := func(i, j int) *Answer {
		return run(t, m, adding(s, fmt.Sprint(i, " and ", j), 16, Part{Object: hashes[i]}, Part{Object: hashes[j]}))
	}
	call(0, 1)
	call(0, 2)
	call(1, 0)
	if got := []int{s.fetched[hashes[0]], s.fetched[hashes[1]], s.fetched[hashes[2]]}; !slices.Equal(got, []int{1, 1, 1}) || m.Bytes() != 48 {
		t.Fatalf("fetched %v times, %d bytes", got, m.Bytes())
	}
	if a := run(t, m, adding(s, "kept", 0, Part{Object: hashes[0]}, Part{Object: hashes[1]})); !a.Results[0].Kept || m.Bytes() != 48 {
		t.Fatalf("%+v, %d bytes", a, m.Bytes())
	}
	call(0, 1)
	if s.fetched[hashes[0]] != 1 || s.fetched[hashes[1]] != 1 { // 2 was evicted
		t.Error("what was used last has gone")
	}
	if call(2, 2); s.fetched[hashes[2]] != 2 || m.Bytes() > 48 {
		t.Errorf("fetched %d times, %d bytes", s.fetched[hashes[2]], m.Bytes())
	}
	var refused *Answer
	for i := range 4 {
		if a := run(t, m, adding(s, fmt.Sprint("kept ", i), 0, Part{}, Part{}, floats(0, 0, 0, 0), floats(0, 0, 0, 0))); a.Error != "" {
			refused = a
		}
	}
	if refused == nil || !strings.Contains(refused.Error, "--memory") || m.Bytes() > 48 {
		t.Errorf("%+v, %d bytes: want results refused that there is no memory for", refused, m.Bytes())
	}
	m.Forget(func(key string) bool { return strings.HasPrefix(key, "kept") })
	if call(0, 1); m.Bytes() > 48 {
		t.Errorf("%d bytes", m.Bytes())
	}
}

// Several objects can make up one argument. They are cached on the host.
func TestParts(t *testing.T) {
	m, s := machine(t, 1<<20)
	a, b := s.put(floats(1, 2)), s.put(floats(3, 4))
	c := adding(s, "rows", 16, Part{Object: a}, Part{}, floats(1, 1, 1, 1))
	c.Args[0].Parts = []Part{{Size: 8, Object: a}, {Size: 8, Object: b}}
	for range 2 {
		if got := run(t, m, c); got.Error != "" || !bytes.Equal(got.Results[0].Data, floats(2, 3, 4, 5)) {
			t.Fatalf("%+v", got)
		}
	}
	if s.fetched[a] != 1 || m.Bytes() != 16 {
		t.Errorf("fetched %d times, %d bytes", s.fetched[a], m.Bytes())
	}
}

// Programs and objects that many calls need at the same time are fetched once.
func TestAtOnce(t *testing.T) {
	client := expect.Value(xla.NewClient())(t)
	s := new(shelf)
	object := s.put(floats(1, 2, 3, 4))
	asked, release := make(chan string, 100), make(chan struct{})
	m := NewMachine(client, 2, 1<<20, func(ctx context.Context, desk, hash string) ([]byte, error) {
		asked <- hash
		<-release
		return s.fetch(ctx, desk, hash)
	})
	before := xla.Compilations()
	var all sync.WaitGroup
	var right atomic.Int64
	for i := range 8 {
		all.Go(func() {
			a := m.Run(t.Context(), adding(s, fmt.Sprint("call ", i), 16, Part{Object: object}, Part{Object: object}), true)
			if a.Error == "" && bytes.Equal(a.Results[0].Data, floats(2, 4, 6, 8)) {
				right.Add(1)
			}
		})
	}
	<-asked
	close(release)
	all.Wait()
	if right.Load() != 8 || s.fetched[object] != 1 || xla.Compilations() != before+1 {
		t.Errorf("%d right, fetched %d times, compiled %d times", right.Load(), s.fetched[object], xla.Compilations()-before)
	}
}

// Programs that reach outside the machine are refused in every spelling; so is text that is no program.
func TestForeignPrograms(t *testing.T) {
	m, s := machine(t, 1<<20)
	with := func(op string) string {
		return strings.Replace(sum, `"stablehlo.add"(%a, %b) : (tensor<4xf32>, tensor<4xf32>)`, op+` : (tensor<4xf32>)`, 1)
	}
	for text, want := range map[string]string{
		with(`"stablehlo.custom_call"(%a) {call_target_name = "system"}`): "custom_call",
		with(`stablehlo.custom_call @system(%a)`):                         "custom_call",
		with(`"vhlo.custom_call_v1"(%a)`):                                 "custom_call",
		with(`"mhlo.custom_call"(%a)`):                                    "custom_call",
		with(`"stablehlo.infeed"(%a)`):                                    "infeed",
		with(`"stablehlo.outfeed"(%a)`):                                   "outfeed",
		with(`"stablehlo.send"(%a)`):                                      "send",
		with(`"stablehlo.recv"(%a)`):                                      "recv",
		with(`"stablehlo.custom\5Fcall"(%a)`):                             "not plain",
		"ML\xefR\x01StableHLO":                                            "not plain",
		"module @program {":                                               "program",
		"":                                                                "program",
	} {
		c := adding(s, text, 16, Part{}, Part{}, floats(0, 0, 0, 0), floats(0, 0, 0, 0))
		c.ID, c.Program = "a", s.put([]byte(text))
		if a := run(t, m, c); !strings.Contains(a.Error, want) || !strings.Contains(a.Error, `program "sum"`) {
			t.Errorf("%.400s:\n%q, want it to name %q", text, a.Error, want)
		}
	}
}

// Arguments that are too many, too few or of another shape or type than the program's are an error.
func TestWrongArguments(t *testing.T) {
	m, s := machine(t, 1<<20)
	arg := func(t dtypes.DType, dims ...int) Arg {
		return Arg{t, dims, []Part{{Size: bytesOf(t, dims), Data: make([]byte, bytesOf(t, dims))}}}
	}
	four := arg(dtypes.Float32, 4)
	for what, args := range map[string][]Arg{
		"none":          {},
		"one":           {four},
		"three":         {four, four, four},
		"too long":      {four, arg(dtypes.Float32, 8)},
		"too short":     {arg(dtypes.Float32, 1), four},
		"empty":         {four, arg(dtypes.Float32, 0)},
		"a scalar":      {four, arg(dtypes.Float32)},
		"another type":  {four, arg(dtypes.Float64, 4)},
		"alike in size": {four, arg(dtypes.Int32, 4)},
		"square":        {four, arg(dtypes.Float32, 2, 2)},
	} {
		c := &Call{ID: what, Program: s.put([]byte(sum)), Name: "sum", Args: args, Return: 1 << 20}
		if a := run(t, m, c); !strings.Contains(a.Error, `program "sum"`) {
			t.Errorf("%s: %+v, want an error", what, a)
		}
	}
	if a := run(t, m, adding(s, "right", 16, Part{}, Part{}, floats(1, 1, 1, 1), floats(1, 1, 1, 1))); a.Error != "" {
		t.Error(a.Error)
	}
}

// An argument larger than the machine's memory, encoded in a few bytes, is refused before anything is allocated.
func TestHugeArgument(t *testing.T) {
	m, s := machine(t, 1<<20)
	c := adding(s, "huge", 16, Part{}, Part{}, floats(1), floats(1))
	c.Program = s.put([]byte(strings.ReplaceAll(sum, "4xf32", "262144xf32")))
	for i := range c.Args {
		c.Args[i] = Arg{dtypes.Float32, []int{1 << 18}, []Part{{Size: 1 << 20, Data: floats(1)}}}
	}
	if a := run(t, m, c); !strings.Contains(a.Error, "--memory") {
		t.Errorf("%+v, want it to be refused", a)
	}
}

// A call that waits for a slot ends with its context.
func TestEndWhileWaiting(t *testing.T) {
	m, s := machine(t, 1<<20)
	for range cap(m.slots) {
		m.slots <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if a := m.Run(ctx, adding(s, "waits", 16, Part{}, Part{}, floats(1, 1, 1, 1), floats(1, 1, 1, 1)), true); !strings.Contains(a.Error, "deadline") {
		t.Errorf("%+v", a)
	}
	if a := m.Run(t.Context(), adding(s, "asked", 16, Part{}, Part{}, floats(1, 1, 1, 1), floats(1, 1, 1, 1)), false); a.Error != "" {
		t.Errorf("who is asked directly waits for nobody: %+v", a)
	}
}

// The least integer divided by −1, or by 0, which traps on many processors, has a result.
func TestLeastInteger(t *testing.T) {
	m, s := machine(t, 1<<20)
	for of, size := range map[dtypes.DType]int{dtypes.Int8: 1, dtypes.Int16: 2, dtypes.Int32: 4, dtypes.Int64: 8} {
		for _, op := range []string{"divide", "remainder"} {
			least, one := make([]byte, 2*size), bytes.Repeat([]byte{255}, 2*size)
			least[size-1], least[2*size-1] = 128, 128
			clear(one[size:])
			arg := func(data []byte) Arg { return Arg{of, []int{2}, []Part{{Size: 2 * size, Data: data}}} }
			text := strings.NewReplacer("4xf32", fmt.Sprintf("2xi%d", 8*size), "add", op).Replace(sum)
			c := &Call{ID: fmt.Sprint(op, of), Program: s.put([]byte(text)), Name: op, Args: []Arg{arg(least), arg(one)}, Return: 16}
			if a := run(t, m, c); a.Error != "" || len(a.Results) != 1 || len(a.Results[0].Data) != 2*size {
				t.Errorf("%s of %v: %+v", op, of, a)
			}
		}
	}
}
