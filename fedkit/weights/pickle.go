package weights

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"fedkit.example/fedkit"
)

// Python's pickle is a program for a stack machine that may call any function. This machine knows the operations and globals that
// PyTorch's writer uses for a dictionary of tensors, builds data from them, and refuses every other: nothing is called.
// https://github.com/python/cpython/blob/main/Lib/pickletools.py

// machine runs a pickle.
type machine struct {
	in    []byte // what is left
	stack []any
	marks []int // heights of the stack
	memo  map[uint32]any
	err   error // the first
}

type (
	global  string      // "torch._utils _rebuild_tensor_v2"
	dict    map[any]any // an OrderedDict too, whose order does not matter here
	tuple   []any
	storage struct { // torch's persistent id of an array in a file of its own
		dtype, key string
		n          int
	}
)

// storages are torch's types of arrays, with the names that safetensors has for them.
var storages = map[string]string{"FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16", "DoubleStorage": "F64", "LongStorage": "I64",
	"IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8", "ByteStorage": "U8", "BoolStorage": "BOOL"}

const (
	ordered  = global("collections OrderedDict")
	rebuild  = global("torch._utils _rebuild_tensor_v2")
	wrapped  = global("torch._utils _rebuild_parameter")
	ofTorch  = "torch "
	protocol = 2       // of torch.save, unless it is told otherwise
	most     = 1 << 31 // of a size, a stride or an offset: their products fit
)

// unpickle returns the arrays of a state dict, without their data.
func unpickle(pickle []byte) (map[string]array, error) {
	m := &machine{in: pickle, memo: map[uint32]any{}}
	for m.err == nil {
		at := len(pickle) - len(m.in)
		if op := m.bytes(1); op[0] == '.' {
			break
		} else if m.err == nil && !m.step(op[0]) {
			m.fail("operation", fmt.Sprintf("%#x at byte %d", op[0], at), "one that a dictionary of tensors takes, in protocol 2")
		}
	}
	top, _ := m.pop().(dict)
	if m.err == nil && top == nil {
		m.fail("its value", "no dictionary", "a state dict: torch.save(model.state_dict(), path)")
	}
	arrays := map[string]array{}
	for key, value := range top {
		name, named := key.(string)
		if t, ok := value.(array); ok && named {
			arrays[name] = t
		} else if m.err == nil {
			m.fail("entry", fmt.Sprintf("%q, a %T", fmt.Sprint(key), value), "the name of a tensor: torch.save(model.state_dict(), path)")
		}
	}
	return arrays, m.err
}

// fail makes an error the machine's, unless it has one.
func (m *machine) fail(field string, value any, allowed string) {
	if m.err == nil {
		m.err = fedkit.Invalid("pickle: "+field, value, allowed)
	}
}

// bytes takes n bytes, zeros if there are fewer.
func (m *machine) bytes(n int) []byte {
	if n > len(m.in) {
		m.fail("bytes", len(m.in), fmt.Sprintf("%d more: it is cut", n))
		return make([]byte, min(n, 8))
	}
	b := m.in[:n]
	m.in = m.in[n:]
	return b
}

// number takes a number of 1, 2 or 4 bytes.
func (m *machine) number(size int) uint32 {
	return binary.LittleEndian.Uint32(append(slices.Clone(m.bytes(size)), 0, 0, 0))
}

