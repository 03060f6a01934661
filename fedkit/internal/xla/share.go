package xla

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/gomlx/compute"
	gxla "github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/stablehlo"
	"golang.org/x/sync/singleflight"
)

// sharing is a backend that compiles equal programs once: federations of one shape share them. Programs are equal if
// their StableHLO text is, which has the values of all constants in full.
type sharing struct{ compute.Backend }

// Builder implements compute.Backend.
func (s sharing) Builder(name string) compute.Builder {
	b := s.Backend.Builder(name)
	if x, ok := b.(*gxla.Builder); ok {
		return builder{x}
	}
	return b
}

type builder struct{ *gxla.Builder }

// Main implements compute.Builder.
func (b builder) Main() compute.Function { return inForm(b.Builder.Main()) }

// NewFunction implements compute.Builder.
func (b builder) NewFunction(name string) (compute.Function, error) {
	f, err := b.Builder.NewFunction(name)
	if err != nil {
		return nil, err
	}
	return inForm(f), nil
}

// Compile implements compute.Builder.
func (b builder) Compile() (compute.Executable, error) {
	text, err := stableHLO(b.Builder)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(text)
	run, err, _ := compiling.Do(string(key[:]), func() (any, error) { return compileOnce(key, b.Builder) })
	if err != nil {
		return nil, err
	}
	recent.keep(run.(*gxla.Executable))
	return run.(*gxla.Executable), nil
}

// stableHLO returns the text of a program. go-xla shows it to nobody, so it is taken from where go-xla keeps it.
func stableHLO(b *gxla.Builder) (text []byte, err error) {
	defer Caught(&err)
	text, err = private[stablehlo.Builder](b, "builder").Build()
	_, text, _ = bytes.Cut(text, []byte(" {")) // after "module @name", as the name does not matter
	return text, err
}

// writing is a backend that writes programs down instead of compiling them.
type writing struct {
	compute.Backend
	text *[]byte
}

var errWritten = errors.New("written down, not compiled")

// Builder implements compute.Backend.
func (w writing) Builder(name string) compute.Builder {
	b := w.Backend.Builder(name)
	if x, ok := b.(*gxla.Builder); ok {
		return writer{builder{x}, w.text}
	}
	return b
}

type writer struct {
	builder
	text *[]byte
}

// Compile implements compute.Builder.
func (w writer) Compile() (_ compute.Executable, err error) {
	if *w.text, err = stableHLO(w.builder.Builder); err != nil {
		return nil, err
	}
	return nil, errWritten
}

var (
	compiling    singleflight.Group // by the key of programs
	compiled     sync.Map           // of weak pointers to executables, by key
	compilations atomic.Int64
	atWork       atomic.Int64 // compilations that go on
	builds       atomic.Int64
)

// Compilations counts the programs compiled by this process so far. Builds also counts those that were there already, under
// another Program: finding that out takes milliseconds, so it must not happen in every round either.
func Compilations() int64 { return compilations.Load() }

// Compiling reports whether this process compiles a program at this moment.
func Compiling() bool { return atWork.Load() > 0 }

// Builds counts the graphs built by this process so far in order to be compiled.
func Builds() int64 { return builds.Load() }

// compileOnce returns the executable of the program with a key. Nobody must finalize it: it is given back when the last
// program that uses it is gone.
func compileOnce(key [sha256.Size]byte, b *gxla.Builder) (*gxla.Executable, error) {
	if known, ok := compiled.Load(key); ok {
		if run := known.(weak.Pointer[gxla.Executable]).Value(); run != nil {
			return run, nil
		}
	}
	compilations.Add(1)
	atWork.Add(1)
	defer atWork.Add(-1)
	made, err := b.Compile()
	if err != nil {
		return nil, err
	}
	run := made.(*gxla.Executable)
	pointer := weak.Make(run)
	compiled.Store(key, pointer)
	runtime.AddCleanup(run, func(key [sha256.Size]byte) { compiled.CompareAndDelete(key, pointer) }, key)
	return run, nil
}

// recent holds on to the executables that programs began to use last, so that a loop that makes one federation after the
// other does not compile in every turn.
var recent ring

type ring struct {
	mu   sync.Mutex
	runs [32]*gxla.Executable
	next int
}

func (r *ring) keep(run *gxla.Executable) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, known := range r.runs {
		if known == run {
			return
		}
	}
	r.runs[r.next] = run
	r.next = (r.next + 1) % len(r.runs)
}
