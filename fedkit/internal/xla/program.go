package xla

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"fedkit.example/fedkit/internal/lru"
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// Program is a graph function, compiled once for each combination of argument shapes and kept.
type Program struct {
	name     string
	build    func(args []*graph.Node) []*graph.Node
	side     func() []*tensors.Tensor
	rowWise  bool
	versions *lru.Cache[string, *version] // by the shapes of the arguments
}

// version is a program for arguments of given shapes.
type version struct {
	run    func() (compute.Executable, error)
	source func() (*Source, error)
	era    atomic.Int64 // in which it was last used: see NewEra
}

// maxVersions bounds the LRU cache of a program's versions. Each takes some 50 kB, and programs for matrices outlive their
// federations.
const maxVersions = 512

// NewProgram returns the program that build describes. Nothing is compiled before the first Call.
func NewProgram(name string, build func(args []*graph.Node) []*graph.Node) *Program {
	return &Program{name: name, build: build, versions: lru.New[string, *version](maxVersions)}
}

// String returns the program's name in errors.
func (p *Program) String() string { return fmt.Sprintf("program %q", p.name) }

// RowWise declares, when a program is made, that row i of each result [n, d] depends on row i of the arguments alone: on that of
// matrices [n, …], on number i of vectors, which have n numbers, and on what is the same for all rows, matrices [1, …] and numbers.
// Such a program serves cohorts of all sizes up to Job.MaxClients, and is compiled once.
func (p *Program) RowWise() *Program {
	p.rowWise = true
	return p
}

// IsRowWise reports whether the program was declared to be.
func (p *Program) IsRowWise() bool { return p.rowWise }

// WithSide declares values for the parameters that build itself adds to the graph, in the order it adds them.
func (p *Program) WithSide(side func() []*tensors.Tensor) *Program {
	p.side = side
	return p
}

// Call runs the program. Arguments are tensors, or Go values that become tensors; results stay on the device.
func (p *Program) Call(args ...any) (out []*tensors.Tensor, err error) {
	defer func() {
		if err != nil {
			out, err = nil, fmt.Errorf("%v: %w", p, err)
		}
	}()
	defer Caught(&err)
	b, err := Backend()
	if err != nil {
		return nil, err
	}
	in := inputs{backend: b, device: enter()}
	defer leave(in.device)
	if err := in.add(args...); err != nil {
		return nil, err
	}
	run, err := p.version(in.shapes).run()
	if err != nil {
		return nil, err
	}
	if p.side != nil {
		for _, t := range p.side() {
			if err := in.add(t); err != nil {
				return nil, err
			}
		}
	}
	results, err := run.Execute(in.buffers, in.donate, in.device)
	runtime.KeepAlive(args) // whose memory it may read: see bufferOn
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		t, err := tensors.FromBuffer(r)
		if err != nil {
			return nil, err
		}
		count(t)
		out = append(out, t)
	}
	return out, nil
}

// inputs are the arguments of a call, on one of the devices.
type inputs struct {
	backend compute.Backend
	device  compute.DeviceNum
	shapes  []shapes.Shape
	buffers []compute.Buffer
	donate  []bool // whether the program may reuse the memory: that of a Go value's copy
}

func (in *inputs) add(arguments ...any) error {
	n := len(in.shapes)
	in.shapes = append(in.shapes, make([]shapes.Shape, len(arguments))...)
	in.buffers = append(in.buffers, make([]compute.Buffer, len(arguments))...)
	in.donate = append(in.donate, make([]bool, len(arguments))...)
	return AtOnce(len(arguments), func(i int) (err error) {
		t, kept := arguments[i].(*tensors.Tensor)
		if !kept {
			if t, err = tensors.FromAnyValue(arguments[i]); err != nil {
				return err
			}
		}
		in.shapes[n+i], in.donate[n+i] = t.Shape(), !kept
		if kept {
			in.buffers[n+i], err = bufferOn(in.backend, in.device, t)
		} else {
			in.buffers[n+i], err = t.DonateBuffer(in.backend, in.device)
		}
		return err
	})
}

// AtOnce copies n values to or from the device, and returns the first error by index. go-xla waits for each copy, some 0.1 ms on a GPU:
// there, all are under way at once.
func AtOnce(n int, copy func(i int) error) error {
	errs := make([]error, n)
	var copies sync.WaitGroup
	for i := range n {
		one := func() {
			defer Caught(&errs[i])
			errs[i] = copy(i)
		}
		if OnCPU() || i == n-1 {
			one()
		} else {
			copies.Go(one)
		}
	}
	copies.Wait()
	return cmp.Or(errs...)
}

// version returns the program for arguments of the given shapes, to be compiled or lowered at its first use.
func (p *Program) version(arguments []shapes.Shape) *version {
	var key []byte
	for _, s := range arguments {
		key = binary.AppendVarint(append(key, byte(s.DType)), int64(s.Rank()))
		for _, d := range s.Dimensions {
			key = binary.AppendVarint(key, int64(d))
		}
	}
	v := p.versions.Get(string(key), func() *version {
		return &version{
			run:    sync.OnceValues(func() (compute.Executable, error) { return p.compile(arguments) }),
			source: sync.OnceValues(func() (*Source, error) { return p.lower(arguments) }),
		}
	})
	p.use(v, arguments)
	return v
}

// compile builds the graph for arguments of the given shapes and compiles it. Only the executable is kept.
func (p *Program) compile(arguments []shapes.Shape) (run compute.Executable, err error) {
	defer Caught(&err)
	g, outputs := p.shared(nil, arguments)
	if err := g.Compile(outputs...); err != nil {
		return nil, err
	}
	return g.Executable(), nil
}

// Build builds the graph for arguments of the given shapes and discards it: this finds mistakes in milliseconds.
func (p *Program) Build(arguments ...shapes.Shape) (err error) {
	defer Caught(&err)
	p.shared(nil, arguments)
	return nil
}

// Text lowers the program to StableHLO, for arguments of the given shapes. Equal texts are equal programs.
func (p *Program) Text(arguments ...shapes.Shape) ([]byte, error) {
	s, err := p.lower(arguments)
	if err != nil {
		return nil, err
	}
	return s.Text[len(opening):], nil
}

// shared builds the graph for this process's device; it panics with the error. See sharing for lowered.
func (p *Program) shared(lowered *[]byte, arguments []shapes.Shape) (g *graph.Graph, outputs []*graph.Node) {
	b, err := Backend()
	if err != nil {
		panic(err)
	}
	g = graph.NewGraph(sharing{b, lowered}, p.name)
	nodes := make([]*graph.Node, len(arguments))
	for i, s := range arguments {
		nodes[i] = graph.Parameter(g, fmt.Sprint("arg", i), s)
	}
	return g, p.build(nodes)
}

// Caught turns a panic of GoMLX into an error; for use with defer.
func Caught(err *error) {
	switch p := recover().(type) {
	case nil:
	case error:
		*err = p
	default:
		*err = fmt.Errorf("%v", p)
	}
}
