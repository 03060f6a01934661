package fedkit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/loss"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/progress"
	"fedkit.example/fedkit/selection"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/go-xla/pjrt"
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
		again := described(t, m, &strategy.FedAvg{}, fedkit.Options{Rounds: 1}).Task
		expect.That(t, again == print, "model %d: %s, then %s", i, print, again)
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
	expect.That(t, err == nil && strings.Join(others, " ") == strings.Join(prints, " "),
		"another process: %v, %v; want %v", others, err, prints)
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
	got := is.Settings.String()
	expect.That(t, is.Settings.Unnamed() == nil && strings.Contains(got, "EvalEvery: 2, Rounds: 2") && strings.HasPrefix(is.Device, "cpu") && strings.Contains(is.Hardware, " processor"),
		"%v %v", got, is.Device)
	plain, err := fedkit.Describe(fed, &strategy.FedAvg{}, o)
	expect.That(t, err == nil && strings.HasPrefix(plain.Code, "fedkit ") && is.Code != plain.Code && strings.HasPrefix(is.Code, plain.Code+"; own "),
		"%q, %q, %v", plain.Code, is.Code, err)
	d := config.Diff(plain.Config, is.Config)
	expect.That(t, len(d) == 1, "%v", d)
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
		expect.That(t, inner.State.X == before, "%T: a run of the clone changed the original", s)
	}
	expect.Error(t)(fedkit.Clone(nil))
	expect.Error(t, "exported field")(fedkit.Clone(&stuck{inner}))
}

// descent is federated averaging whose loss on Quadratic falls round by round.
func descent() *strategy.FedAvg {
	return &strategy.FedAvg{Fraction: 0.5, Local: fedkit.Local{Epochs: 1, Batch: 8, LR: 0.01}}
}

// outcome is the State, and what was recorded, but for times.
func outcome(t *testing.T, s fedkit.Strategy, h *fedkit.History) []byte {
	t.Helper()
	return expect.Value(fedtest.Outcome(s, h))(t)
}

// A run ends at the evaluation at which its loss has reached a value, as one of so many rounds would. It says so, and has the same
// rounds when it is run again, for more rounds too.
func TestStopAt(t *testing.T) {
	fed := expect.Value(fedtest.Quadratic())(t)
	whole := expect.Value(fedkit.Run(t.Context(), fed, descent(), fedkit.Options{Rounds: 20, EvalEvery: 3}))(t)
	loss := float64(whole.Rounds[8].Score().Loss)
	keep := fedkit.Keep{Scores: 2, Results: 4}
	nine := descent()
	want := expect.Value(fedkit.Run(t.Context(), fed, nine, fedkit.Options{Rounds: 9, EvalEvery: 3, Keep: keep}))(t)
	dir := t.TempDir()
	o := fedkit.Options{Rounds: 20, EvalEvery: 3, Keep: keep, StopAt: fedkit.StopAt{Quantity: "loss", Value: loss}, History: filepath.Join(dir, "h"), Checkpoint: filepath.Join(dir, "c")}
	for i, rounds := range []int{20, 20, 40, 9, 20} {
		o.Rounds = rounds
		s := descent()
		h := expect.Value(fedkit.Run(t.Context(), fed, s, o))(t)
		expect.Must(t, len(h.Rounds) == 9 && !h.Stopped && bytes.Equal(outcome(t, s, h), outcome(t, nine, want)),
			"time %d: %d rounds, stopped %v: not what the first 9 rounds come to", i+1, len(h.Rounds), h.Stopped)
		early := strings.HasPrefix(h.Early, "test loss of ") && strings.Contains(h.Early, " in round 9 reached ") && strings.Contains(h.String(), "ended early: "+h.Early)
		expect.That(t, early == (rounds > 9) && (early || h.Early == ""), "time %d: of %d rounds, early: %q", i+1, rounds, h.Early)
		if s := expect.Value(progress.Read(o.Checkpoint))(t); i == 0 && (s.History.Stopped || s.History.Early != h.Early || len(s.History.Rounds) != 9) {
			t.Errorf("its checkpoint shows a run of %d rounds, stopped %v, early %q", len(s.History.Rounds), s.History.Stopped, s.History.Early)
		}
		back := expect.Value(fedkit.Load(o.History))(t)
		expect.That(t, bytes.Equal(expect.Value(json.Marshal(back))(t), expect.Value(json.Marshal(h))(t)),
			"time %d: the file has another history, early: %q", i+1, back.Early)
	}
	if text := o.Config().String(); !strings.Contains(text, `StopAt: {Quantity: "loss", Value: `) {
		t.Errorf("the identity is %s", text)
	}
	text := (fedkit.Options{Rounds: 20}).Config().String()
	expect.That(t, !strings.Contains(text, "StopAt"), "the identity of a run without it is %s", text)
	o.StopAt.Value /= 2
	expect.Invalid(t, "Options.StopAt.Value: ")(fedkit.Run(t.Context(), fed, descent(), o))
}

