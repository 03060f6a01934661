package xla

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"fedkit.example/fedkit/internal/lru"
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	gxla "github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/stablehlo"
	"golang.org/x/sync/singleflight"
)

// sharing is a backend that compiles equal programs once, so that federations of one shape share them. Programs are equal if
// their StableHLO text is, which has the values of all constants in full. With a lowered, programs are lowered to this text
// instead.
type sharing struct {
	compute.Backend
	lowered *[]byte
}

var errLowered = errors.New("written down, not compiled")

// Builder implements compute.Backend.
func (s sharing) Builder(name string) compute.Builder {
	b := s.Backend.Builder(name)
	if x, ok := b.(*gxla.Builder); ok {
		return builder{x, s.lowered, new([]*gxla.Function)}
	}
	return b
}

type builder struct {
	*gxla.Builder
	lowered *[]byte
	open    *[]*gxla.Function // see function
}

// Main implements compute.Builder.
func (b builder) Main() compute.Function { return rewritten(b.Builder.Main(), b.open) }

// NewFunction implements compute.Builder.
func (b builder) NewFunction(name string) (compute.Function, error) {
	f, err := b.Builder.NewFunction(name)
	if err != nil {
		return nil, err
	}
	return rewritten(f, b.open), nil
}

// Compile implements compute.Builder.
func (b builder) Compile() (compute.Executable, error) {
	text, err := stableHLO(b.Builder)
	if err != nil {
		return nil, err
	}
	if b.lowered != nil {
		*b.lowered = text
		return nil, errLowered
	}
	key := sha256.Sum256(text)
	run, err, _ := compiling.Do(string(key[:]), func() (any, error) { return compileOnce(key, b.Builder) })
	if err != nil {
		return nil, err
	}
	return recent.Get(key, func() *gxla.Executable { return run.(*gxla.Executable) }), nil
}

// stableHLO returns the text of a program. go-xla does not export it, so it is read from a private field.
func stableHLO(b *gxla.Builder) (text []byte, err error) {
	defer Caught(&err)
	text, err = private[stablehlo.Builder](b, "builder").Build()
	_, text, _ = bytes.Cut(text, []byte(" {")) // after "module @name", as the name does not matter
	return withKernels(text), err
}

var (
	compiling    singleflight.Group // by the key of programs
	compiled     sync.Map           // of weak pointers to executables, by key
	compilations atomic.Int64
	compilingNow atomic.Int64 // compilations in progress
)

// Compilations counts the programs compiled by this process so far.
func Compilations() int64 { return compilations.Load() }

// Compiling reports whether this process is compiling a program.
func Compiling() bool { return compilingNow.Load() > 0 }

// NewEra begins a count of programs that are new, as in a process that has compiled nothing.
func NewEra() {
	news.Lock()
	defer news.Unlock()
	news.names = nil
	era.Add(1)
}

// Fresh returns the programs, by the shapes of their arguments, that were used for the first time in this era: a line for each, in that
// order. Also the graph of one that was compiled already, under another Program, is built for a lookup, which takes milliseconds: it
// must not happen in every round either.
func Fresh() []string {
	news.Lock()
	defer news.Unlock()
	return slices.Clone(news.names)
}

var (
	era  atomic.Int64 // 0: nothing is counted
	news struct {
		sync.Mutex
		names []string
	}
)

// use counts the first use of a version in an era.
func (p *Program) use(v *version, arguments []shapes.Shape) {
	now := era.Load()
	if v.era.Swap(now) == now {
		return
	}
	news.Lock()
	defer news.Unlock()
	news.names = append(news.names, fmt.Sprintf("%v for %v", p, arguments))
}

// compileOnce returns the executable of the program with a key. It must not be finalized: it is freed when the last program that
// uses it is gone.
func compileOnce(key [sha256.Size]byte, b *gxla.Builder) (*gxla.Executable, error) {
	if known, ok := compiled.Load(key); ok {
		if run := known.(weak.Pointer[gxla.Executable]).Value(); run != nil {
			return run, nil
		}
	}
	compilations.Add(1)
	compilingNow.Add(1)
	defer compilingNow.Add(-1)
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

// recent keeps the executables that programs used last, so that a loop over federations does not recompile in every iteration.
var recent = lru.New[[sha256.Size]byte, *gxla.Executable](32)
