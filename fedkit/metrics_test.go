package fedkit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/loss"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	mlmodel "github.com/gomlx/gomlx/ml/model"
	"github.com/janpfeifer/must"
)

func same(a, b fedkit.Float) bool {
	return math.Abs(float64(a-b)) <= 1e-5*(1e-2+math.Abs(float64(b))) || math.IsNaN(float64(a)) && math.IsNaN(float64(b))
}

// measured compares scores with what metrics measure of predictions by the models that clients are served.
func measured(t *testing.T, fed *fedkit.Federation, part datasets.Part, sv *fedkit.Serving, metrics []fedkit.Metric, r *fedkit.Record) {
	t.Helper()
	compare := func(who string, models *fedkit.Matrix, rows []int, score fedkit.Score) {
		p := expect.Value(fed.Predict(t.Context(), models, part, rows))(t)[0]
		expect.That(t, score.Examples == len(p.Outputs), "%s: %d examples, want %d", who, score.Examples, len(p.Outputs))
		for _, m := range metrics {
			want := fedkit.Float(m.Measure(&p))
			expect.That(t, same(score.Metrics[m.String()], want), "%s: %s = %v, want %v", who, m, score.Metrics[m.String()], want)
		}
	}
	for i, c := range fed.Clients {
		rows := map[datasets.Part][]int{datasets.TestPart: c.Test, datasets.ValidationPart: c.Validation}[part]
		compare(fmt.Sprint("client ", i), servedTo(sv, i), rows, r.Scores[i])
	}
	if r.Global != nil {
		compare("all", sv.Global, nil, *r.Global)
	}
}