// A loop that is left at a condition has the same rounds each time that it goes on from its checkpoint.
func TestLoopsThatAreLeftAgain(t *testing.T) {
	fed := expect.Value(fedtest.Quadratic())(t)
	o := fedkit.Options{Rounds: 20, Checkpoint: filepath.Join(t.TempDir(), "c")}
	for range 3 {
		seen, last := 0, (*fedkit.History)(nil)
		for h, err := range fedkit.Rounds(t.Context(), fed, descent(), o) {
			expect.OK(t, err)
			seen, last = seen+1, h
			if len(h.Rounds) >= 4 {
				break
			}
		}
		expect.That(t, len(last.Rounds) == 4 && (seen == 4 || seen == 1), "%d rounds, %d of them yielded", len(last.Rounds), seen)
	}
}

// On clients with validation rows, these decide, unless it is to be the test rows.
func TestStopAtOnValidation(t *testing.T) {
	with, _ := validated(t)
	for quantity, rows := range map[string]string{"loss": "validation", "test loss": "test"} {
		h := expect.Value(fedkit.Run(t.Context(), with, descent(), fedkit.Options{Rounds: 2, StopAt: fedkit.StopAt{Quantity: quantity, Value: 100}}))(t)
		expect.That(t, strings.HasPrefix(h.Early, rows+" loss of ") && len(h.Rounds) == 1,
			"by the %s it ends after %d rounds: %q", quantity, len(h.Rounds), h.Early)
	}
}

func TestStopAtThatCannotBe(t *testing.T) {
	fed := expect.Value(fedtest.Quadratic())(t)
	for words, stop := range map[string]fedkit.StopAt{
		`Options.StopAt.Quantity = "accuracy": must be one of ["R²" "RMSE" "MAE" "loss" "f"], or one of these after "test "`: {Quantity: "accuracy", Value: 0.9},
		`Options.StopAt.Quantity = "test x": must be one of`:                                                                 {Quantity: "test x", Patience: 2},
		"Options.StopAt.Value = 90: must be at most 1, and an accuracy at least 0; 0 for none":                               {Value: 90},
		"Options.StopAt.Value = NaN: must be finite, or 0 for none":                                                          {Quantity: "loss", Value: math.NaN()},
		"Options.StopAt.Patience = -1: must be":                                                                              {Patience: -1},
		`Options.StopAt = "loss" alone: must be with a Value or a Patience`:                                                  {Quantity: "loss"},
	} {
		expect.Refused(t, words)(fedkit.Run(t.Context(), fed, descent(), fedkit.Options{Rounds: 2, StopAt: stop, Metrics: []fedkit.Metric{metric.Func("f", func(*fedkit.Predictions) float64 { return 0 })}}))
	}
}

// byLoss has two models, between which the loss chooses at an evaluation, and a selector that asks which they chose.
type byLoss struct {
	Selector fedkit.Selector
	Local    fedkit.Local
	State    struct{ X *fedkit.Matrix }
}

func (s *byLoss) Start(r *fedkit.Round) error { s.State.X = r.Models(2); return r.Err() }

func (s *byLoss) Round(r *fedkit.Round) error {
	u := r.Train(fedkit.Job{Clients: r.Select(s.Selector, 0.5), Start: s.State.X.Take(r.T % 2), Local: s.Local})
	s.State.X = fedkit.StackRows(s.State.X.Take((r.T+1)%2), u.Models.Mean(nil))
	return r.Err()
}

func (s *byLoss) Serve(*fedkit.Round) fedkit.Serving {
	return fedkit.Serving{Models: s.State.X, ByLoss: true}
}

