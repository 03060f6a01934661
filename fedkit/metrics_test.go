package fedkit_test

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

func same(a, b fedkit.Float) bool {
	return math.Abs(float64(a-b)) <= 1e-5*(1e-2+math.Abs(float64(b))) || math.IsNaN(float64(a)) && math.IsNaN(float64(b))
}

// The loss, computed again as a metric, is the loss that the record has: for a global model, one model per cluster, one per
// client, mixtures, a part of a model, a regression, and a GoMLX model. The first evaluation compiles all that is needed.
func TestMetricsSeeWhatIsServed(t *testing.T) {
	expect.Long(t, "one run after the other")
	l := fedkit.Local{Batch: 16, LR: 0.1}
	digits := federation(t, datasets.Digits(), model.MLP(8))
	for name, c := range map[string]struct {
		fed    *fedkit.Federation
		s      fedkit.Strategy
		global bool
	}{
		"FedAvg":     {digits, &strategy.FedAvg{Local: l}, true},
		"IFCA":       {digits, &strategy.IFCA{Local: l}, false},
		"LocalOnly":  {digits, &strategy.LocalOnly{Local: l}, false},
		"FedPRISM":   {digits, &strategy.FedPRISM{K: 2, Every: 1, Local: l}, true},
		"FedRep":     {digits, &strategy.FedRep{Local: l}, false},
		"regression": {federation(t, sums(), model.MLP(8)), &strategy.FedAvg{Local: l}, true},
		"GoMLX":      {federation(t, datasets.Digits(), model.GoMLX("linear", linear)), &strategy.FedAvg{Local: l}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o, warm := fedkit.Options{Rounds: 4, EvalEvery: 2, Metrics: []fedkit.Metric{metric.Func("loss", crossEntropy)}}, int64(0)
			var h *fedkit.History
			for now, err := range fedkit.Rounds(context.Background(), c.fed, c.s, o) {
				expect.OK(t, err)
				if h = now; len(h.Rounds) == 2 {
					warm = xla.Compilations()
				}
			}
			if n := xla.Compilations() - warm; n != 0 {
				t.Errorf("%d programs were compiled after the first evaluation, want 0", n)
			}
			for i, r := range h.Rounds {
				if i%2 == 0 {
					continue
				}
				if (r.Global != nil) != c.global || len(r.Scores) != 6 {
					t.Fatalf("record %d: %+v", i, r)
				}
				all := r.Scores
				if c.global {
					all = append(all, *r.Global)
				}
				for _, s := range append(all, *r.Mean()) {
					own := len(s.Metrics) == 1 || name == "regression" && len(s.Metrics) == 4 // with R², RMSE and MAE
					if !own || !same(s.Metrics["loss"], s.Loss) {
						t.Errorf("record %d: loss %v, as a metric %v", i, s.Loss, s.Metrics)
					}
				}
			}
		})
	}
}

// What a metric measures in a run is what it measures of predictions after it; all of it survives JSON. Without metrics a
// record has none.
func TestMetricsOfPredictions(t *testing.T) {
	fed := federation(t, datasets.Digits(), model.MLP(8))
	metrics := append(metric.PerClass(10), metric.MacroF1{}, metric.ExpectedCalibrationError{})
	run := func(s fedkit.Strategy, o fedkit.Options) *fedkit.History {
		return expect.Value(fedkit.Run(context.Background(), fed, s, o))(t)
	}
	compare := func(who string, models *fedkit.Matrix, rows []int, score fedkit.Score) {
		p := expect.Value(fed.Predict(context.Background(), models, datasets.TestPart, rows))(t)
		for _, m := range metrics {
			if want := fedkit.Float(m.Measure(&p[0])); len(score.Metrics) != 12 || !same(score.Metrics[m.String()], want) {
				t.Errorf("%s: %s = %v, want %v", who, m, score.Metrics[m.String()], want)
			}
		}
	}
	avg := &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1}}
	h := run(avg, fedkit.Options{Rounds: 2, Metrics: metrics})
	own := &strategy.LocalOnly{Local: avg.Local}
	personal := run(own, fedkit.Options{Rounds: 2, Metrics: metrics})
	compare("all", avg.State.X, nil, *h.Last().Global)
	for c := range fed.Clients {
		compare("client", avg.State.X, fed.Clients[c].Test, h.Last().Scores[c])
		compare("personal", own.State.W.Take(c), fed.Clients[c].Test, personal.Last().Scores[c])
	}

	path := filepath.Join(t.TempDir(), "h.json")
	expect.OK(t, personal.Save(path))
	back := expect.Value(fedkit.Load(path))(t)
	missing := 0
	for c, s := range back.Last().Scores {
		for name, v := range s.Metrics {
			if math.IsNaN(float64(v)) { // a class that the client does not have
				missing++
			}
			if !same(v, personal.Last().Scores[c].Metrics[name]) {
				t.Errorf("client %d: %s came back as %v", c, name, v)
			}
		}
	}
	if missing == 0 {
		t.Error("no recall is NaN, though clients lack classes")
	}
	plain := run(&strategy.FedAvg{Local: avg.Local}, fedkit.Options{Rounds: 2})
	if b, err := json.Marshal(plain); err != nil || strings.Contains(string(b), "metrics") {
		t.Errorf("a history without metrics names them: %v", err)
	}
}