// What a metric measures in a run is what it measures of predictions after it, by what is served then, and asking for that changes nothing:
// for a global model, one model per cluster, one per client, mixtures, a part of a model, a regression, and a GoMLX model. The loss as a
// metric is the loss that the record has, and all survives JSON. The first evaluation compiles all that is needed.
func TestMetricsSeeWhatIsServed(t *testing.T) {
	l := fedkit.Local{Batch: 16, LR: 0.1}
	digits, loss := federation(t, datasets.Digits(), model.MLP(8)), metric.Func("loss", crossEntropy)
	avg, line, mlx := &strategy.FedAvg{Local: l}, &strategy.FedAvg{Local: l}, &strategy.FedAvg{Local: l}
	rep, only := &strategy.FedRep{Local: l}, &strategy.LocalOnly{Local: l}
	ifca, prism := &strategy.IFCA{K: 3, Local: l}, &strategy.FedPRISM{K: 2, Every: 1, Local: l}
	var personal *fedkit.History
	for name, c := range map[string]struct {
		fed      *fedkit.Federation
		s        fedkit.Strategy
		state    func() *fedkit.Matrix
		global   bool
		k        int // rows of Models
		clusters bool
	}{
		"FedAvg":     {digits, avg, func() *fedkit.Matrix { return avg.State.X }, true, 0, false},
		"IFCA":       {digits, ifca, func() *fedkit.Matrix { return ifca.State.Theta }, false, 3, true},
		"LocalOnly":  {digits, only, func() *fedkit.Matrix { return only.State.W }, false, 6, false},
		"FedPRISM":   {digits, prism, func() *fedkit.Matrix { return prism.State.Models }, true, -1, true},
		"FedRep":     {digits, rep, func() *fedkit.Matrix { return rep.State.W }, false, 6, false},
		"regression": {federation(t, sums(), model.MLP(8)), line, func() *fedkit.Matrix { return line.State.X }, true, 0, false},
		"GoMLX":      {federation(t, datasets.Digits(), model.GoMLX("linear", linear)), mlx, func() *fedkit.Matrix { return mlx.State.X }, true, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			o, warm := fedkit.Options{Rounds: 4, EvalEvery: 2, Metrics: []fedkit.Metric{loss}}, int64(0)
			if name != "regression" {
				o.Metrics = append(metric.PerClass(10), metric.MacroF1{}, metric.ExpectedCalibrationError{}, loss)
			}
			var h *fedkit.History
			for now, err := range fedkit.Rounds(context.Background(), c.fed, c.s, o) {
				expect.OK(t, err)
				if h = now; len(h.Rounds) == 2 {
					warm = xla.Compilations()
				}
			}
			n := xla.Compilations() - warm
			expect.That(t, n == 0, "%d programs were compiled after the first evaluation, want 0", n)
			for _, r := range []*fedkit.Record{&h.Rounds[1], h.Last()} {
				expect.Must(t, (r.Global != nil) == c.global && len(r.Scores) == 6, "%+v", r)
				all := append(r.Scores, *r.Mean())
				if c.global {
					all = append(all, *r.Global)
				}
				for _, s := range all {
					own := len(s.Metrics) == len(o.Metrics) || name == "regression" && len(s.Metrics) == 4 // with R², RMSE and MAE
					expect.That(t, own && same(s.Metrics["loss"], s.Loss), "loss %v, as a metric %v", s.Loss, s.Metrics)
				}
			}
			before := c.state()
			sv := expect.Value(fedkit.Served(t.Context(), c.fed, c.s))(t)
			expect.That(t, c.state() == before, "the State has another matrix")
			expect.That(t, (sv.Global != nil) == c.global && (c.k < 0 || sv.Models.Rows() == c.k) && (sv.Clusters != nil) == c.clusters && !sv.ByLoss, "%+v", sv)
			expect.That(t, slices.Equal(sv.Clusters, h.Last().Clusters), "clusters %v, recorded %v", sv.Clusters, h.Last().Clusters)
			if measured(t, c.fed, datasets.TestPart, sv, o.Metrics, h.Last()); name == "LocalOnly" {
				personal = h
			}
			for i := 0; i < 6 && name != "regression"; i++ {
				got, want := under(t, c.fed, sv)[i], float64(h.Last().Scores[i].Accuracy)
				expect.That(t, math.Abs(got-want) <= 1e-6, "client %d: accuracy %v under what is served, recorded %v", i, got, want)
			}
		})
	}
	path, missing := filepath.Join(t.TempDir(), "h.json"), 0
	expect.OK(t, personal.Save(path))
	for c, s := range expect.Value(fedkit.Load(path))(t).Last().Scores {
		for name, v := range s.Metrics {
			if math.IsNaN(float64(v)) { // a class that the client does not have
				missing++
			}
			expect.That(t, same(v, personal.Last().Scores[c].Metrics[name]), "client %d: %s came back as %v", c, name, v)
		}
	}
	expect.That(t, missing != 0, "no recall is NaN, though clients lack classes")
	b, err := json.Marshal(expect.Value(fedkit.Run(t.Context(), digits, avg, fedkit.Options{Rounds: 1}))(t))
	expect.That(t, err == nil && !strings.Contains(string(b), "metrics"), "a history without metrics names them: %v", err)
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
		expect.That(t, same(s.Metrics["loss"], s.Loss) && math.IsNaN(float64(s.Metrics["spoils"])), "loss %v, metrics %v", s.Loss, s.Metrics)
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
	expect.That(t, reflect.DeepEqual(last.Mean(), h.Last().Mean()), "another mean after a file")
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
		got := float64(mean.Metrics[name])
		expect.That(t, math.Abs(got-right/all) <= 1e-12, "%s: mean %v, want %v of %v", name, got, right/all, all)
	}
	if got := float64(mean.Metrics["recall of class 5"]); math.Abs(got-0.833) > 0.03 {
		t.Errorf("recall of class 5: %v", got)
	}
	expect.That(t, same(mean.Metrics["token accuracy"], mean.Accuracy),
		"accuracy %v, of labels %v", mean.Accuracy, mean.Metrics["token accuracy"])
	old, n := 0.0, 0.0
	for c := range last.Scores {
		score := &last.Scores[c]
		if v := float64(score.Metrics["recall of class 5"]); !math.IsNaN(v) {
			old, n = old+v*float64(score.Examples), n+float64(score.Examples)
		}
		score.Weights = nil
	}
	got := float64(last.Mean().Metrics["recall of class 5"])
	expect.That(t, math.Abs(got-old/n) <= 1e-12, "recall of class 5 without weights: %v, want %v", got, old/n)
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
	m := expect.Value(run(0))(t).Last().Mean()
	expect.That(t, math.IsNaN(float64(m.Metrics["heavy"])), "mean %v of clients without weight, want NaN", m.Metrics)
}

