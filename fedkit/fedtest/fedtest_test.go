package fedtest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/janpfeifer/must"
)

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

// partway is FedAvg that goes only part of the way; its options and flaws are those of users' strategies.
type partway struct {
	Fraction float64
	Share    float64 `range:"(0,1]" default:"0.5"`
	Local    fedkit.Local
	State    struct {
		X    *fedkit.Matrix
		Loop *loop
	}

	flaw   string
	hidden *fedkit.Matrix
	half   *fedkit.Program
}

// runs are those of partway so far.
var runs atomic.Int64

func (s *partway) Start(r *fedkit.Round) error {
	s.State.X, s.hidden = r.Models(1), nil
	return r.Err()
}

func (s *partway) Round(r *fedkit.Round) error {
	local := s.Local
	if s.flaw == "default" && local.Epochs == 0 {
		local.Epochs = 2
	}
	u := r.Train(fedkit.Job{Clients: r.Select(nil, s.Fraction), Start: s.State.X, Local: local})
	step := u.Delta().Mean(u.Examples()).Scale(s.Share)
	switch s.flaw {
	case "frozen":
		return r.Err()
	case "random":
		step = step.Scale(1 + 1e-3*rand.Float64())
	case "forgetful":
		if s.hidden != nil {
			step = step.Add(s.hidden.Scale(0.1))
		}
		s.hidden = step
	case "compiles":
		s.State.X.Repeat(1 + r.T)
	case "parameter":
		step = step.Apply(times.Of(float64(r.T))).Scale(1 / float64(r.T))
	case "own parameter":
		step = step.Apply(times.Of(s.Share)).Scale(1 / s.Share)
	case "shapes":
		step = step.Apply(cut, make([]float64, 1+r.T))
	case "two results":
		both := step.ApplyN(2, halves.Of(5))
		step = fedkit.JoinColumns(both...)
	case "own program", "another program", "many programs":
		step = step.Apply(s.program(r.T))
	case "in a circle":
		s.State.Loop = &loop{}
		s.State.Loop.Next = s.State.Loop
	}
	s.State.X = s.State.X.Add(step)
	return r.Err()
}

var (
	times  = fedkit.NewPrograms("times", func(by float64, in []*graph.Node) *graph.Node { return graph.MulScalar(in[0], by) })
	cut    = fedkit.NewProgram("cut", func(in []*graph.Node) *graph.Node { return graph.Add(in[0], graph.ReduceAllSum(in[1])) })
	halves = fedkit.NewPrograms("halves", func(d int, in []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.Slice(in[0], graph.AxisRange(), graph.AxisRange(0, d/2)), graph.Slice(in[0], graph.AxisRange(), graph.AxisRange(d/2, d))}
	}).RowWise()
)

// program is ×1, in each run again.
func (s *partway) program(round int) *fedkit.Program {
	if s.half == nil || s.flaw == "many programs" {
		nothing := 0.
		switch s.flaw {
		case "another program":
			nothing = float64(runs.Add(1)) * 1e-30
		case "many programs":
			nothing = float64(round) * -1e-30 // none of another program's
		}
		s.half = fedkit.NewProgram("own", func(a []*graph.Node) *graph.Node { return graph.MulScalar(graph.AddScalar(a[0], nothing), 1) })
	}
	return s.half
}

func (s *partway) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }

func (s *partway) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	switch s.flaw {
	case "greedy":
		s.State.X = s.State.X.Scale(1.01)
	case "lost":
		return fedkit.Serving{Global: s.State.X.Scale(math.NaN())}
	}
	return fedkit.Serving{Global: s.State.X}
}

// loop can lead to itself.
type loop struct{ Next *loop }

// wrapped has the options of what it embeds.
type wrapped struct{ partway }

