package xla

import (
	"encoding/binary"
	"fmt"
	"sync"

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
	versions *lru.Cache[string, *version] // by the shapes of the arguments
}

// version is a program for arguments of given shapes.
type version struct {
	once sync.Once
	run  compute.Executable
	err  error

	lowering sync.Once
	source   *Source
	lowerErr error
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
	in := inputs{backend: b}
	for _, a := range args {
		if err := in.add(a); err != nil {
			return nil, err
		}
	}
	v := p.version(in.shapes)
	v.once.Do(func() { v.run, v.err = p.compile(b, in.shapes) })
	if v.err != nil {
		return nil, v.err
	}
	return p.execute(v.run, &in)
}

// execute runs a version of the program.
func (p *Program) execute(run compute.Executable, in *inputs) (out []*tensors.Tensor, err error) {
	if p.side != nil {
		for _, t := range p.side() {
			if err := in.add(t); err != nil {
				return nil, err
			}
		}
	}
	results, err := run.Execute(in.buffers, in.donate, 0)
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

// inputs are the arguments of a call, on the device.
type inputs struct {
	backend compute.Backend
	shapes  []shapes.Shape
	buffers []compute.Buffer
	donate  []bool // whether the program may reuse the memory: that of a Go value's copy
}

func (in *inputs) add(argument any) (err error) {
	t, kept := argument.(*tensors.Tensor)
	if !kept {
		if t, err = tensors.FromAnyValue(argument); err != nil {
			return err
		}
	}
	in.shapes = append(in.shapes, t.Shape())
	onDevice := t.DonateBuffer
	if kept {
		onDevice = t.Buffer
	}
	buffer, err := onDevice(in.backend, 0)
	in.buffers, in.donate = append(in.buffers, buffer), append(in.donate, !kept)
	return err
}

// version returns the program for arguments of the given shapes, to be compiled at its first use.
func (p *Program) version(arguments []shapes.Shape) *version {
	var key []byte
	for _, s := range arguments {
		key = binary.AppendVarint(append(key, byte(s.DType)), int64(s.Rank()))
		for _, d := range s.Dimensions {
			key = binary.AppendVarint(key, int64(d))
		}
	}
	return p.versions.Get(string(key), func() *version { return new(version) })
}

// compile builds the graph for arguments of the given shapes and compiles it. Only the executable is kept.
func (p *Program) compile(b compute.Backend, arguments []shapes.Shape) (run compute.Executable, err error) {
	defer Caught(&err)
	builds.Add(1)
	g, outputs := p.graph(sharing{b}, arguments)
	if err := g.Compile(outputs...); err != nil {
		return nil, err
	}
	return g.Executable(), nil
}

// Build builds the graph for arguments of the given shapes and discards it: this finds mistakes in milliseconds.
func (p *Program) Build(arguments ...shapes.Shape) (err error) {
	b, err := Backend()
	if err != nil {
		return err
	}
	defer Caught(&err)
	p.graph(sharing{b}, arguments)
	return nil
}

// Text lowers the program to StableHLO, for arguments of the given shapes. Equal texts are equal programs.
func (p *Program) Text(arguments ...shapes.Shape) ([]byte, error) {
	text, _, err := p.lower(arguments)
	return text, err
}

// lower returns the program as StableHLO for arguments of the given shapes, and the shapes of its results.
func (p *Program) lower(arguments []shapes.Shape) (text []byte, results []shapes.Shape, err error) {
	b, err := Backend()
	if err != nil {
		return nil, nil, err
	}
	defer Caught(&err)
	g, outputs := p.graph(lowering{b, &text}, arguments)
	for _, o := range outputs {
		results = append(results, o.Shape())
	}
	if err := g.Compile(outputs...); err != errLowered && text == nil {
		return nil, nil, err
	}
	return text, results, nil
}

// graph builds the graph for arguments of the given shapes; it panics with the error.
func (p *Program) graph(b compute.Backend, arguments []shapes.Shape) (g *graph.Graph, outputs []*graph.Node) {
	g = graph.NewGraph(b, p.name)
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