// Clients without test examples, and metrics without a value, do not count in a mean.
func TestMeanOfScores(t *testing.T) {
	nan := fedkit.Float(math.NaN())
	none := fedkit.Score{Loss: nan, Accuracy: nan}
	r := fedkit.Record{Scores: []fedkit.Score{none}}
	expect.That(t, r.Mean() == nil && r.Score() == nil, "mean %+v of no example, want nil", r.Mean())
	r.Scores = append(r.Scores,
		fedkit.Score{Loss: 1, Accuracy: 0.5, Examples: 3, Metrics: map[string]fedkit.Float{"a": 0.5, "b": nan, "c": nan}},
		fedkit.Score{Loss: 2, Accuracy: 0.75, Examples: 1, Metrics: map[string]fedkit.Float{"a": 0.25, "b": 0.5, "c": nan}})
	m := r.Mean()
	expect.That(t, math.IsNaN(float64(m.Metrics["c"])), "a metric without a value has %v, want NaN", m.Metrics["c"])
	delete(m.Metrics, "c")
	want := &fedkit.Score{Loss: 1.25, Accuracy: 0.5625, Examples: 4, Metrics: map[string]fedkit.Float{"a": 0.4375, "b": 0.5}}
	expect.That(t, reflect.DeepEqual(m, want), "mean %+v, want %+v", m, want)
}

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
		expect.Must(t, !plain.Validated() && h.Validated(), "Validated says that test rows are enough, or that validation rows are not")
		for i, r := range h.Rounds {
			v := r.Validation
			r.Validation, r.Seconds, r.EvalTime = nil, plain.Rounds[i].Seconds, plain.Rounds[i].EvalTime
			expect.That(t, reflect.DeepEqual(r, plain.Rounds[i]), "%T, round %d: validation rows change the run", s, i+1)
			expect.That(t, len(v.Scores) == 5 && (v.Global == nil) == (r.Global == nil), "%T, round %d: validation %+v", s, i+1, v)
		}
		last := h.Last().OnValidation()
		sv := expect.Value(fedkit.Served(t.Context(), with, s))(t)
		measured(t, with, datasets.ValidationPart, sv, o.Metrics, &last)
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
		s := asking{func(r *fedkit.Round) { out.Loss = r.Losses(r.Models(3), part, []int{4, 1}) }}
		last := expect.Value(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 1}))(t).Last()
		out.Down, out.Clock = last.BytesDown, last.Clock
		return out
	}
	got, want := losses(with, datasets.ValidationPart), losses(held, datasets.TrainPart)
	expect.That(t, reflect.DeepEqual(got, want) && got.Down != 0 && got.Clock != 0, "%+v, want %+v", got, want)
}

// Without validation rows, whatever asks for them is refused.
func TestNoValidation(t *testing.T) {
	_, fed := validated(t)
	const want = "must be one whose clients have validation rows, as partition.Validation holds back"
	expect.Invalid(t, want)(fed.Predict(t.Context(), must.M1(fed.Models(1, 0)), datasets.ValidationPart, nil))
	asks := asking{func(r *fedkit.Round) { r.Losses(r.Models(1), datasets.ValidationPart, r.AllClients()) }}
	expect.Invalid(t, "round 1: losses: ", "federation = 5 clients, given", want)(fedkit.Run(t.Context(), fed, asks, fedkit.Options{Rounds: 1}))
	expect.Invalid(t, "part = 3: must be datasets.TrainPart, datasets.ValidationPart or datasets.TestPart")(fed.Predict(t.Context(), must.M1(fed.Models(1, 0)), 3, nil))
	expect.OK(t, (*fedkit.Federation)(nil).NeedsValidation())
}