// A strategy that is right passes; each flaw is found by the test that is meant for it.
func TestSuiteFindsFlaws(t *testing.T) {
	expect.Long(t, "one run after the other")
	local := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}
	for flaw, want := range map[string]string{
		"":                "",
		"own program":     "",
		"another program": "bytes: 2 programs were compiled in another run, want 0: they differ from those of the first run",
		"many programs":   `compilations: 5 programs were compiled after round 1, want 0: program "own" for [(Float32)[1, 5]]: it is made again in every round. Make it once`,
		"parameter":       `compilations: 5 programs were compiled after round 1, want 0: program "times of 2" for [(Float32)[1, 5]]: its parameter changes`,
		"own parameter":   "",
		"shapes":          `compilations: 5 programs were compiled after round 1, want 0: program "cut" for [(Float32)[1, 5] (Float32)[3]]: its arguments change shape`,
		"two results":     "",
		"in a circle":     "bytes: invalid: State.Loop.Next = what holds it: must be a value without cycles",
		"frozen":          "learns: the loss is",
		"random":          "bytes: the bytes differ with 1 workers",
		"forgetful":       "bytes: a resumed run ends with different bytes",
		"compiles":        `compilations: 5 programs were compiled after round 1, want 0: program "take" for [(Float32)[1, 5] (Int32)[3]]: its arguments change shape`,
		"greedy":          "unseen clients: a run with unseen clients ends with different bytes",
		"lost":            "unseen clients: the loss of unseen client 0 is NaN",
		"default":         "defaults: Local.Epochs: 0 is not the default of 1",
	} {
		expect.Outcome(t, want)(fedtest.TestStrategy(&partway{Fraction: 0.5, Local: local, flaw: flaw}))
	}
	steps := fedkit.Local{Steps: 5, Batch: 8, LR: 0.05}
	expect.OK(t, fedtest.TestStrategy(&partway{Fraction: 0.5, Local: steps}))
	expect.Error(t, "must be a pointer to a struct")(fedtest.TestStrategy(value{}))
}

// leaning has an option whose range has negative numbers.
type leaning struct {
	Tau float64 `range:"[-1,1]" default:"0.5"`
	poisson
}

// poisson draws cohorts of any size. Clients keep what of their updates was not used.
type poisson struct {
	Local fedkit.Local
	Most  int  `range:"[0,inf)"`
	Own   bool // each client starts from its own model
	State struct{ X, Own, Rest, Shift *fedkit.Matrix }
}

func (s *poisson) Start(r *fedkit.Round) error {
	s.State.X = r.Models(1)
	s.State.Rest = fedkit.Zeros(r.Clients(), s.State.X.Cols())
	s.State.Own, s.State.Shift = s.State.X.Repeat(r.Clients()), s.State.Rest
	return r.Err()
}

func (s *poisson) Round(r *fedkit.Round) error {
	rng := r.Rand("sample")
	all := r.Candidates()
	S := append(all[:1:1], slices.DeleteFunc(all[1:], func(int) bool { return rng.Float64() > 0.5 })...)
	start := s.State.X
	if s.Own {
		start = s.State.Own.Take(S...)
	}
	u := r.Train(fedkit.Job{Clients: S, MaxClients: s.Most, Start: start, Local: s.Local, Shift: s.State.Shift.Take(S...)})
	s.State.Own = s.State.Own.Put(u.Clients(), u.Models.Sub(u.Delta().Scale(0.5)))
	update := u.Delta().Add(s.State.Rest.Take(u.Clients()...))
	used := update.Apply(dropped, r.Uniform("drop", update.Cols(), u.Clients()...))
	lengths, err := used.Norms()
	r.Fail(err)
	for i := range lengths {
		lengths[i] = min(1, 100/lengths[i])
	}
	s.State.X = s.State.X.Add(used.ScaleRows(lengths).Mean(u.Examples()))
	s.State.Rest = s.State.Rest.Put(u.Clients(), update.Sub(used).Scale(0.5))
	s.State.Shift = s.State.Shift.Put(u.Clients(), u.Delta().Scale(1e-3))
	return r.Err()
}

var dropped = fedkit.NewProgram("dropped", func(in []*graph.Node) *graph.Node {
	return graph.Where(graph.LessThan(in[1], graph.Scalar(in[1].Graph(), in[1].DType(), 0.2)), graph.ZerosLike(in[0]), in[0])
}).RowWise()

func (s *poisson) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }

// Cohorts that vary in size compile nothing if the largest is stated. If it is not, the suite says so.
func TestVaryingCohorts(t *testing.T) {
	local := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}
	expect.OK(t, fedtest.TestStrategy(&poisson{Most: 6, Local: local}))
	expect.OK(t, fedtest.TestStrategy(&leaning{poisson: poisson{Most: 6, Local: local}}))
	expect.Long(t, "with other options")
	expect.Error(t, "compilations: ", "its arguments change shape from round to round. If cohorts vary in size, set Job.MaxClients")(fedtest.TestStrategy(&poisson{Local: local}))
	expect.OK(t, fedtest.Suite{Loss: -1}.Test(&poisson{Most: 6, Own: true, Local: local}))
	local.Optimizer, local.KeepMemory = fedkit.Momentum{}, true
	expect.OK(t, fedtest.TestStrategy(&poisson{Most: 6, Local: local}))
	few := &poisson{Most: 1, Local: local}
	expect.Error(t, "Job.MaxClients = 1: must be in [", ", 6]: at least the ")(fedtest.TestStrategy(few))
}

