package fedkit_test

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

// validated returns a federation with validation rows, and one whose clients hold the same training and test rows but no others.
func validated(t *testing.T) (with, without *fedkit.Federation) {
	t.Helper()
	rule := partition.Validation{Of: partition.Dirichlet{Clients: 5, Alpha: 0.5, Seed: 1}, Share: 0.3}
	with = expect.Value(fedkit.New(datasets.Digits(), rule, model.MLP(8)))(t)
	clients := slices.Clone(with.Clients)
	for i := range clients {
		clients[i].Validation = nil
	}
	return with, expect.Value(fedkit.New(datasets.Digits(), partition.Given(clients), model.MLP(8)))(t)
}

// A run on a federation with validation rows is the run without them, but for the scores on these rows, which are those of the
// predictions.
func TestValidationScores(t *testing.T) {
	with, without := validated(t)
	local := fedkit.Local{Epochs: 1, Batch: 16, LR: 0.1}
	global, own := &strategy.FedAvg{Local: local}, &strategy.LocalOnly{Local: local}
	for _, s := range []fedkit.Strategy{global, own} {
		o := fedkit.Options{Rounds: 2, Metrics: []fedkit.Metric{metric.MacroF1{}}}
		plain := expect.Value(fedkit.Run(t.Context(), without, s, o))(t)
		h := expect.Value(fedkit.Run(t.Context(), with, s, o))(t)
		var rows []int
		for _, c := range with.Clients {
			rows = append(rows, c.Validation...)
		}
		if plain.Validated() || !h.Validated() {
			t.Fatal("Validated says that test rows are enough, or that validation rows are not")
		}
		for i, r := range h.Rounds {
			v := r.Validation
			r.Validation, r.Seconds, r.EvalTime = nil, plain.Rounds[i].Seconds, plain.Rounds[i].EvalTime
			if !reflect.DeepEqual(r, plain.Rounds[i]) {
				t.Errorf("%T, round %d: validation rows change the run", s, i+1)
			}
			if len(v.Scores) != 5 || (v.Global == nil) != (r.Global == nil) {
				t.Errorf("%T, round %d: validation %+v", s, i+1, v)
			}
		}
		last := h.Last().OnValidation()
		sv := expect.Value(fedkit.Served(t.Context(), with, s))(t)
		score := func(m *fedkit.Matrix, rows []int) (f1 float64) {
			p := expect.Value(with.Predict(t.Context(), m, datasets.ValidationPart, rows))(t)
			return metric.MacroF1{}.Measure(&p[0])
		}
		for i, c := range with.Clients {
			m := sv.Global
			if sv.Models != nil {
				m = sv.Models.Take(i)
			}
			if got, want := float64(last.Scores[i].Metrics["macro F1"]), score(m, c.Validation); last.Scores[i].Examples != len(c.Validation) || math.Abs(got-want) > 1e-12 {
				t.Errorf("%T: client %d has a macro F1 of %v on %d rows, want %v on %d", s, i, got, last.Scores[i].Examples, want, len(c.Validation))
			}
		}
		if sv.Global != nil {
			if got, want := float64(last.Global.Metrics["macro F1"]), score(sv.Global, nil); last.Global.Examples != len(rows) || math.Abs(got-want) > 1e-12 {
				t.Errorf("the global model has a macro F1 of %v on %d rows, want %v on %d", got, last.Global.Examples, want, len(rows))
			}
		}
	}
}

// The losses on validation rows are those that clients have who hold them as training rows, and cost the same bytes and time.
func TestValidationLosses(t *testing.T) {
	with, _ := validated(t)
	clients := slices.Clone(with.Clients)
	for i := range clients {
		clients[i].Train, clients[i].Validation = clients[i].Validation, nil
	}
	held := expect.Value(fedkit.New(datasets.Digits(), partition.Given(clients), model.MLP(8)))(t)
	type outcome struct {
		Loss  [][]float64
		Down  int64
		Clock fedkit.Float
	}
	losses := func(fed *fedkit.Federation, part datasets.Part) (out outcome) {
		fed = must.M1(fed.WithDevices(sim.Devices{PerExample: sim.Constant(0.01), Up: sim.Constant(1e6), Down: sim.Constant(1e6)}))
		s := &looking{look: func(r *fedkit.Round) { out.Loss = r.Losses(r.Models(3), part, []int{4, 1}) }}
		last := expect.Value(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 1}))(t).Last()
		out.Down, out.Clock = last.BytesDown, last.Clock
		return out
	}
	got, want := losses(with, datasets.ValidationPart), losses(held, datasets.TrainPart)
	if !reflect.DeepEqual(got, want) || got.Down == 0 || got.Clock == 0 {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// looking is a strategy that only looks.
type looking struct {
	look  func(*fedkit.Round)
	State struct{}
}

func (s *looking) Start(*fedkit.Round) error            { return nil }
func (s *looking) Round(r *fedkit.Round) error          { s.look(r); return r.Err() }
func (s *looking) Serve(r *fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: r.Models(1)} }