// Files keep what a run has, whole or summed up, and a resumed run ends with the same bytes. Clients that are held out keep their rows.
func TestValidationIsKept(t *testing.T) {
	fed, _ := validated(t)
	fed = expect.Value(fed.HoldOut(1, 1))(t)
	expect.That(t, len(fed.Unseen.Clients[0].Validation) != 0, "an unseen client has lost its validation rows")
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
		expect.That(t, reflect.DeepEqual(a.Mean(), b.Mean()) && reflect.DeepEqual(a.Spread(), b.Spread()) && reflect.DeepEqual(a.Global, b.Global),
			"round %d: summed up, validation is %+v, want %+v", i+1, b.Mean(), a.Mean())
		expect.That(t, (a.Global != nil) == (i%2 == 1) && b.Scores == nil, "round %d: %+v", i+1, b)
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

// several makes a data set of 200 training and 50 test rows of four features, with t targets or labels for each that write appends.
func several(name string, t int, write func(x []float64, s *datasets.Split)) *datasets.Dataset {
	d, rng := &datasets.Dataset{Name: name, Shape: []int{4}}, fedkit.Random(1, name)
	for n, s := range map[int]*datasets.Split{200: &d.Train, 50: &d.Test} {
		s.Width = t
		for range n {
			x := make([]float64, 4)
			for j := range x {
				x[j] = rng.NormFloat64()
				s.Floats = append(s.Floats, float32(x[j]))
			}
			write(x, s)
		}
	}
	return d
}

// values, tags and positions are data sets of each form. A position has one of three classes, or no label.
func values() *datasets.Dataset {
	return several("values", 3, func(x []float64, s *datasets.Split) {
		s.Targets = append(s.Targets, float32(x[0]+x[1]), float32(x[2]-x[3]), float32(2*x[0]))
	})
}

func tags() *datasets.Dataset {
	d := several("tags", 2, func(x []float64, s *datasets.Split) {
		for _, sum := range []float64{x[0] + x[1], x[2] - x[3]} {
			tag := float32(0)
			if sum > 0 {
				tag = 1
			}
			s.Targets = append(s.Targets, tag)
		}
	})
	d.Tags = true
	return d
}

func positions() *datasets.Dataset {
	d := several("positions", 3, func(x []float64, s *datasets.Split) {
		classOf := func(v float64) int32 { return int32(min(max(math.Round(v+1), 0), 2)) }
		s.Labels = append(s.Labels, classOf(x[0]), classOf(x[1]), -1)
		if x[2] > 0 {
			s.Labels[len(s.Labels)-1] = classOf(x[2])
		}
	})
	d.Classes = 3
	return d
}

// column returns the data set with one of its targets or positions.
func column(d *datasets.Dataset, j int) *datasets.Dataset {
	one := *d
	for _, s := range []*datasets.Split{&one.Train, &one.Test} {
		labels, targets, t := s.Labels, s.Targets, s.Width
		s.Labels, s.Targets, s.Width = nil, nil, 0
		for i := j; i < max(len(labels), len(targets)); i += t {
			if labels != nil {
				s.Labels = append(s.Labels, labels[i])
			} else {
				s.Targets = append(s.Targets, targets[i])
			}
		}
	}
	return &one
}

// A linear model of several targets is one model for each: loss and outputs are those of runs on one column at a time, at a rate that
// makes up for the mean over tags and positions.
func TestSeveralTargetsAreColumns(t *testing.T) {
	whole := positions()
	for i := range whole.Train.Labels { // without a mask, all positions count the same
		whole.Train.Labels[i] = max(0, whole.Train.Labels[i])
	}
	for i := range whole.Test.Labels {
		whole.Test.Labels[i] = max(0, whole.Test.Labels[i])
	}
	for _, c := range []struct {
		d      *datasets.Dataset
		model  fedkit.Model
		shares float64 // of the loss of a column
		k      int     // outputs of one
	}{{values(), model.LinearRegression(), 1, 1}, {tags(), model.LogisticRegression(), 2, 1}, {whole, model.LogisticRegression(), 3, 3}} {
		run := func(d *datasets.Dataset, rate float64) (loss float64, outputs [][]float32) {
			fed := expect.Value(fedkit.New(d, partition.IID{Clients: 4, Seed: 1}, c.model))(t)
			avg := &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: rate}}
			h := expect.Value(fedkit.Run(t.Context(), fed, avg, fedkit.Options{Rounds: 3}))(t)
			p := expect.Value(fed.Predict(t.Context(), avg.State.X, datasets.TestPart, nil))(t)
			return float64(h.Last().Global.Loss), p[0].Outputs
		}
		got, outputs := run(c.d, 0.1*c.shares)
		want, flat := 0.0, slices.Concat(outputs...)
		for j := range c.d.Train.Width {
			loss, own := run(column(c.d, j), 0.1)
			want += loss / c.shares
			for i, out := range own {
				for k, v := range out {
					w := flat[(i*c.d.Train.Width+j)*c.k+k]
					expect.Must(t, math.Abs(float64(v-w)) <= 1e-4, "%s: output %d of example %d is %v, alone %v", c.d.Name, j, i, w, v)
				}
			}
		}
		expect.That(t, math.Abs(got-want) <= 1e-5*want, "%s: loss %v, want %v", c.d.Name, got, want)
	}
}

// What a model says of positions without a label does not matter, to losses, accuracies or metrics, and neither does what it is.
func TestPositionsWithoutLabels(t *testing.T) {
	d := positions()
	fed := expect.Value(fedkit.New(d, partition.Validation{Of: partition.ByTarget{Of: partition.Dirichlet{Clients: 4, Alpha: 1, Seed: 1}}}, model.MLP(16)))(t)
	avg := &strategy.FedAvg{Local: fedkit.Local{Epochs: 5, Batch: 16, LR: 0.3}}
	h := expect.Value(fedkit.Run(t.Context(), fed, avg, fedkit.Options{Rounds: 10, EvalEvery: 10, Metrics: []fedkit.Metric{metric.MacroF1{}}}))(t)
	expect.That(t, h.Accuracy() >= 0.8, "accuracy %v", h.Accuracy())
	p := expect.Value(fed.Predict(t.Context(), avg.State.X, datasets.TestPart, nil))(t)[0]
	expect.Must(t, len(p.Outputs) == 150 && len(p.Labels) == 150 && len(p.Outputs[0]) == 3 && slices.Equal(p.Labels, d.Test.Labels),
		"%d outputs of %d, %d labels", len(p.Outputs), len(p.Outputs[0]), len(p.Labels))
	accuracy, loss := 0.0, 0.0
	for i := range 50 {
		right, nats, n := 0.0, 0.0, 0.0
		for j := range 3 {
			if y := p.Labels[3*i+j]; y >= 0 {
				out, sum := p.Outputs[3*i+j], 0.0
				for _, v := range out {
					sum += math.Exp(float64(v - out[y]))
				}
				n, nats = n+1, nats+math.Log(sum)
				if p.Classes()[3*i+j] == y {
					right++
				}
			}
		}
		accuracy, loss = accuracy+right/n/50, loss+nats/n/50
	}
	if got := h.Last().Global; math.Abs(float64(got.Accuracy)-accuracy) > 1e-6 || math.Abs(float64(got.Loss)-loss) > 1e-5 {
		t.Errorf("accuracy %v and loss %v, want %v and %v", got.Accuracy, got.Loss, accuracy, loss)
	}
	for i, y := range p.Labels {
		if y < 0 {
			p.Outputs[i] = []float32{float32(math.NaN()), 0, 0}
		}
	}
	if got, want := (metric.MacroF1{}).Measure(&p), float64(h.Last().Global.Metrics["macro F1"]); got != want || want == 0 {
		t.Errorf("macro F1 %v, want %v", got, want)
	}
}

