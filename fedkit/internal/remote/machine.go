package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"sync"
	"time"
	"unicode/utf8"

	"fedkit.example/fedkit/internal/lru"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/go-xla/types/shapes"
)

// Machine runs programs, keeps their results, and caches the objects that it fetches.
type Machine struct {
	client   *xla.Client
	fetch    Fetch
	slots    chan struct{}
	most     int64 // bytes kept and cached together
	programs *lru.Cache[string, *program]

	mu    sync.Mutex
	cache map[string]*entry // objects, by hash and type
	kept  map[string]*entry // by Key
	bytes int64
	uses  int64 // of the cache
}

// Fetch gets an object by its hash from a desk.
type Fetch func(ctx context.Context, desk, hash string) ([]byte, error)

// program is a compiled program.
type program struct {
	making sync.Mutex
	*xla.Executable
	takes []string // the types of its arguments, in StableHLO
}

// entry is an object or a result, on the device or, as a part of an argument, on the host.
type entry struct {
	making sync.Mutex
	made   bool // an object that was fetched
	buffer *xla.Buffer
	part   []byte
	bytes  int64
	users  int
	last   int64 // use
	gone   bool  // to be freed by the last user
}

// ErrNoObject says that an object is not at the desk.
var ErrNoObject = errors.New("no such object")

// mostPrograms is how many programs stay compiled.
const mostPrograms = 512

// NewMachine returns a machine that runs at most slots queued programs at once, and keeps and caches at most most bytes.
func NewMachine(client *xla.Client, slots int, most int64, fetch Fetch) *Machine {
	return &Machine{client: client, fetch: fetch, slots: make(chan struct{}, max(1, slots)), most: most,
		programs: lru.New[string, *program](mostPrograms), cache: map[string]*entry{}, kept: map[string]*entry{}}
}

// Bytes returns how many bytes it keeps and caches.
func (m *Machine) Bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}

// missing is the error of objects and results that have to be sent again.
type missing []string

func (m missing) Error() string { return fmt.Sprintf("missing: %v", []string(m)) }

// Run executes a call. Once their arguments are on the device, queued calls wait for one of the slots. Direct ones do not.
func (m *Machine) Run(ctx context.Context, c *Call, queued bool) *Answer {
	a := new(Answer)
	err := m.run(ctx, c, a, queued)
	if lost, ok := errors.AsType[missing](err); ok {
		a.Missing = lost
	} else if err != nil {
		a.Error = fmt.Sprintf("%.4000s", err.Error())
	}
	return a
}