// Without validation rows, whatever asks for them is refused.
func TestNoValidation(t *testing.T) {
	_, fed := validated(t)
	const want = "must be one whose clients have validation rows, as partition.Validation holds back"
	expect.Invalid(t, want)(fed.Predict(t.Context(), must.M1(fed.Models(1, 0)), datasets.ValidationPart, nil))
	asks := &looking{look: func(r *fedkit.Round) { r.Losses(r.Models(1), datasets.ValidationPart, r.AllClients()) }}
	expect.Invalid(t, "round 1: losses: ", "federation = 5 clients, given", want)(fedkit.Run(t.Context(), fed, asks, fedkit.Options{Rounds: 1}))
	expect.Invalid(t, "part = 3: must be datasets.TrainPart, datasets.ValidationPart or datasets.TestPart")(fed.Predict(t.Context(), must.M1(fed.Models(1, 0)), 3, nil))
	expect.OK(t, (*fedkit.Federation)(nil).NeedsValidation())
}

// Files keep what a run has, whole or summed up, and a resumed run ends with the same bytes. Clients that are held out keep their rows.
func TestValidationIsKept(t *testing.T) {
	fed, _ := validated(t)
	fed = expect.Value(fed.HoldOut(1, 1))(t)
	if len(fed.Unseen.Clients[0].Validation) == 0 {
		t.Error("an unseen client has lost its validation rows")
	}
	dir := t.TempDir()
	o := fedkit.Options{Rounds: 4, EvalEvery: 2, EvalFraction: 0.5}
	run := func(o fedkit.Options) *fedkit.History {
		h := expect.Value(fedkit.Run(context.Background(), fed, &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1}}, o))(t)
		for i := range h.Rounds {
			h.Rounds[i].Seconds, h.Rounds[i].EvalTime = 0, 0
		}
		return h
	}
	whole := run(o)
	file := filepath.Join(dir, "h")
	expect.OK(t, whole.Save(file))
	loaded, light := expect.Value(fedkit.Load(file))(t), expect.Value(history.LoadLight(file))(t)
	if a, b := must.M1(json.Marshal(whole.Rounds)), must.M1(json.Marshal(loaded.Rounds)); string(a) != string(b) {
		t.Errorf("the file has\n%s\nwant\n%s", b, a)
	}
	for i := range whole.Rounds {
		a, b := whole.Rounds[i].OnValidation(), light.Rounds[i].OnValidation()
		if !reflect.DeepEqual(a.Mean(), b.Mean()) || !reflect.DeepEqual(a.Spread(), b.Spread()) || !reflect.DeepEqual(a.Global, b.Global) {
			t.Errorf("round %d: summed up, validation is %+v, want %+v", i+1, b.Mean(), a.Mean())
		}
		if (a.Global != nil) != (i%2 == 1) || b.Scores != nil {
			t.Errorf("round %d: %+v", i+1, b)
		}
	}
	part := o
	part.Checkpoint = filepath.Join(dir, "c")
	part.Rounds = 2
	run(part)
	part.Rounds = 4
	part.Keep.Scores = fedkit.Never
	part.Checkpoint = ""
	kept := run(part)
	part.Keep.Scores, part.Checkpoint = 0, filepath.Join(dir, "c")
	resumed := run(part)
	if a, b := must.M1(json.Marshal(whole.Rounds)), must.M1(json.Marshal(resumed.Rounds)); string(a) != string(b) {
		t.Errorf("resumed:\n%s\nwant\n%s", b, a)
	}
	if a, b := kept.Last().OnValidation(), whole.Last().OnValidation(); a.Scores != nil || !reflect.DeepEqual(a.Mean(), b.Mean()) {
		t.Errorf("kept %+v, want the mean %+v", a, b.Mean())
	}
}