// Tags are learned by models of images too, and a GoMLX model function has their shape.
func TestTags(t *testing.T) {
	fed := expect.Value(fedkit.New(tags(), partition.ByTarget{Of: partition.Shards{Clients: 4}}, model.MLP(16)))(t)
	avg := &strategy.FedAvg{Local: fedkit.Local{Epochs: 5, Batch: 16, LR: 0.5}}
	a := expect.Value(fedkit.Run(t.Context(), fed, avg, fedkit.Options{Rounds: 5}))(t).Accuracy()
	expect.That(t, a >= 0.9, "accuracy %v", a)
	p := expect.Value(fed.Predict(t.Context(), avg.State.X, datasets.TestPart, []int{3, 1}))(t)[0]
	expect.That(t, len(p.Outputs) == 2 && len(p.Outputs[0]) == 2 && slices.Equal(p.Targets, slices.Concat(tags().Test.Targets[6:8], tags().Test.Targets[2:4])),
		"%+v", p)
	two := func(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
		return layers.Dense(scope.In("only"), x, true, 2)
	}
	expect.Value(fedkit.New(tags(), partition.IID{Clients: 2}, model.GoMLX("two", two)))(t)
	expect.Invalid(t, "output of the model function = (Float32)[3, 2]: must be (Float32)[3, 3, 3]")(fedkit.New(positions(), partition.IID{Clients: 2}, model.GoMLX("two", two)))
	image := &datasets.Dataset{Name: "images", Shape: []int{16, 16, 1}, Tags: true, Train: datasets.Split{Floats: make([]float32, 2*256), Targets: []float32{0, 1, 1, 0, 0, 1}, Width: 3}}
	image.Test = image.Train
	for _, m := range []fedkit.Model{model.LeNet(), model.CNN(), model.ResNet8()} {
		task := must.M1(fedkit.New(image, partition.IID{Clients: 2}, m)).Task
		expect.That(t, task.Params[len(task.Params)-1].Size() == 3, "%s has %d outputs", task.Name, task.Params[len(task.Params)-1].Size())
	}
}

// Targets that do not fit the loss, the model or the metric are refused before round 1.
func TestTargetsThatDoNotFit(t *testing.T) {
	single := func(d *datasets.Dataset) (*fedkit.Task, error) { // of one output
		return &fedkit.Task{Name: "single", Params: []fedkit.Param{{Name: "w", Shape: []int{4, 1}}},
			Forward: func(p []*graph.Node, x *graph.Node) *graph.Node { return graph.Einsum("cbi,cio->cbo", x, p[0]) }}, nil
	}
	iid := partition.IID{Clients: 4}
	expect.Invalid(t, "task single: ", "Task.Forward = (Float32)[2, 3, 1]: must be (Float32)[2, 3, 3]")(fedkit.New(values(), iid, single))
	expect.Invalid(t, "Task.Forward", "must be (Float32)[2, 3, 2]")(fedkit.New(tags(), iid, single))
	expect.Invalid(t, "Task.Forward", "must be (Float32)[2, 3, 3, 3]")(fedkit.New(positions(), iid, single))
	expect.Invalid(t, "model.LinearRegression: Tags = true: must be false")(fedkit.New(tags(), iid, model.LinearRegression()))
	expect.Invalid(t, "model.LogisticRegression: Classes = 0: must be at least 2")(fedkit.New(values(), iid, model.LogisticRegression()))
	lossOf := func(d *datasets.Dataset) (*fedkit.Task, error) { // a loss of its own that is none of examples
		task, err := model.MLP()(d)
		task.Loss = func(out, y *graph.Node) *graph.Node { return graph.Square(graph.Sub(out, y)) }
		return task, err
	}
	expect.Invalid(t, "Task.Loss", "(Float32)[2, 3, 3]: must be (Float32)[2, 3]")(fedkit.New(values(), iid, lossOf))
	fed := must.M1(fedkit.New(tags(), iid, model.MLP()))
	o := fedkit.Options{Rounds: 1, Metrics: []fedkit.Metric{metric.MacroF1{}}}
	expect.Invalid(t, "Options.Metrics[0] = a metric of labels: must be one for tags")(fedkit.Run(t.Context(), fed, &strategy.FedAvg{}, o))
	other := tags()
	other.Tags = false
	expect.Invalid(t, "targets of width 2, tags false", "targets of width 2, tags true")(fed.WithData(other, "not tags"))
}