// Metrics whose names clash, or that are no metrics, are refused before round 1; one that panics ends the run by its name;
// one that changes what it is given harms no other.
func TestMetricsOfEveryKind(t *testing.T) {
	fed := federation(t, datasets.Digits(), model.MLP())
	run := func(metrics ...fedkit.Metric) (*fedkit.History, error) {
		return fedkit.Run(context.Background(), fed, &strategy.FedAvg{}, fedkit.Options{Rounds: 1, Metrics: metrics})
	}
	for want, metrics := range map[string][]fedkit.Metric{
		`Options.Metrics[1] = "macro F1": must be a name that no other metric has, and not empty`: {metric.MacroF1{}, metric.MacroF1{}},
		`Options.Metrics[0] = "": must be a name that no other metric has, and not empty`:         {metric.Func("", crossEntropy)},
		"Options.Metrics[0] = nil: must be a metric, such as metric.MacroF1{}":                    {nil},
		"Options.Metrics[0].Bins = -1: must be at least 1":                                        {metric.ExpectedCalibrationError{Bins: -1}},
		"Options.Metrics[1].Class = 10: must be in [0, 10)":                                       {metric.MacroF1{}, metric.Recall{Class: 10}},
	} {
		expect.Refused(t, want)(run(metrics...))
	}
	panics := metric.Func("sad", func(p *fedkit.Predictions) float64 { return float64(p.Outputs[0][10]) })
	if h, err := run(panics); h == nil || err == nil || !strings.Contains(err.Error(), "round 1: evaluate: metric sad: panic: runtime error: index out of range") {
		t.Errorf("%v, error %v", h, err)
	}
	spoils := metric.Func("spoils", func(p *fedkit.Predictions) float64 {
		clear(p.Labels)
		for _, out := range p.Outputs {
			clear(out)
		}
		return math.NaN()
	})
	h := expect.Value(run(spoils, metric.Func("loss", crossEntropy)))(t)
	for _, s := range append(h.Last().Scores, *h.Last().Global, *h.Last().Mean()) {
		if !same(s.Metrics["loss"], s.Loss) || !math.IsNaN(float64(s.Metrics["spoils"])) {
			t.Errorf("loss %v, metrics %v", s.Loss, s.Metrics)
		}
	}
}

