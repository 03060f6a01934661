package fedkit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
)

// mean is federated averaging in a few lines, with a hook.
type mean struct {
	Local  Local
	Before func(r *Round, job *Job)
	State  struct{ X *Matrix }
}

func (s *mean) Start(r *Round) error { s.State.X = r.Models(1); return r.Err() }

func (s *mean) Round(r *Round) error {
	job := Job{Clients: r.Select(nil, 0), Start: s.State.X, Local: s.Local}
	if s.Before != nil {
		s.Before(r, &job)
	}
	u := r.Train(job)
	s.State.X = u.Models.Mean(u.Examples())
	return r.Err()
}

func (s *mean) Serve(*Round) Serving { return Serving{Global: s.State.X} }

func TestRunRecords(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	w := &watch{}
	s := &mean{Local: Local{Batch: 4, LR: 0.1, Epochs: 2}}
	h := expect.Value(Run(context.Background(), fed, s, Options{Rounds: 5, EvalEvery: 2, Seed: 3, Watch: w}))(t)
	expect.That(t, h.Name == "mean" && h.Data == "toy" && h.Clients == 3 && h.Params == fed.Task.Dim() && h.Seed == 3, "header %+v", h)
	expect.That(t, h.Config.String() == "fedkit.mean{Local: {Batch: 4, Epochs: 2, LR: 0.1}}", "configuration %q", h.Config)
	expect.Must(t, len(h.Rounds) == 5 && w.rounds == 5 && w.done == 1,
		"%d records, %d times watched, %d times done; want 5, 5, 1", len(h.Rounds), w.rounds, w.done)
	for i, r := range h.Rounds {
		evaluated := (i+1)%2 == 0 || i == 4
		expect.That(t, r.Round == i+1 && len(r.Results) == 3 && r.Results[1].Steps == 6 && (r.Global != nil) == evaluated && (r.Scores != nil) == evaluated,
			"record %d: %+v", i, r)
		want := int64(3 * 4 * fed.Task.Dim())
		expect.That(t, r.BytesDown == want && r.BytesUp == want, "record %d: %d bytes down, %d up, want %d", i, r.BytesDown, r.BytesUp, want)
	}
	last := h.Last()
	expect.That(t, last.Scores[0].Examples == 1, "client 0 was marked on %d examples, want 1", last.Scores[0].Examples)
	// The clients' test rows make up the whole test part here, so both figures must agree.
	expect.That(t, math.Abs(float64(last.Mean().Loss-last.Global.Loss)) <= 1e-6,
		"mean client loss %v, global loss %v", last.Mean().Loss, last.Global.Loss)
}

type watch struct {
	rounds, done int
	err          error
}

func (w *watch) Round(h *History, _ int)    { w.rounds = len(h.Rounds) }
func (w *watch) Done(_ *History, err error) { w.done++; w.err = err }

func TestCancelKeepsWhatHappened(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	ctx, cancel := context.WithCancel(context.Background())
	s := &mean{Local: Local{Batch: 4, LR: 0.1}, Before: func(r *Round, _ *Job) {
		if r.T == 3 {
			cancel()
		}
	}}
	w := &watch{}
	h, err := Run(ctx, fed, s, Options{Rounds: 10, Watch: w})
	expect.That(t, errors.Is(err, context.Canceled) && errors.Is(w.err, context.Canceled),
		"error %v, watcher's %v, want %v", err, w.err, context.Canceled)
	expect.That(t, h != nil && len(h.Rounds) == 2, "history %v, want 2 rounds", h)
}

func TestBreakOutOfRounds(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	w := &watch{}
	if upTo(t, fed, &mean{}, Options{Rounds: 10, Watch: w}, 3); w.rounds != 3 || w.done != 1 {
		t.Errorf("%d rounds, %d times done, want 3 and 1", w.rounds, w.done)
	}
}

// figure is a metric by its name, and falling one of which less is better.
type (
	figure  string
	falling struct{ figure }
)

func (f figure) String() string             { return string(f) }
func (figure) Measure(*Predictions) float64 { return 0 }
func (falling) LowerIsBetter() bool         { return true }