// A regression has R², RMSE and MAE instead of an accuracy. The unit of its targets changes neither R² nor the round that reaches it.
func TestRegressionInAnyUnit(t *testing.T) {
	d := several("prices", 1, func(x []float64, s *datasets.Split) {
		s.Targets = append(s.Targets, float32(x[0]-2*x[1]+0.1*x[2]*x[3]))
	})
	run := func(unit float32) *fedkit.History {
		d := *d
		for _, s := range []*datasets.Split{&d.Train, &d.Test} {
			s.Targets = slices.Clone(s.Targets)
			for i := range s.Targets {
				s.Targets[i] *= unit
			}
		}
		fed := expect.Value(fedkit.New(&d, partition.Validation{Of: partition.IID{Clients: 4, Seed: 1}}, model.LinearRegression()))(t)
		return expect.Value(fedkit.Run(t.Context(), fed, &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1}}, fedkit.Options{Rounds: 8}))(t)
	}
	one, thousand := run(1), run(1000)
	close := func(what string, got, want float64) {
		expect.That(t, math.Abs(got-want) <= 1e-4*math.Abs(want), "%s is %v, want %v", what, got, want)
	}
	for i := range one.Rounds {
		a, b := &one.Rounds[i], &thousand.Rounds[i]
		for _, s := range [][2]*fedkit.Score{{a.Global, b.Global}, {a.Mean(), b.Mean()}, {&a.Scores[2], &b.Scores[2]}, {a.Validation.Global, b.Validation.Global}} {
			expect.Must(t, len(s[0].Metrics) == 3 && math.IsNaN(float64(s[0].Accuracy)) && s[0].Main() == history.R2, "score %+v", *s[0])
			close("R²", float64(s[1].Metrics["R²"]), float64(s[0].Metrics["R²"]))
			close("RMSE", float64(s[1].Metrics["RMSE"]), 1000*float64(s[0].Metrics["RMSE"]))
			close("MAE", float64(s[1].Metrics["MAE"]), 1000*float64(s[0].Metrics["MAE"]))
		}
		close("RMSE² / 2", math.Pow(float64(a.Global.Metrics["RMSE"]), 2)/2, float64(a.Global.Loss))
		close("the clients' worst R²", float64(b.Spread().Worst), float64(a.Spread().Worst))
	}
	last := history.R2.Last(one)
	n := one.RoundsTo(0.9)
	expect.That(t, n >= 2 && n == thousand.RoundsTo(0.9) && last > 0.95 && math.IsNaN(one.Accuracy()),
		"rounds to R² 0.9: %d and %d; R² at the end %v", n, thousand.RoundsTo(0.9), last)
	path := filepath.Join(t.TempDir(), "h")
	expect.OK(t, thousand.Save(path))
	for _, load := range []func(string) (*fedkit.History, error){history.Load, history.LoadLight} {
		back := expect.Value(load(path))(t)
		expect.That(t, back.String() == thousand.String() && reflect.DeepEqual(*back.Last().Spread(), *thousand.Last().Spread()) && back.Main() == history.R2,
			"loaded:\n%swant:\n%s", back, thousand)
	}
	s := one.String()
	expect.That(t, strings.Contains(s, " R²  own R² ") && strings.Count(s, "%") == 1 && !strings.Contains(s, "accuracy"),
		"it is printed as\n%s", s)
}