// A run of fewer rounds evaluates its last one. Gone on for more rounds, it has what one of so many rounds has alone, and not that
// evaluation.
func TestMoreRoundsThanBefore(t *testing.T) {
	fed := expect.Value(expect.Value(fedtest.Quadratic())(t).HoldOut(1, 1))(t)
	local, never := descent().Local, fedkit.Never
	keeps := []fedkit.Keep{{}, {Scores: 2, Results: 3, Clusters: 2}, {Scores: never, Results: never, Clusters: never}}
	for i, fresh := range []func() fedkit.Strategy{
		func() fedkit.Strategy { return descent() },
		func() fedkit.Strategy { return &strategy.LocalOnly{Local: local} },
		func() fedkit.Strategy { return &strategy.CFL{Eps1: 100, Eps2: 1e-6, First: 3, Local: local} },
		func() fedkit.Strategy { return &strategy.IFCA{K: 2, Local: local} },
		func() fedkit.Strategy { return &byLoss{Local: local, Selector: selection.ByCluster{}} },
	} {
		for j, c := range []struct {
			every int
			of    []int
		}{{5, []int{7, 16}}, {2, []int{3, 9}}, {6, []int{7, 11, 14}}, {10, []int{3, 12, 13}}} {
			o := fedkit.Options{EvalEvery: c.every, Keep: keeps[(i+j)%len(keeps)], Checkpoint: filepath.Join(t.TempDir(), "c")}
			for k, n := range c.of {
				if o.Rounds = n; k > 0 { // it is interrupted once
					for h, err := range fedkit.Rounds(t.Context(), fed, fresh(), o) {
						expect.OK(t, err)
						if len(h.Rounds) > c.of[k-1] {
							break
						}
					}
				}
				s, alone := fresh(), fresh()
				h := expect.Value(fedkit.Run(t.Context(), fed, s, o))(t)
				straight := o
				straight.Checkpoint = ""
				want := expect.Value(fedkit.Run(t.Context(), fed, alone, straight))(t)
				expect.That(t, bytes.Equal(outcome(t, s, h), outcome(t, alone, want)),
					"%s, %+v, every %d: %d rounds after %v are not those of a run alone:\n%v\n%v", h.Name, o.Keep, c.every, n, c.of[:k], h, want)
			}
		}
	}
}

// meter is a watcher that measures what a run holds after some of its rounds.
type meter struct {
	after   []int
	enough  float64 // bytes beyond those after the first of the rounds that it does not wait to see go
	bytes   []float64
	buffers []int64
}

func (m *meter) Round(h *fedkit.History, _ int) {
	if !slices.Contains(m.after, len(h.Rounds)) {
		return
	}
	least := math.Inf(1)
	for i := 0; i < 5 || i < 2000 && len(m.bytes) > 0 && least > m.bytes[0]+m.enough; i++ { // finalizers free some later, and others hold some for a moment
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		least = min(least, float64(s.HeapAlloc))
		time.Sleep(5 * time.Millisecond)
	}
	m.bytes, m.buffers = append(m.bytes, least), append(m.buffers, pjrt.BuffersAlive())
}

func (*meter) Done(*fedkit.History, error) {}

// A run of 1,000 clients whose history keeps little, with a selector that ranks them, checkpoints and a streamed history, takes less
// than a kilobyte per round on the host, for the round's record, and nothing on the device.
func TestLongRunsNeedNoMoreMemory(t *testing.T) {
	fed := expect.Value(fedtest.Quadratic(slices.Repeat([]int{4}, 1000)...))(t)
	const first, last = 200, 2000
	dir, m := t.TempDir(), &meter{after: []int{first, last}, enough: 1000 * (last - first)}
	s := &strategy.FedAvg{Fraction: 0.03, Selector: selection.Fair{Quota: 0.5, Then: selection.Hybrid{}}, Local: fedkit.Local{Batch: 4, LR: 1e-8}}
	expect.Value(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: last, EvalEvery: 100, Watch: m,
		Keep:       fedkit.Keep{Scores: fedkit.Never, Results: fedkit.Never, Clusters: fedkit.Never, Absences: fedkit.Never},
		Checkpoint: filepath.Join(dir, "c"), CheckpointEvery: 10, History: filepath.Join(dir, "h")}))(t)
	perRound := (m.bytes[1] - m.bytes[0]) / (last - first)
	t.Logf("%.2f MB, then %.0f bytes per round; %d and %d buffers", m.bytes[0]/1e6, perRound, m.buffers[0], m.buffers[1])
	expect.That(t, perRound <= 1000 && m.buffers[1] <= m.buffers[0],
		"a round adds %.0f bytes; there are %d buffers on the device after round %d and %d after round %d", perRound, m.buffers[0], first, m.buffers[1], last)
}