// A mean over clients weights a metric by what it is of: the mean recall of a class is that of all its test examples together, 0.833 of
// class 5 (0.368 if clients counted by all their examples), and the weights survive a file. A history without them is read as before.
func TestMeansWeightMetrics(t *testing.T) {
	d := datasets.Digits()
	fed := expect.Value(fedkit.New(d, partition.Dirichlet{Clients: 20, Alpha: 0.1, Seed: 1}, model.MLP(32)))(t)
	s := &strategy.LocalOnly{Local: fedkit.Local{Epochs: 1, Batch: 32, LR: 0.1}}
	o := fedkit.Options{Rounds: 20, EvalEvery: 20, Metrics: append(metric.PerClass(10), metric.MacroF1{}, metric.TokenAccuracy{})}
	h := expect.Value(fedkit.Run(t.Context(), fed, s, o))(t)
	path := filepath.Join(t.TempDir(), "h.json")
	expect.OK(t, h.Save(path))
	last := expect.Value(fedkit.Load(path))(t).Last()
	if !reflect.DeepEqual(last.Mean(), h.Last().Mean()) {
		t.Error("another mean after a file")
	}
	mean := last.Mean()
	for class := range 10 {
		name, right, all := metric.Recall{Class: class}.String(), 0.0, 0.0
		for c, score := range last.Scores {
			p := expect.Value(fed.Predict(t.Context(), s.State.W.Take(c), datasets.TestPart, fed.Clients[c].Test))(t)[0]
			n := 0.0
			for i, answer := range p.Classes() {
				if p.Labels[i] == int32(class) {
					n++
					if answer == p.Labels[i] {
						right++
					}
				}
			}
			all += n
			if w, is := score.Weights[name]; is != (n > 0 && n != float64(score.Examples)) || is && float64(w) != n {
				t.Errorf("client %d: weight of %s is %v, want %v of %d examples", c, name, w, n, score.Examples)
			}
		}
		if got := float64(mean.Metrics[name]); math.Abs(got-right/all) > 1e-12 {
			t.Errorf("%s: mean %v, want %v of %v", name, got, right/all, all)
		}
	}
	if got := float64(mean.Metrics["recall of class 5"]); math.Abs(got-0.833) > 0.03 {
		t.Errorf("recall of class 5: %v", got)
	}
	if !same(mean.Metrics["token accuracy"], mean.Accuracy) {
		t.Errorf("accuracy %v, of labels %v", mean.Accuracy, mean.Metrics["token accuracy"])
	}
	old, n := 0.0, 0.0
	for c := range last.Scores {
		score := &last.Scores[c]
		if v := float64(score.Metrics["recall of class 5"]); !math.IsNaN(v) {
			old, n = old+v*float64(score.Examples), n+float64(score.Examples)
		}
		score.Weights = nil
	}
	if got := float64(last.Mean().Metrics["recall of class 5"]); math.Abs(got-old/n) > 1e-12 {
		t.Errorf("recall of class 5 without weights: %v, want %v", got, old/n)
	}
}

// heavy is a metric with a weight.
type heavy float64

func (heavy) String() string                         { return "heavy" }
func (heavy) Measure(p *fedkit.Predictions) float64  { return 1 }
func (h heavy) Weight(p *fedkit.Predictions) float64 { return float64(h) }

// A weight that is no weight ends the run by the metric's name; one of 0 counts in no mean.
func TestWeightsOfMetrics(t *testing.T) {
	fed := federation(t, datasets.Digits(), model.MLP())
	run := func(w float64) (*fedkit.History, error) {
		s := &strategy.FedAvg{Local: fedkit.Local{Batch: 32, LR: 0.1}}
		return fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 1, Metrics: []fedkit.Metric{heavy(w)}})
	}
	for _, w := range []float64{-1, math.NaN(), math.Inf(1)} {
		if _, err := run(w); err == nil || !strings.Contains(err.Error(), "round 1: evaluate: invalid: metric heavy: Weight = ") {
			t.Errorf("weight %v: error %v", w, err)
		}
	}
	if m := expect.Value(run(0))(t).Last().Mean(); !math.IsNaN(float64(m.Metrics["heavy"])) {
		t.Errorf("mean %v of clients without weight, want NaN", m.Metrics)
	}
}

// Clients without test examples, and metrics without a value, do not count in a mean.
func TestMeanOfScores(t *testing.T) {
	nan := fedkit.Float(math.NaN())
	none := fedkit.Score{Loss: nan, Accuracy: nan}
	r := fedkit.Record{Scores: []fedkit.Score{none}}
	if r.Mean() != nil || r.Score() != nil {
		t.Errorf("mean %+v of no example, want nil", r.Mean())
	}
	r.Scores = append(r.Scores,
		fedkit.Score{Loss: 1, Accuracy: 0.5, Examples: 3, Metrics: map[string]fedkit.Float{"a": 0.5, "b": nan, "c": nan}},
		fedkit.Score{Loss: 2, Accuracy: 0.75, Examples: 1, Metrics: map[string]fedkit.Float{"a": 0.25, "b": 0.5, "c": nan}})
	m := r.Mean()
	if c := m.Metrics["c"]; !math.IsNaN(float64(c)) {
		t.Errorf("a metric without a value has %v, want NaN", c)
	}
	delete(m.Metrics, "c")
	want := &fedkit.Score{Loss: 1.25, Accuracy: 0.5625, Examples: 4, Metrics: map[string]fedkit.Float{"a": 0.4375, "b": 0.5}}
	if !reflect.DeepEqual(m, want) {
		t.Errorf("mean %+v, want %+v", m, want)
	}
}