type value struct{}

func (value) Start(*fedkit.Round) error              { return nil }
func (value) Round(*fedkit.Round) error              { return nil }
func (value) Serve(*fedkit.Round) (s fedkit.Serving) { return s }

// An embedded strategy's options are the outer one's.
func TestEmbedded(t *testing.T) {
	expect.Long(t, "one run after the other")
	s := &wrapped{partway{Fraction: 0.5, Local: fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}}}
	expect.OK(t, fedtest.TestStrategy(s))
	s.flaw = "default"
	expect.Error(t, "defaults: Local.Epochs")(fedtest.TestStrategy(s))
}

// around wraps a strategy.
type around struct{ fedkit.Strategy }

func (s *around) Unwrap() fedkit.Strategy { return s.Strategy }

// A wrapped strategy is tested like any other; nothing of the one that is given is touched.
func TestWrapped(t *testing.T) {
	expect.Long(t, "one run after the other")
	inner := &partway{Fraction: 0.5, Local: fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}}
	err := fedtest.TestStrategy(&around{&around{inner}})
	expect.That(t, err == nil && inner.State.X == nil, "%v, %v", err, inner.State)
	inner.flaw = "forgetful"
	expect.Error(t, "bytes: a resumed run")(fedtest.TestStrategy(&around{inner}))
}

func ExampleTestStrategy() {
	err := fedtest.TestStrategy(&partway{Fraction: 0.5, Local: fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}})
	fmt.Println(err)
	// Output: <nil>
}

func ExampleIdentical() {
	local := fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}
	fmt.Println(fedtest.Identical(&partway{Local: local}, &partway{Local: local, Share: 0.5}))
	fmt.Println(fedtest.Identical(&partway{Local: local}, &partway{Local: local, Share: 0.6}) == nil)
	// Output:
	// <nil>
	// false
}

// few are 30 digits of each of four clients.
func few(m fedkit.Model) *fedkit.Federation {
	return must.M1(fedkit.New(datasets.Digits(), partition.Take{Of: partition.IID{Clients: 4, Seed: 1}, Train: 30, Test: 20}, m))
}

// Flaws are found on any federation too, even if another suite has compiled their programs before.
func TestSuiteOnAnyFederation(t *testing.T) {
	expect.Long(t, "one run after the other")
	fed := few(model.LogisticRegression())
	timed := must.M1(fed.WithDevices(sim.Devices{PerExample: sim.Constant(0.01)}))
	local := fedkit.Local{Steps: 5, Batch: 8, LR: 0.05}
	for _, c := range []struct {
		suite      fedtest.Suite
		flaw, want string
	}{
		{fedtest.Suite{}, "", ""},
		{fedtest.Suite{Loss: 0.1}, "", "learns: the loss is"},
		{fedtest.Suite{Loss: 1.9, Rounds: 60}, "", ""},
		{fedtest.Suite{}, "frozen", "after 20 rounds, want < 2.3"},
		{fedtest.Suite{}, "compiles", "compilations: 5 programs were compiled after round 1"},
		{fedtest.Suite{}, "compiles", "compilations: 5 programs were compiled after round 1"},
		{fedtest.Suite{Fed: must.M1(fed.HoldOut(1, 1))}, "lost", "unseen clients: the loss of unseen client 0 is NaN"},
		{fedtest.Suite{Fed: timed}, "", ""},
		{fedtest.Suite{NoClock: true}, "", "clock: on devices: <nil>, want an error"},
	} {
		if c.suite.Fed == nil {
			c.suite.Fed = fed
		}
		expect.Outcome(t, c.want)(c.suite.Test(&partway{Fraction: 0.5, Local: local, flaw: c.flaw}))
	}
}

// An image model on a few digits.
func ExampleSuite_Test() {
	s := fedtest.Suite{Fed: few(model.LogisticRegression()), Loss: 2, Rounds: 40}
	fmt.Println(s.Test(&partway{Fraction: 0.5, Local: fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}}))
	// Output: <nil>
}