// A task may say what is right of real values, and outputs need not be those of the targets: then there is no R².
func TestRegressionOfItsOwn(t *testing.T) {
	run := func(change func(*fedkit.Task)) *fedkit.History {
		fed := expect.Value(fedkit.New(column(values(), 0), partition.IID{Clients: 2}, func(d *datasets.Dataset) (*fedkit.Task, error) {
			task, err := model.MLP(4)(d)
			change(task)
			return task, err
		}))(t)
		return expect.Value(fedkit.Run(t.Context(), fed, &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1}}, fedkit.Options{Rounds: 1}))(t)
	}
	within := run(func(task *fedkit.Task) {
		task.Accuracy = func(out, y *graph.Node) *graph.Node {
			return graph.ConvertDType(graph.LessThan(loss.SquaredError(out, y), graph.Const(out.Graph(), float32(0.5))), out.DType())
		}
	})
	a := within.Accuracy()
	expect.That(t, within.Main() == history.Accuracy && a > 0 && a < 1 && len(within.Last().Global.Metrics) == 3, "%+v", within.Last().Global)
	twice := run(func(task *fedkit.Task) {
		forward := task.Forward
		task.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
			out := forward(p, x)
			return graph.Concatenate([]*graph.Node{out, out}, -1)
		}
		task.Loss = func(out, y *graph.Node) *graph.Node {
			return loss.SquaredError(graph.Slice(out, graph.AxisRange(), graph.AxisRange(), graph.AxisRange(0, 1)), y)
		}
		task.Accuracy = func(out, y *graph.Node) *graph.Node { return graph.MulScalar(task.Loss(out, y), math.NaN()) }
	})
	r := twice.Last()
	expect.That(t, r.Global.Metrics == nil && r.Spread() == nil && !strings.Contains(twice.String(), "NaN"), "%+v\n%s", r.Global, twice)
}

// masked has two labels for each row, of which every other one has none; without these rows if they are left out.
func masked(leftOut bool) *datasets.Dataset {
	d := &datasets.Dataset{Name: "masked", Shape: []int{1}, Classes: 2}
	d.Train.Width, d.Test.Width = 2, 2
	for i := range 200 {
		class := int32(i % 4 / 2)
		y := []int32{class, 1 - class}
		if i%2 == 1 {
			y = []int32{-1, -1}
		}
		if i%2 == 1 && leftOut {
			continue
		}
		for _, s := range []*datasets.Split{&d.Train, &d.Test} {
			s.Floats, s.Labels = append(s.Floats, float32(class)*2-1), append(s.Labels, y...)
		}
	}
	return d
}

// fourParts gives four clients a tenth, two fifths and two fourParts of the rows, with a fiftieth of all for each to validate on.
func fourParts(n int) (rule partition.Given) {
	for _, cut := range [][2]int{{0, n / 10}, {n / 10, n / 2}, {n / 2, 3 * n / 4}, {3 * n / 4, n}} {
		var c partition.Client
		for row := cut[0]; row < cut[1]; row++ {
			c.Test = append(c.Test, row)
			if row < cut[0]+n/50 {
				c.Validation = append(c.Validation, row)
			} else {
				c.Train = append(c.Train, row)
			}
		}
		rule = append(rule, c)
	}
	return rule
}

// Rows without any label count in nothing: neither in scores nor in weights, steps and losses of training. All is as if they were not there.
func TestRowsWithoutLabels(t *testing.T) {
	var histories [2]*fedkit.History
	for i, leftOut := range []bool{false, true} {
		d := masked(leftOut)
		fed := expect.Value(fedkit.New(d, fourParts(d.Train.Len()), model.MLP(8)))(t)
		avg := &strategy.FedAvg{Local: fedkit.Local{Epochs: 5, Batch: 10, LR: 0.5}}
		h := expect.Value(fedkit.Run(t.Context(), fed, avg, fedkit.Options{Rounds: 20, EvalEvery: 10, Metrics: []fedkit.Metric{metric.MacroF1{}, metric.TokenAccuracy{}}}))(t)
		last := h.Last()
		g := last.Global
		expect.That(t, g.Accuracy == 1 && g.Examples == 100 && g.Metrics["macro F1"] == 1 && g.Loss < 0.1,
			"left out %t: %+v, want accuracy 1 of 100", leftOut, *g)
		for c, n := range []int{10, 40, 25, 25} {
			if s, r, v := last.Scores[c], last.Results[c], last.Validation.Scores[c]; s.Examples != n || r.Examples != n-2 || v.Examples != 2 || r.Steps != 5*((n-2+9)/10) {
				t.Errorf("left out %t: client %d: %d test, %d train and %d validation examples, %d steps", leftOut, c, s.Examples, r.Examples, v.Examples, r.Steps)
			}
		}
		m := last.Mean()
		expect.That(t, m.Accuracy == 1 && m.Examples == 100, "left out %t: mean %+v", leftOut, *m)
		histories[i] = h
		if leftOut {
			continue
		}
		want := "; 200 rows without a label left out"
		expect.That(t, fed.Rule == fourParts(200).String()+want, "rule %q, want %q at its end", fed.Rule, want)
		p := expect.Value(fed.Predict(t.Context(), avg.State.X, datasets.TestPart, nil))(t)[0]
		expect.That(t, len(p.Outputs) == 400, "outputs for %d entries, want those of all 200 rows", len(p.Outputs))
		expect.Value(fed.WithData(d, "the same"))(t)
		other := *d
		other.Test.Labels = slices.Clone(d.Test.Labels)
		other.Test.Labels[0], other.Test.Labels[1] = -1, -1
		expect.Invalid(t, "data = 1 of the clients' rows without a label: must be with a label at some position of each")(fed.WithData(&other, "fewer labels"))
	}
	for i, r := range histories[0].Rounds {
		w := histories[1].Rounds[i]
		expect.That(t, r.Training().Loss == w.Training().Loss && fmt.Sprint(r.Global, r.Scores) == fmt.Sprint(w.Global, w.Scores),
			"round %d: training loss %v, want %v", i+1, r.Training().Loss, w.Training().Loss)
	}
	expect.Error(t, "of the rows with a label: partition: client 1 has no train row: must have at least 1")(fedkit.New(masked(false), partition.Given{{Train: []int{0, 1}, Test: []int{0}}, {Train: []int{3}, Test: []int{2}}}, model.MLP(8)))
}