// Which evaluation ends a run, by the quantity, its direction, and the rows that it is of.
func TestStopAtRule(t *testing.T) {
	fed, _ := toy(t, 4)
	nan := math.NaN()
	up, down := []float64{0.2, 0.5, 0.4, 0.45, nan, 0.9, 0.95}, []float64{nan, 3, 2, 2.5, 2.5, 1, 0.5}
	metrics := []Metric{figure("f"), falling{"ECE"}}
	for _, c := range []struct {
		stop  StopAt
		round int // that is the last one; 0 for all
		why   string
	}{
		{StopAt{}, 0, ""},
		{StopAt{Value: 0.5}, 2, "test accuracy of 0.5 in round 2 reached 0.5"},
		{StopAt{Value: 0.95}, 0, ""}, // in the last round
		{StopAt{Patience: 3}, 5, "test accuracy of 0.5 in round 2 was still the best in round 5"},
		{StopAt{Patience: 4}, 0, ""},
		{StopAt{Value: 0.9, Patience: 2}, 4, "test accuracy of 0.5 in round 2 was still the best in round 4"},
		{StopAt{Quantity: "loss", Value: 2}, 3, "test loss of 2 in round 3 reached 2"},
		{StopAt{Quantity: "loss", Patience: 2}, 5, "test loss of 2 in round 3 was still the best in round 5"},
		{StopAt{Quantity: "loss", Patience: 1}, 4, "test loss of 2 in round 3 was still the best in round 4"},
		{StopAt{Quantity: "f", Value: 0.8}, 6, "test f of 0.9 in round 6 reached 0.8"},
		{StopAt{Quantity: "ECE", Value: 2}, 3, "test ECE of 2 in round 3 reached 2"},
	} {
		for _, validated := range []bool{false, true} {
			stop, why := c.stop, c.why
			if validated {
				why = strings.ReplaceAll(why, "test ", "validation ")
			}
			rule := expect.Value(Options{Rounds: 7, StopAt: stop, Metrics: metrics}.earlyRule(fed))(t)
			last, got := 0, ""
			for i := range up {
				score := &Score{Accuracy: Float(up[i]), Loss: Float(down[i]), Examples: 1, Metrics: map[string]Float{"f": Float(up[i]), "ECE": Float(down[i])}}
				r := Record{Round: i + 1, Global: score}
				if validated {
					r.Global, r.Validation = &Score{Accuracy: 1, Examples: 1}, &history.Validation{Global: score}
				}
				if got = rule.See(r); got != "" {
					last = i + 1
					break
				}
				expect.That(t, rule.See(Record{Round: i + 2}) == "", "%+v ends at a round that is not evaluated", stop)
			}
			expect.That(t, last == c.round && got == why,
				"%+v, validated %v: ends in round %d: %q; want %d: %q", stop, validated, last, got, c.round, why)
		}
	}
}

// poison makes a client's update infinite in round 2.
func poison(client int) func(*Round, *Job) {
	return func(r *Round, job *Job) {
		if r.T != 2 {
			return
		}
		v := make([]float32, len(job.Clients)*r.Fed.Task.Dim())
		v[client*r.Fed.Task.Dim()] = float32(math.Inf(1))
		job.Shift = NewMatrix(v, len(job.Clients), r.Fed.Task.Dim())
	}
}

func TestNotFinite(t *testing.T) {
	fed, _ := toy(t, 4, 4, 4)
	s := &mean{Local: Local{Batch: 4, LR: 0.1}, Before: poison(1)}
	h, err := Run(context.Background(), fed, s, Options{Rounds: 5})
	if expect.Error(t, "round 2", "client 1 ")(err); !errors.Is(err, ErrNotFinite) || len(h.Rounds) != 1 {
		t.Errorf("error %v, %d rounds are kept; want %v and 1", err, len(h.Rounds), ErrNotFinite)
	}
	h = expect.Value(Run(context.Background(), fed, s, Options{Rounds: 3, NotFinite: Skip}))(t)
	r := h.Rounds[1]
	expect.That(t, len(r.Results) == 3 && !r.Results[0].Skipped && r.Results[1].Skipped && !r.Results[2].Skipped,
		"record %+v, want client 1 skipped", r)
	expect.That(t, !math.IsNaN(float64(h.Last().Global.Loss)), "the skipped client reached the model")
	all := &mean{Local: Local{Batch: 4, LR: 1e38, Steps: 9}}
	if _, err = Run(context.Background(), fed, all, Options{Rounds: 3, NotFinite: Skip}); !errors.Is(err, ErrNotFinite) {
		t.Errorf("error %v where every client diverged, want %v", err, ErrNotFinite)
	}
}

// Two programs train three clients each, side by side on a CPU. The error names the client, whichever has it.
func TestNotFiniteSideBySide(t *testing.T) {
	fed, _ := toy(t, 20, 4, 4, 4, 4, 4)
	for _, client := range []int{1, 5} {
		_, err := Run(context.Background(), fed, &mean{Local: Local{Batch: 4, LR: 0.1}, Before: poison(client)}, Options{Rounds: 3, Concurrency: 2})
		expect.Error(t, "round 2", fmt.Sprintf("client %d ", client))(err)
		expect.That(t, errors.Is(err, ErrNotFinite), "error %v, want %v", err, ErrNotFinite)
	}
}

// firstLine leaves out where a panic was.
func firstLine(err error) string { text, _, _ := strings.Cut(err.Error(), "\n"); return text }