// line takes what comes before the end of a line.
func (m *machine) line() string {
	before, after, _ := strings.Cut(string(m.in[:min(len(m.in), 1<<10)]), "\n")
	m.in = m.in[min(len(m.in), 1<<10)-len(after):]
	return before
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

// pop takes the top of the stack above the last mark.
func (m *machine) pop() any {
	if bottom := append([]int{0}, m.marks...)[len(m.marks)]; len(m.stack) <= bottom {
		m.fail("stack", "empty", "as an operation needs it")
		return nil
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v
}

// popped takes n values, those above the last mark if n is −1.
func (m *machine) popped(n int) (values tuple) {
	if n < 0 {
		if len(m.marks) == 0 {
			m.fail("stack", "no mark", "as an operation needs it")
			return nil
		}
		bottom := m.marks[len(m.marks)-1]
		m.marks = m.marks[:len(m.marks)-1]
		values = slices.Clone(m.stack[bottom:])
		m.stack = m.stack[:bottom]
		return values
	}
	for range n {
		values = append(values, m.pop())
	}
	slices.Reverse(values)
	return values
}

// step does an operation, and reports whether it knows it.
func (m *machine) step(op byte) bool {
	switch op {
	case 0x80: // PROTO
		if v := m.bytes(1)[0]; v != protocol {
			m.fail("protocol", v, "2, as torch.save writes by default")
		}
	case '(': // MARK
		m.marks = append(m.marks, len(m.stack))
	case 'N', 0x88, 0x89: // NONE, NEWTRUE, NEWFALSE
		m.push(nil)
	case 'K', 'M', 'J': // BININT1, BININT2, BININT
		m.push(int64(int32(m.number(map[byte]int{'K': 1, 'M': 2, 'J': 4}[op]))))
	case 0x8a: // LONG1
		b := slices.Clone(m.bytes(int(m.bytes(1)[0])))
		slices.Reverse(b)
		if v := new(big.Int).SetBytes(b); len(b) > 0 && b[0] < 128 && v.IsInt64() {
			m.push(v.Int64())
		} else {
			m.fail("number", fmt.Sprintf("%d bytes", len(b)), "in [0, 2⁶³)")
		}
	case 'X': // BINUNICODE
		m.push(string(m.bytes(int(m.number(4)))))
	case 'q', 'r', 'h', 'j': // BINPUT, LONG_BINPUT, BINGET, LONG_BINGET
		m.remember(op == 'q' || op == 'r', m.number(map[byte]int{'q': 1, 'h': 1, 'r': 4, 'j': 4}[op]))
	case ')', 0x85, 0x86, 0x87: // EMPTY_TUPLE, TUPLE1, TUPLE2, TUPLE3
		m.push(m.popped(map[byte]int{0x85: 1, 0x86: 2, 0x87: 3}[op]))
	case 't': // TUPLE
		m.push(m.popped(-1))
	case '}': // EMPTY_DICT
		m.push(dict{})
	case 's', 'u': // SETITEM, SETITEMS
		m.set(m.popped(map[byte]int{'s': 2, 'u': -1}[op]))
	case 'b': // BUILD: attributes of an OrderedDict, such as _metadata
		m.pop()
		if _, ok := m.stackTop().(dict); !ok {
			m.fail("attributes", "of no dictionary", "those of a state dict")
		}
	case 'c': // GLOBAL
		m.global(global(m.line() + " " + m.line()))
	case 'Q': // BINPERSID
		m.persistent(m.pop())
	case 'R': // REDUCE
		args, _ := m.pop().(tuple)
		m.reduce(m.pop(), args)
	default:
		return false
	}
	return true
}

// stackTop returns the top of the stack, nil if it is empty.
func (m *machine) stackTop() any {
	v := m.pop()
	m.push(v)
	return v
}

func (m *machine) remember(put bool, at uint32) {
	if put {
		m.memo[at] = m.stackTop()
		return
	}
	v, ok := m.memo[at]
	if !ok {
		m.fail("memo", at, "one that was put")
	}
	m.push(v)
}

func (m *machine) set(items tuple) {
	d, ok := m.stackTop().(dict)
	if !ok || len(items)%2 != 0 {
		m.fail("items", len(items), "keys and values of a dictionary")
		return
	}
	for pair := range slices.Chunk(items, 2) {
		switch pair[0].(type) {
		case string, int64:
			d[pair[0]] = pair[1]
		default:
			m.fail("key", fmt.Sprintf("a %T", pair[0]), "a name")
		}
	}
}

func (m *machine) global(g global) {
	if kind, ok := strings.CutPrefix(string(g), ofTorch); g != ordered && g != rebuild && g != wrapped && (!ok || storages[kind] == "") {
		m.fail("global", strings.ReplaceAll(string(g), " ", "."), "one of a dictionary of tensors: no other is called")
	}
	m.push(g)
}

// persistent turns ("storage", type, key, device, numbers) into a storage.
func (m *machine) persistent(id any) {
	t, _ := id.(tuple)
	if len(t) == 5 && t[0] == "storage" {
		kind, ok := t[1].(global)
		key, also := t[2].(string)
		n, too := t[4].(int64)
		if dtype := storages[strings.TrimPrefix(string(kind), ofTorch)]; ok && also && too && dtype != "" && n >= 0 && n <= most {
			m.push(storage{dtype, key, int(n)})
			return
		}
	}
	m.fail("persistent id", fmt.Sprintf("%d values", len(t)), "a storage of torch")
}

// reduce does what the functions of a state dict do.
func (m *machine) reduce(f any, args tuple) {
	switch {
	case f == ordered && len(args) == 0:
		m.push(dict{})
		return
	case f == wrapped && len(args) == 3:
		if t, ok := args[0].(array); ok {
			m.push(t)
			return
		}
	case f == rebuild && (len(args) == 6 || len(args) == 7): // storage, offset, size, stride, gradient, hooks, metadata
		of, ok := args[0].(storage)
		offset, also := args[1].(int64)
		shape, fine := numbers(args[2])
		stride, too := numbers(args[3])
		if ok && also && fine && too && offset >= 0 && offset <= most && len(shape) == len(stride) {
			m.push(array{dtype: of.dtype, shape: shape, stride: stride, offset: int(offset), n: of.n, key: of.key})
			return
		}
	}
	g, _ := f.(global)
	m.fail("call", fmt.Sprintf("%q with %d values", string(g), len(args)), "that of a tensor")
}

// numbers converts a tuple of numbers in [0, most].
func numbers(v any) (all []int, ok bool) {
	t, ok := v.(tuple)
	for _, v := range t {
		n, number := v.(int64)
		ok = ok && number && n >= 0 && n <= most
		all = append(all, int(n))
	}
	return all, ok
}