// A server may hold rows without labels, for an objective of its own.
func TestServersRowsWithoutLabels(t *testing.T) {
	fed := expect.Value(fedkit.New(masked(false), partition.Given{{Train: []int{0, 2}, Test: []int{0, 2}}}, model.MLP(8)))(t)
	fed = expect.Value(fed.WithServer(fedkit.Server{Rows: []int{5, 7}}))(t)
	for objective, want := range map[fedkit.Objective]string{nil: "Job.Objective = nil: must be set at a server with rows without a label", sure{}: ""} {
		s := &helped{Local: fedkit.Local{Batch: 2, LR: 0.1}, Job: func(_ *fedkit.Round, job *fedkit.Job) { job.Objective = objective }}
		expect.Outcome(t, want)(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 1}))
	}
}

// sure is the entropy of the outputs.
type sure struct{}

func (sure) Loss(b *fedkit.Batch) *graph.Node {
	log := graph.LogSoftmax(b.Out, -1)
	return graph.ReduceMean(graph.Neg(graph.ReduceSum(graph.Mul(graph.Exp(log), log), -1)), -1)
}

// The accuracy of text is the mean of the windows' shares, and of the tokens with a metric: windows with a label at each of ten
// positions and windows with one label, under a model that always says 0.
func TestTokenAccuracy(t *testing.T) {
	d := &datasets.Dataset{Name: "windows", Shape: []int{10}, Classes: 2}
	d.Train.Width, d.Test.Width = 10, 10
	var rule partition.Given = make([]partition.Client, 2) // of full windows and of short ones
	for i := range 20 {
		c := &rule[i/10]
		c.Train, c.Test = append(c.Train, i), append(c.Test, i)
		y := make([]int32, 10)
		if i >= 10 {
			y = []int32{1, -1, -1, -1, -1, -1, -1, -1, -1, -1}
		}
		for _, s := range []*datasets.Split{&d.Train, &d.Test} {
			s.Floats, s.Labels = append(s.Floats, make([]float32, 10)...), append(s.Labels, y...)
		}
	}
	fed := expect.Value(fedkit.New(d, rule, zeros))(t)
	h := expect.Value(fedkit.Run(t.Context(), fed, &strategy.FedAvg{Local: fedkit.Local{Batch: 10, LR: 1e-6}}, fedkit.Options{Rounds: 1, Metrics: []fedkit.Metric{metric.TokenAccuracy{}}}))(t)
	last := h.Last()
	w := last.Scores[0].Weights["token accuracy"]
	expect.That(t, w == 100 && last.Scores[1].Weights == nil && last.Global.Weights == nil,
		"weights %v, %v and of the global model %v, want 100, none since there are as many labels as examples, and none", w, last.Scores[1].Weights, last.Global.Weights)
	for _, s := range []*fedkit.Score{last.Global, last.Mean()} {
		expect.That(t, s.Accuracy == 0.5 && math.Abs(float64(s.Metrics["token accuracy"])-100./110) <= 1e-12,
			"accuracy %v, per token %v, want 0.5 and 100/110", s.Accuracy, s.Metrics)
	}
}

// zeros is a model that begins by saying 0 at each of ten positions.
func zeros(*datasets.Dataset) (*fedkit.Task, error) {
	bias := fedkit.Param{Name: "b", Shape: []int{2}, Init: func(_ *rand.Rand, w []float32) { w[0] = 1 }}
	return &fedkit.Task{Name: "zeros", Params: []fedkit.Param{bias}, Forward: func(p []*graph.Node, x *graph.Node) *graph.Node {
		c := p[0].Shape().Dim(0)
		return graph.BroadcastToDims(graph.Reshape(p[0], c, 1, 1, 2), c, x.Shape().Dim(1), 10, 2)
	}}, nil
}
