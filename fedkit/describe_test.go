package fedkit_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/loss"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	mlmodel "github.com/gomlx/gomlx/ml/model"
)

// dense is a GoMLX model function; dropout tells variants apart that predict the same.
func dense(rate float64) func(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
	return func(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
		x = graph.Reshape(x, x.Shape().Dimensions[0], -1)
		x = layers.Dense(scope.In("one"), x, true, 8)
		if rate > 0 {
			x = layers.DropoutStatic(scope, x, rate)
		}
		return layers.Dense(scope.In("two"), x, true, 10)
	}
}

// described is the description of a run in a small world.
func described(t *testing.T, m fedkit.Model, s fedkit.Strategy, o fedkit.Options) *fedkit.History {
	t.Helper()
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 10, Seed: 1}, m))(t)
	return expect.Value(fedkit.Describe(fed, s, o))(t)
}

// The task's fingerprint tells apart what has the same name, and is the same in every process.
func TestTasksHaveFingerprints(t *testing.T) {
	expect.Long(t, "nothing is concurrent")
	wide := func(change func(*fedkit.Task)) fedkit.Model {
		return func(d *datasets.Dataset) (*fedkit.Task, error) {
			task, err := model.MLP(8)(d)
			if err == nil && change != nil {
				change(task)
			}
			return task, err
		}
	}
	models := []fedkit.Model{
		wide(nil),
		wide(func(t *fedkit.Task) {
			forward := t.Forward
			t.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node { return graph.MulScalar(forward(p, x), 2) }
		}),
		wide(func(t *fedkit.Task) {
			t.Loss = func(out, y *graph.Node) *graph.Node { return graph.MulScalar(loss.CrossEntropy(out, y), 2) }
		}),
		wide(func(t *fedkit.Task) { t.Params[0].Init = nil }),
		wide(func(t *fedkit.Task) { t.Params[0].Name = "other" }),
		model.GoMLX("MLP", dense(0)),
		model.GoMLX("MLP", dense(0.1)),
		model.GoMLX("MLP", dense(0.2)),
	}
	var prints []string
	seen := map[string]int{}
	for i, m := range models {
		print := described(t, m, &strategy.FedAvg{}, fedkit.Options{Rounds: 1}).Task
		if j, dup := seen[print]; dup || len(print) != 64 {
			t.Errorf("models %d and %d: %q", i, j, print)
		}
		seen[print] = i
		if again := described(t, m, &strategy.FedAvg{}, fedkit.Options{Rounds: 1}).Task; again != print {
			t.Errorf("model %d: %s, then %s", i, print, again)
		}
		prints = append(prints, print)
	}
	if os.Getenv("FEDKIT_FINGERPRINTS") != "" { // the child
		_ = json.NewEncoder(os.Stdout).Encode(prints)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestTasksHaveFingerprints$")
	child.Env = append(os.Environ(), "FEDKIT_FINGERPRINTS=1")
	out, err := child.Output()
	var others []string
	if err == nil {
		err = json.Unmarshal([]byte(strings.SplitN(string(out), "\n", 2)[0]), &others)
	}
	if err != nil || strings.Join(others, " ") != strings.Join(prints, " ") {
		t.Errorf("another process: %v, %v; want %v", others, err, prints)
	}
}

// A description has the options of the run, who stands in between, and which code it is; the run has the same.
func TestDescribe(t *testing.T) {
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 10, Seed: 1}, model.MLP(8)))(t)
	attacked := expect.Value(attack.Apply(fed, 0.2, attack.SignFlip{Scale: 3}, 1))(t)
	s := &strategy.FedAvg{Selector: fedkit.SelectorFunc(first)}
	o := fedkit.Options{Rounds: 2, Seed: 7, EvalEvery: 2}
	is := expect.Value(fedkit.Describe(attacked, s, o))(t)
	h := expect.Value(fedkit.Run(context.Background(), attacked, s, o))(t)
	h.Rounds = nil
	a, _ := json.Marshal(is)
	if b, _ := json.Marshal(h); string(a) != string(b) {
		t.Errorf("%s\nbecame %s", a, b)
	}
	if got := is.Interceptors.String(); !strings.Contains(got, "SignFlip{Scale: 3}") || is.Interceptors.Unnamed() != nil {
		t.Error(got)
	}
	if got := is.Settings.String(); is.Settings.Unnamed() != nil || !strings.Contains(got, "EvalEvery: 2, Rounds: 2") || !strings.HasPrefix(is.Device, "cpu") {
		t.Error(got, is.Device)
	}
	plain, err := fedkit.Describe(fed, &strategy.FedAvg{}, o)
	if err != nil || !strings.HasPrefix(plain.Code, "fedkit ") || is.Code == plain.Code || !strings.HasPrefix(is.Code, plain.Code+"; own ") {
		t.Errorf("%q, %q, %v", plain.Code, is.Code, err)
	}
	if d := config.Diff(plain.Config, is.Config); len(d) != 1 {
		t.Error(d)
	}
	expect.Error(t, "Fraction = 2")(fedkit.Describe(fed, &strategy.FedAvg{Fraction: 2}, o))
}