func TestRunsThatCannotStart(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	for _, c := range []struct {
		fed  *Federation
		s    Strategy
		o    Options
		want string
	}{
		{nil, &mean{}, Options{Rounds: 1}, "fedkit: invalid: federation = nil: must be made by fedkit.New"},
		{fed, nil, Options{Rounds: 1}, "fedkit: invalid: strategy = nil: must be a strategy, such as &strategy.FedAvg{}"},
		{fed, (*mean)(nil), Options{Rounds: 1}, "fedkit: invalid: strategy = nil: must be a strategy, such as &strategy.FedAvg{}"},
		{fed, &mean{}, Options{}, "fedkit: mean: invalid: Options.Rounds = 0: must be at least 1"},
		{fed, &mean{}, Options{Rounds: 1, Concurrency: -1}, "fedkit: mean: invalid: Options.Concurrency = -1: must be at least 1, or 0 for the default"},
		{fed, &mean{}, Options{Rounds: 1, EvalEvery: -1}, "fedkit: mean: invalid: Options.EvalEvery = -1: must be at least 1, or 0 for the default of 1"},
		{fed, &mean{}, Options{Rounds: 1, NotFinite: 7}, "fedkit: mean: invalid: Options.NotFinite = 7: must be fedkit.Stop or fedkit.Skip"},
	} {
		h, err := Run(context.Background(), c.fed, c.s, c.o)
		expect.That(t, h == nil && err != nil && err.Error() == c.want, "%v, error %v\nwant %s", h, err, c.want)
	}
}

// Options of embedded structs are checked too, and a Check that panics is an error.
func TestChecksOfEveryKind(t *testing.T) {
	type inner struct {
		Share float64 `range:"[0,1]" default:"0.5"`
		Count uint    `range:"[1,inf)"`
	}
	type outer struct {
		inner
		Parts []any
	}
	for want, part := range map[string]any{
		"outer.Share = 2: must be in (0, 1], 0 for the default of 0.5, or fedkit.Zero": outer{inner: inner{Share: 2, Count: 1}},
		"outer.Count = 0: must be at least 1":                                          &outer{},
		"outer.Parts[1].Beta = 1: must be in (0, 1), 0 for the default of 0.9":         outer{inner{Count: 1}, []any{SGD{}, Momentum{Beta: 1}}},
		"panic while checking options: no such luck":                                   outer{inner{Count: 1}, []any{unlucky{}}},
	} {
		expect.Error(t, want)(Check(part, nil, 0))
	}
}

// A part whose text cannot be written does not end the program.
func TestConfigurationThatPanics(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	h, err := Run(context.Background(), fed, &odd{Rate: mute(1)}, Options{Rounds: 1})
	expect.That(t, h == nil && err != nil && firstLine(err) == "fedkit: panic: not a word", "%v, error %v", h, err)
}

type odd struct {
	mean
	Rate mute
}

type mute int

func (mute) MarshalText() ([]byte, error) { panic("not a word") }

type unlucky struct{}

func (unlucky) Check(*Federation, int) error { panic("no such luck") }

// What a run has, no other run may have: neither its strategy, with a State or without, nor its checkpoint. Once it is over, another
// may.
func TestRunsShareNothing(t *testing.T) {
	fed, _ := toy(t, 4, 4)
	for _, s := range []Strategy{&mean{}, &stateless{}} {
		for _, err := range Rounds(context.Background(), fed, s, Options{Rounds: 2}) {
			expect.OK(t, err)
			expect.Refused(t, "invalid: strategy = a value that is in another run: must be one per run: its State cannot be shared")(
				Run(context.Background(), fed, s, Options{Rounds: 1}))
		}
		expect.Value(Run(context.Background(), fed, s, Options{Rounds: 1}))(t)
	}
	o := Options{Rounds: 1, Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
	for _, err := range Rounds(context.Background(), fed, &mean{}, o) {
		expect.OK(t, err)
		expect.Error(t, "another run writes this one")(Run(context.Background(), fed, &mean{}, o))
	}
	var none context.Context
	expect.Refused(t, "ctx = nil")(Run(none, fed, &mean{}, Options{Rounds: 1}))
}

func TestLocalCheck(t *testing.T) {
	for want, l := range map[string]Local{
		"Local.Epochs":             {Batch: 1, LR: 1, Epochs: -1},
		"Local.Steps":              {Batch: 1, LR: 1, Steps: -1},
		"Local.Batch":              {Batch: -2, LR: 1},
		"Local.LR":                 {Batch: 1},
		"Local.Prox":               {Batch: 1, LR: 1, Prox: -1},
		"Local.Optimizer.Beta = 1": {Batch: 1, LR: 1, Optimizer: Momentum{Beta: 1}},
		"Local.Optimizer.Beta1":    {Batch: 1, LR: 1, Optimizer: Adam{Beta1: -1}},
		"Local.Optimizer.Beta2":    {Batch: 1, LR: 1, Optimizer: Adam{Beta2: 2}},
		"Local.Optimizer.Epsilon":  {Batch: 1, LR: 1, Optimizer: Adam{Epsilon: -1}},
		"Local.LR = NaN":           {Batch: 1, LR: math.NaN()},
		"Local.LR = +Inf":          {Batch: 1, LR: math.Inf(1)},
		"use one of them":          {Batch: 1, LR: 1, Steps: 1, Epochs: 1},
	} {
		expect.Invalid(t, want)(check("Local", l, nil, 0))
	}
	expect.OK(t, check("Local", Local{}, nil, 0))
}

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }
