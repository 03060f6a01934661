package fedtest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"syscall"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"github.com/gomlx/gomlx/core/graph"
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
	case "own program", "another program", "many programs":
		step = step.Apply(s.program(r.T))
	case "in a circle":
		s.State.Loop = &loop{}
		s.State.Loop.Next = s.State.Loop
	}
	s.State.X = s.State.X.Add(step)
	return r.Err()
}

// program is ×1, in each run anew.
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
		"many programs":   "compilations: 5 programs were compiled after round 1, want 0: make a fedkit.Program once",
		"in a circle":     "bytes: invalid: State.Loop.Next = what holds it: must be a value without cycles",
		"frozen":          "learns: the loss is",
		"random":          "bytes: the bytes differ with 1 workers",
		"forgetful":       "bytes: a resumed run ends with different bytes",
		"compiles":        "compilations: ",
		"greedy":          "newcomers: a run with newcomers ends with different bytes",
		"lost":            "newcomers: the loss of newcomer 0 is NaN",
		"default":         "defaults: Local.Epochs: 0 is not the default of 1",
	} {
		expect.Outcome(t, want)(fedtest.TestStrategy(&partway{Fraction: 0.5, Local: local, flaw: flaw}))
	}
	steps := fedkit.Local{Steps: 5, Batch: 8, LR: 0.05}
	expect.OK(t, fedtest.TestStrategy(&partway{Fraction: 0.5, Local: steps}))
	expect.Error(t, "must be a pointer to a struct")(fedtest.TestStrategy(value{}))
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
	if err := fedtest.TestStrategy(&around{&around{inner}}); err != nil || inner.State.X != nil {
		t.Errorf("%v, %v", err, inner.State)
	}
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