// first selects the first n clients.
func first(r *fedkit.Round, n int) []int { return r.AllClients()[:n] }

// wrapping, by pointer and by value.
type (
	held struct {
		Inner fedkit.Strategy
		State struct{ N int }
	}
	embedding struct{ *strategy.FedAvg }
	holding   struct{ strategy.FedAvg }
	stuck     struct{ in *strategy.FedAvg }
)

func (h *held) Start(r *fedkit.Round) error           { return h.Inner.Start(r) }
func (h *held) Round(r *fedkit.Round) error           { h.State.N++; return h.Inner.Round(r) }
func (h *held) Serve(r *fedkit.Round) fedkit.Serving  { return h.Inner.Serve(r) }
func (h *held) Unwrap() fedkit.Strategy               { return h.Inner }
func (e *embedding) Unwrap() fedkit.Strategy          { return e.FedAvg }
func (h *holding) Unwrap() fedkit.Strategy            { return &h.FedAvg }
func (s *stuck) Start(r *fedkit.Round) error          { return s.in.Start(r) }
func (s *stuck) Round(r *fedkit.Round) error          { return s.in.Round(r) }
func (s *stuck) Serve(r *fedkit.Round) fedkit.Serving { return s.in.Serve(r) }
func (s *stuck) Unwrap() fedkit.Strategy              { return s.in }

// A clone has the options and no State, and shares nothing with the original that a run changes.
func TestClones(t *testing.T) {
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 10, Seed: 1}, model.MLP(8)))(t)
	inner := &strategy.FedAvg{Fraction: 0.2, Local: fedkit.Local{Batch: 16, LR: 0.1}}
	for _, s := range []fedkit.Strategy{inner, &held{Inner: inner}, &embedding{inner}, &holding{*inner}, &held{Inner: &embedding{inner}}} {
		expect.Value(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 1}))(t)
		before := inner.State.X
		clone := expect.Value(fedkit.Clone(s))(t)
		if a, b := config.Of(s), config.Of(clone); config.Diff(a, b) != nil {
			t.Errorf("%T: %s, want %s", s, b, a)
		}
		for h, err := range fedkit.Rounds(context.Background(), fed, clone, fedkit.Options{Rounds: 2}) {
			if expect.OK(t, err); len(h.Rounds) == 1 { // while the clone runs
				expect.Value(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 1}))(t)
				before = inner.State.X
			}
		}
		if inner.State.X != before {
			t.Errorf("%T: a run of the clone changed the original", s)
		}
	}
	expect.Error(t)(fedkit.Clone(nil))
	expect.Error(t, "exported field")(fedkit.Clone(&stuck{inner}))
}
