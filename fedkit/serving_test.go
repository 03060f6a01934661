package fedkit

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/fedtest/expect"
)

// splits has one cluster, and two from round 3 on.
type splits struct {
	mean
	Quiet bool // it serves no clusters
	Short bool // it serves too few
	calls *int `config:"-"`
}

func (s *splits) Serve(r *Round) Serving {
	if s.calls != nil {
		*s.calls++
	}
	sv := Serving{Global: s.State.X}
	if !s.Quiet {
		sv.Clusters = make([]int, 4)
	}
	if r.T >= 3 && !s.Quiet {
		sv.Clusters[2] = 1
	}
	if r.T == 2 && s.Short {
		sv.Clusters = sv.Clusters[:3]
	}
	return sv
}

// Clusters are recorded in every round, evaluated or not, and after a resume too.
func TestClustersOfEveryRound(t *testing.T) {
	fed, _ := toy(t, 4, 4, 4, 4)
	o := Options{Rounds: 7, EvalEvery: 2, Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
	upTo(t, fed, &splits{}, o, 2)
	h := expect.Value(Run(context.Background(), fed, &splits{}, o))(t)
	for i, r := range h.Rounds {
		want := []int{0, 0, 0, 0}
		if i+1 >= 3 {
			want[2] = 1
		}
		evaluated := (i+1)%2 == 0 || i == 6
		expect.That(t, reflect.DeepEqual(r.Clusters, want) && (r.Scores != nil) == evaluated,
			"round %d: clusters %v, scores %v; want %v, scores: %v", i+1, r.Clusters, r.Scores, want, evaluated)
	}
	for every, want := range map[int]int{1: 7, 4: 3} { // evaluations, and once at the start to see that there are no clusters
		calls := 0
		s := &splits{Quiet: true, calls: &calls}
		if _, err := Run(context.Background(), fed, s, Options{Rounds: 7, EvalEvery: every}); err != nil || calls != want {
			t.Errorf("%v; Serve was called %d times, want %d", err, calls, want)
		}
	}
	_, err := Run(context.Background(), fed, &splits{Short: true}, Options{Rounds: 4, EvalEvery: 4})
	expect.Invalid(t, "splits: round 2: serve: invalid: len(Serving.Clusters) = 3: must be 4")(err)
}

// chooses serves three models that nobody trains.
type chooses struct {
	ByLoss bool
	State  struct{ W *Matrix }
}

func (s *chooses) Start(r *Round) error { s.State.W = r.Models(3); return r.Err() }
func (s *chooses) Round(*Round) error   { return nil }

func (s *chooses) Serve(r *Round) Serving {
	if s.ByLoss {
		return Serving{Models: s.State.W, ByLoss: true}
	}
	best := make([]int, r.Clients())
	for j, row := range r.Losses(s.State.W, datasets.TrainPart, r.AllClients()) {
		for i, loss := range row {
			if loss < r.Losses(s.State.W.Take(best[i]), datasets.TrainPart, []int{i})[0][0] {
				best[i] = j
			}
		}
	}
	return Serving{Models: s.State.W, Assign: best, Clusters: best}
}

// ByLoss is the choice a strategy would make itself, at evaluations only, and nothing travels for it.
func TestServingByLoss(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2, 5, 7)
	run := func(s Strategy) *History {
		return expect.Value(Run(context.Background(), fed, s, Options{Rounds: 2, EvalEvery: 2}))(t)
	}
	got, want := run(&chooses{ByLoss: true}), run(&chooses{})
	a, b := got.Last(), want.Last()
	expect.That(t, reflect.DeepEqual(a.Clusters, b.Clusters) && reflect.DeepEqual(a.Scores, b.Scores) && fmt.Sprint(a.Clusters) != "[0 0 0 0 0]" && a.BytesDown == 0,
		"%+v\nwant %+v", a, b)
	expect.That(t, got.Rounds[0].Clusters == nil, "round 1 was not evaluated, but has clusters %v", got.Rounds[0].Clusters)
}

func TestServingCheck(t *testing.T) {
	m, one := NewMatrix([]float32{1, 2}, 2, 1), NewMatrix([]float32{1}, 1, 1)
	for _, c := range []struct {
		sv   Serving
		want string
	}{
		{Serving{}, "Serving = empty: must be a global model or models"},
		{Serving{Models: m}, "Serving = 0 of Assign, ByLoss, Mix, Ensemble and Gate: must be one of them"},
		{Serving{Models: m, Assign: []int{0, 1}, ByLoss: true}, "Serving = 2 of Assign, ByLoss, Mix, Ensemble and Gate: must be one of them"},
		{Serving{Models: m, Assign: []int{0, 2}}, "Serving.Assign = 2: must be in [0, 2) (client 1)"},
		{Serving{Models: m, Mix: [][]float64{{1, 0}, {1}}}, "len(Serving.Mix[1]) = 1: must be 2, one per model"},
		{Serving{Models: m, Assign: []int{0}}, "len(Serving.Assign) = 1: must be 2, one per client"},
		{Serving{Global: one, ByLoss: true}, "Serving.ByLoss = given without Models: must be with Models"},
		{Serving{Global: one, Assign: []int{0, 0}}, "Serving.Assign = given without Models: must be with Models"},
		{Serving{Global: m}, "Serving.Global = [2, 1]: must be [1, 1]: one model"},
		{Serving{Global: one, Clusters: []int{1}}, "len(Serving.Clusters) = 1: must be 2, one per client"},
		{Serving{Models: m, Ensemble: [][]float64{{0.5, 0.5}}}, "len(Serving.Ensemble) = 1: must be 2, one per client"},
		{Serving{Models: m, Ensemble: [][]float64{{0.5, 0.5}, {1.5, -0.5}}}, "Serving.Ensemble[1] = [1.5 -0.5]: must be weights ≥ 0 that sum to 1"},
		{Serving{Models: m, Gate: [][][]float64{{{1}}, nil}}, "len(Serving.Gate[0][0]) = 1: must be 2, one per model"},
		{Serving{Models: m, Gate: [][][]float64{nil, {{0, 1}, {0, math.NaN()}}}}, "Serving.Gate[1][1] = [0 NaN]: must be weights ≥ 0 that sum to 1"},
		{Serving{Models: m, ByLoss: true}, ""},
		{Serving{Models: m, Ensemble: [][]float64{{0.5, 0.5}, {0, 1}}}, ""},
	} {
		expect.Outcome(t, c.want)(c.sv.Check(2, 1))
	}
}

// ownModels serves a global model, and each client the model it trained itself.
type ownModels struct {
	mean
	models *Matrix
}

func (s *ownModels) Round(r *Round) error {
	s.Before = func(_ *Round, job *Job) {
		s.models = r.Train(*job).Models
	}
	return s.mean.Round(r)
}

func (s *ownModels) Serve(r *Round) Serving {
	sv := s.mean.Serve(r)
	sv.Models, sv.Assign = s.models, r.AllClients()
	return sv
}

// A record tells scores of personal models from those of the one global model.
func TestRecordsTellPersonalModels(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	for want, s := range map[bool]Strategy{false: &mean{}, true: &ownModels{}} {
		h := expect.Value(Run(context.Background(), fed, s, Options{Rounds: 2, EvalEvery: 2}))(t)
		expect.That(t, !h.Rounds[0].Personal, "%s: personal scores in a round that was not evaluated", h.Name)
		r := h.Rounds[1]
		expect.That(t, r.Personal == want && r.Global != nil && r.Scores != nil, "%s: %+v, want Personal = %v", h.Name, r, want)
	}
}