func (m *Machine) run(ctx context.Context, c *Call, a *Answer, queued bool) error {
	program, err := m.program(ctx, c)
	if err == nil {
		err = program.check(c.Args)
	}
	if err != nil {
		return fmt.Errorf("program %q: %w", c.Name, err)
	}
	args, err := m.arguments(ctx, c)
	defer args.release()
	if err != nil {
		return err
	}
	if queued {
		select {
		case m.slots <- struct{}{}:
			defer func() { <-m.slots }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	begin := time.Now()
	results, err := program.Run(args.buffers...)
	a.Seconds = time.Since(begin).Seconds()
	if err != nil {
		return fmt.Errorf("program %q: %w", c.Name, err)
	}
	room := c.Return
	for i, b := range results {
		r, err := m.result(Key(c.ID, i), b, room)
		if err != nil {
			for _, later := range results[i+1:] {
				later.Free()
			}
			return fmt.Errorf("program %q: result %d: %w", c.Name, i, err)
		}
		a.Results = append(a.Results, r)
		room -= len(r.Data)
	}
	return nil
}

// result returns a result with its bytes if they fit in room, and keeps any other.
func (m *Machine) result(key string, b *xla.Buffer, room int) (r Result, err error) {
	if r.Type, r.Dims, err = b.Shape(); err != nil {
		return r, err
	}
	if size := xla.Bytes(r.Type, r.Dims); size > room {
		r.Kept = true
		return r, m.keep(key, b, int64(size))
	}
	r.Data, err = b.Host()
	b.Free()
	return r, err
}

// keep stores a result, if there is memory for it.
func (m *Machine) keep(key string, b *xla.Buffer, size int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept[key] != nil { // computed twice: the bytes are the same
		b.Free()
		return nil
	}
	m.makeRoom(size)
	if m.bytes+size > m.most {
		b.Free()
		return fmt.Errorf("%d bytes are more than this machine has memory left for: it keeps %d bytes, of at most %d; start it with more --memory, or more machines", size, m.bytes, m.most)
	}
	m.kept[key] = &entry{buffer: b, bytes: size}
	m.bytes += size
	return nil
}

// hold pins a kept result until its release; nil if there is none.
func (m *Machine) hold(key string) *entry {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.kept[key]
	if e != nil {
		e.users++
	}
	return e
}

func (m *Machine) release(used ...*entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range used {
		if e.users--; e.users == 0 && e.gone {
			e.free()
		}
	}
}

// drop removes an entry; its last user frees the memory.
func (m *Machine) drop(e *entry) {
	m.bytes -= e.bytes
	if e.gone = true; e.users == 0 {
		e.free()
	}
}

func (e *entry) free() {
	if e.buffer != nil {
		e.buffer.Free()
	}
	e.part = nil
}

// Forget drops the results whose keys meant accepts.
func (m *Machine) Forget(meant func(key string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, e := range m.kept {
		if meant(key) {
			delete(m.kept, key)
			m.drop(e)
		}
	}
}

// Read returns the bytes of a kept result; ok is false if there is none.
func (m *Machine) Read(key string) (data []byte, ok bool, err error) {
	e := m.hold(key)
	if e == nil {
		return nil, false, nil
	}
	defer m.release(e)
	data, err = e.buffer.Host()
	return data, true, err
}

// foreign matches operations that reach outside a program, in any dialect and version of one.
var foreign = regexp.MustCompile(`\.(custom_call|infeed|outfeed|send|recv|composite)`)

// check refuses programs that reach outside, and forms that could hide it: MLIR bytecode, and names with escapes.
func check(text []byte) error {
	if found := foreign.FindSubmatch(text); found != nil {
		return fmt.Errorf("it has a %s: what reaches out of a program is refused", found[1])
	}
	if !utf8.Valid(text) || bytes.ContainsAny(text, "\x00\\") {
		return errors.New("it is not plain StableHLO text")
	}
	return nil
}

// program returns the compiled program of a call.
func (m *Machine) program(ctx context.Context, c *Call) (*program, error) {
	p := m.programs.Get(c.Program, func() *program { return new(program) })
	p.making.Lock()
	defer p.making.Unlock()
	if p.Executable != nil {
		return p, nil
	}
	text, err := m.object(ctx, c, c.Program)
	if err == nil {
		err = check(text)
	}
	if err != nil {
		return nil, err
	}
	if found := signature.FindSubmatch(text); found != nil {
		p.takes = tensor.FindAllString(string(found[1]), -1)
	}
	p.Executable, err = m.client.Compile(text)
	return p, err
}

// signature matches the arguments of a program, and tensor the type of each.
var (
	signature = regexp.MustCompile(`@main\(([^)]*)\)`)
	tensor    = regexp.MustCompile(`tensor<[^>]*>`)
)

// check refuses arguments of other types than the program takes: the plugin checks only their number and sizes.
func (p *program) check(args []Arg) error {
	if len(args) != len(p.takes) {
		return fmt.Errorf("%d arguments, not %d", len(args), len(p.takes))
	}
	for i, a := range args {
		if got := shapes.Make(a.Type, a.Dims...).ToStableHLO(); got != p.takes[i] {
			return fmt.Errorf("argument %d is a %s, not a %s", i, got, p.takes[i])
		}
	}
	return nil
}

// object fetches an object of a call, and verifies its hash.
func (m *Machine) object(ctx context.Context, c *Call, hash string) ([]byte, error) {
	data, err := m.fetch(ctx, c.Desk, hash)
	if sum := sha256.Sum256(data); errors.Is(err, ErrNoObject) || err == nil && hex.EncodeToString(sum[:]) != hash {
		return nil, missing{hash} // to be sent again
	}
	return data, err
}

// arguments are those of a call, on the device until they are released.
type arguments struct {
	*Machine
	call    *Call
	buffers []*xla.Buffer
	own     []*xla.Buffer // uploaded for this call alone
	used    []*entry
}

// arguments puts the arguments of a call on the device. They have to be released, even after an error.
func (m *Machine) arguments(ctx context.Context, c *Call) (*arguments, error) {
	s, size := &arguments{Machine: m, call: c}, int64(0)
	for _, a := range c.Args {
		if size += int64(bytesOf(a.Type, a.Dims)); size > m.most {
			return s, fmt.Errorf("program %q: its arguments take more than the %d bytes that this machine keeps; start it with more --memory", c.Name, m.most)
		}
	}
	for _, a := range c.Args {
		if err := s.add(ctx, a); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *arguments) release() {
	s.Machine.release(s.used...)
	for _, b := range s.own {
		b.Free()
	}
}

// add puts an argument on the device. A single object is cached there, and a single result is there already.
func (s *arguments) add(ctx context.Context, a Arg) error {
	if len(a.Parts) == 1 && !a.Parts[0].inline() {
		e, err := s.whole(ctx, a)
		if err == nil {
			s.used, s.buffers = append(s.used, e), append(s.buffers, e.buffer)
		}
		return err
	}
	data, err := s.join(ctx, a)
	if err != nil {
		return err
	}
	b, err := s.client.Put(data, a.Type, a.Dims)
	if err == nil {
		s.own, s.buffers = append(s.own, b), append(s.buffers, b)
	}
	return err
}

// whole returns an argument that is a single result or object, on the device.
func (s *arguments) whole(ctx context.Context, a Arg) (*entry, error) {
	p := a.Parts[0]
	if p.Kept != "" {
		if e := s.hold(p.Kept); e != nil {
			return e, nil
		}
		return nil, missing{p.Kept}
	}
	return s.cached(ctx, p.Object, fmt.Sprint(p.Object, a.Type, a.Dims), func(e *entry, data []byte) (err error) {
		if bytesOf(a.Type, a.Dims) != len(data) {
			return fmt.Errorf("%w: object %.12s… has %d bytes, not those of %s %v", errMessage, p.Object, len(data), a.Type, a.Dims)
		}
		e.buffer, err = s.client.Put(data, a.Type, a.Dims)
		return err
	})
}

// join concatenates the bytes of an argument's parts.
func (s *arguments) join(ctx context.Context, a Arg) ([]byte, error) {
	data := make([]byte, 0, max(0, bytesOf(a.Type, a.Dims)))
	for _, p := range a.Parts {
		if p.inline() {
			data = fill(data, p.Data, p.Size)
			continue
		}
		some, err := s.part(ctx, p)
		switch {
		case err != nil:
			return nil, err
		case len(some) != p.Size:
			return nil, fmt.Errorf("%w: a part of %d bytes has %d", errMessage, p.Size, len(some))
		}
		data = append(data, some...)
	}
	return data, nil
}

// part returns the bytes of one of several parts, a result or an object. Objects are cached on the host.
func (s *arguments) part(ctx context.Context, p Part) ([]byte, error) {
	if p.Kept != "" {
		data, ok, err := s.Read(p.Kept)
		if err == nil && !ok {
			err = missing{p.Kept}
		}
		return data, err
	}
	e, err := s.cached(ctx, p.Object, p.Object, func(e *entry, data []byte) error { e.part = data; return nil })
	if err != nil {
		return nil, err
	}
	s.used = append(s.used, e)
	return e.part, nil
}

// cached returns the entry made of an object, cached under a key and pinned until its release.
func (s *arguments) cached(ctx context.Context, hash, key string, made func(e *entry, data []byte) error) (*entry, error) {
	s.mu.Lock()
	e := s.cache[key]
	if e == nil {
		e = new(entry)
		s.cache[key] = e
	}
	s.uses++
	e.users, e.last = e.users+1, s.uses
	s.mu.Unlock()
	e.making.Lock()
	defer e.making.Unlock()
	if e.made {
		return e, nil
	}
	data, err := s.object(ctx, s.call, hash)
	if err == nil {
		s.mu.Lock()
		s.makeRoom(int64(len(data)))
		s.mu.Unlock()
		err = made(e, data)
	}
	if err != nil { // the next one tries again
		s.Machine.release(e)
		return nil, err
	}
	s.mu.Lock()
	e.made, e.bytes = true, int64(len(data))
	s.bytes += e.bytes
	s.mu.Unlock()
	const large = 64 << 20
	if e.part == nil && len(data) > large { // it is on the device; the collector would keep the host's copy for long
		data = nil
		runtime.GC()
	}
	return e, nil
}

// makeRoom evicts unused objects, the least recently used first, until there is room for more bytes.
func (m *Machine) makeRoom(more int64) {
	for m.bytes+more > m.most {
		oldest := ""
		for key, e := range m.cache {
			if e.users == 0 && (oldest == "" || e.last < m.cache[oldest].last) {
				oldest = key
			}
		}
		if oldest == "" {
			return
		}
		m.drop(m.cache[oldest])
		delete(m.cache, oldest)
	}
}
