package fedkit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/gomlx/core/graph"
)

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
		if g := last.Global; g.Accuracy != 1 || g.Examples != 100 || g.Metrics["macro F1"] != 1 || !(g.Loss < 0.1) {
			t.Errorf("left out %t: %+v, want accuracy 1 of 100", leftOut, *g)
		}
		for c, n := range []int{10, 40, 25, 25} {
			if s, r, v := last.Scores[c], last.Results[c], last.Validation.Scores[c]; s.Examples != n || r.Examples != n-2 || v.Examples != 2 || r.Steps != 5*((n-2+9)/10) {
				t.Errorf("left out %t: client %d: %d test, %d train and %d validation examples, %d steps", leftOut, c, s.Examples, r.Examples, v.Examples, r.Steps)
			}
		}
		if m := last.Mean(); m.Accuracy != 1 || m.Examples != 100 {
			t.Errorf("left out %t: mean %+v", leftOut, *m)
		}
		histories[i] = h
		if leftOut {
			continue
		}
		if want := "; 200 rows without a label left out"; fed.Rule != fourParts(200).String()+want {
			t.Errorf("rule %q, want %q at its end", fed.Rule, want)
		}
		if p := expect.Value(fed.Predict(t.Context(), avg.State.X, datasets.TestPart, nil))(t)[0]; len(p.Outputs) != 400 {
			t.Errorf("outputs for %d entries, want those of all 200 rows", len(p.Outputs))
		}
		_, err := fed.WithData(d, "the same")
		expect.OK(t, err)
		other := *d
		other.Test.Labels = slices.Clone(d.Test.Labels)
		other.Test.Labels[0], other.Test.Labels[1] = -1, -1
		expect.Invalid(t, "data = 1 of the clients' rows without a label: must be with a label at some position of each")(fed.WithData(&other, "fewer labels"))
	}
	for i, r := range histories[0].Rounds {
		if w := histories[1].Rounds[i]; r.Training().Loss != w.Training().Loss || fmt.Sprint(r.Global, r.Scores) != fmt.Sprint(w.Global, w.Scores) {
			t.Errorf("round %d: training loss %v, want %v", i+1, r.Training().Loss, w.Training().Loss)
		}
	}
	_, err := fedkit.New(masked(false), partition.Given{{Train: []int{0, 1}, Test: []int{0}}, {Train: []int{3}, Test: []int{2}}}, model.MLP(8))
	expect.Error(t, "of the rows with a label: partition: client 1 has no train row: must have at least 1")(err)
}

// A server may hold rows without labels, for an objective of its own.
func TestServersRowsWithoutLabels(t *testing.T) {
	fed := expect.Value(fedkit.New(masked(false), partition.Given{{Train: []int{0, 2}, Test: []int{0, 2}}}, model.MLP(8)))(t)
	fed = expect.Value(fed.WithServer(fedkit.Server{Rows: []int{5, 7}}))(t)
	for objective, want := range map[fedkit.Objective]string{nil: "Job.Objective = nil: must be set at a server with rows without a label", sure{}: ""} {
		s := &atServer{objective: objective}
		expect.Outcome(t, want)(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 1}))
	}
}

// sure is the entropy of the outputs.
type sure struct{}

func (sure) Loss(b *fedkit.Batch) *graph.Node {
	log := graph.LogSoftmax(b.Out, -1)
	return graph.ReduceMean(graph.Neg(graph.ReduceSum(graph.Mul(graph.Exp(log), log), -1)), -1)
}

// atServer trains at the server only.
type atServer struct {
	objective fedkit.Objective
	State     struct{ X *fedkit.Matrix }
}

func (s *atServer) Start(r *fedkit.Round) error {
	s.State.X = r.Models(1)
	return nil
}

func (s *atServer) Round(r *fedkit.Round) error {
	s.State.X = r.TrainServer(fedkit.Job{Start: s.State.X, Local: fedkit.Local{Batch: 2, LR: 0.1}, Objective: s.objective}).Models
	return nil
}

func (s *atServer) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }

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
	if w := last.Scores[0].Weights["token accuracy"]; w != 100 || last.Scores[1].Weights != nil || last.Global.Weights != nil {
		t.Errorf("weights %v, %v and of the global model %v, want 100, none since there are as many labels as examples, and none", w, last.Scores[1].Weights, last.Global.Weights)
	}
	for _, s := range []*fedkit.Score{last.Global, last.Mean()} {
		if s.Accuracy != 0.5 || math.Abs(float64(s.Metrics["token accuracy"])-100./110) > 1e-12 {
			t.Errorf("accuracy %v, per token %v, want 0.5 and 100/110", s.Accuracy, s.Metrics)
		}
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
