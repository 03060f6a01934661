// Package xla is the one place where fedkit meets the compiler: it opens the PJRT plugin once per process, and
// compiles graph functions into programs. It counts them, so that a test can check that nothing recompiles.
package xla

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	gxla "github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// ErrNoPlugin says that no PJRT plugin, the library that compiles and runs programs, could be opened.
var ErrNoPlugin = errors.New("no XLA device")

// Backend returns the device of this process: the one GOMLX_BACKEND names ("xla:cuda", "xla:/path/to/plugin.so"), or
// the CPU. It is opened at the first call; nothing is ever downloaded here.
var Backend = sync.OnceValues(func() (b compute.Backend, err error) {
	config := os.Getenv(compute.ConfigEnvVar)
	if config == "" {
		config = "xla:cpu"
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
		if err != nil {
			b, err = nil, fmt.Errorf("%w: %s = %q: %v; run ./scripts/lab once to install the PJRT plugin, or set %s to xla:/path/to/plugin.so",
				ErrNoPlugin, compute.ConfigEnvVar, config, err, compute.ConfigEnvVar)
		}
	}()
	gxla.EnableAutoInstall(false) // setup is the scripts' job: a run must not touch the network
	name, plugin, _ := strings.Cut(config, ":")
	if name == gxla.BackendName && strings.Contains(filepath.Base(plugin), "cpu") {
		return gxla.NewWithOptions(plugin, pjrt.NamedValuesMap{oneDevice: int64(1)})
	}
	return compute.NewWithConfig(config)
})

// oneDevice is the option of the CPU plugin that sets how many devices it shows. By default it shows four, and splits
// every matrix product among at least four threads. They get in each other's way if there are fewer processors: a round
// of the benchmark's MLP takes a third longer on two.
const oneDevice = "cpu_device_count"

// OnCPU reports whether programs run on the CPU, rather than on a GPU or the like.
func OnCPU() bool {
	b, err := Backend()
	x, ok := b.(*gxla.Backend)
	return err != nil || !ok || x.IsCPU()
}

var compilations atomic.Int64

// Compilations counts the programs compiled by this process so far.
func Compilations() int64 { return compilations.Load() }

// Program is a graph function, compiled once for each combination of argument shapes and kept.
type Program struct {
	name  string
	build func(args []*graph.Node) []*graph.Node
	side  func() []*tensors.Tensor

	once sync.Once
	exec *graph.Exec
	err  error
}

// NewProgram returns the program that build describes. Nothing is compiled before the first Call.
func NewProgram(name string, build func(args []*graph.Node) []*graph.Node) *Program {
	return &Program{name: name, build: build}
}

// WithSide declares values for the parameters that build itself adds to the graph, in the order it adds them.
func (p *Program) WithSide(side func() []*tensors.Tensor) *Program {
	p.side = side
	return p
}

// Call runs the program. Arguments are tensors, or Go values that become tensors; results stay on the device.
func (p *Program) Call(args ...any) (out []*tensors.Tensor, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
		if err != nil {
			out, err = nil, fmt.Errorf("program %q: %w", p.name, err)
		}
	}()
	p.once.Do(p.prepare)
	if p.err != nil {
		return nil, p.err
	}
	out, err = p.exec.Call(args...)
	for _, t := range out {
		made(t)
	}
	return out, err
}

func (p *Program) prepare() {
	b, err := Backend()
	if err != nil {
		p.err = err
		return
	}
	p.exec, p.err = graph.NewExec(b, func(args []*graph.Node) []*graph.Node {
		compilations.Add(1)
		return p.build(args)
	})
	if p.err != nil {
		return
	}
	p.exec.WithName(p.name).SetMaxCache(-1)
	if p.side != nil {
		p.exec.SetSideParamsHook(func(_ *graph.Graph, inputs []compute.Buffer, _ []bool) error {
			values := p.side()
			for i, t := range values {
				buf, err := t.Buffer(b, 0)
				if err != nil {
					return err
				}
				inputs[len(inputs)-len(values)+i] = buf
			}
			return nil
		})
	}
}

// collectAfter is how many bytes of results may pile up on the device before the garbage collector is called.
// Device memory is freed by finalizers, but the collector sees only the small Go objects that stand for it and would
// wait far too long.
const collectAfter = 192 << 20

var pending atomic.Int64

func made(t *tensors.Tensor) {
	if pending.Add(t.ByteSize()) > collectAfter {
		pending.Store(0)
		runtime.GC()
	}
}

// Upload puts values on the device, with the given dimensions.
func Upload[T interface{ uint8 | int32 | float32 }](values []T, dims ...int) (t *tensors.Tensor, err error) {
	b, err := Backend()
	if err != nil {
		return nil, err
	}
	shape := shapes.Make(dtypes.FromGenericsType[T](), dims...)
	if shape.Size() != len(values) {
		return nil, fmt.Errorf("upload: %d values do not fill shape %v", len(values), dims)
	}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), shape.ByteSize())
	return tensors.FromRaw(b, 0, shape, raw)
}

// Host copies a tensor of float32 to the host.
func Host(t *tensors.Tensor) (values []float32, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("download: %v", r)
		}
	}()
	return tensors.CopyFlatData[float32](t)
}

// Free releases the device memory of temporaries at once.
func Free(ts ...*tensors.Tensor) {
	for _, t := range ts {
		if t != nil {
			_ = t.FinalizeAll() // freeing twice is harmless; the collector would do it later
		}
	}
}
