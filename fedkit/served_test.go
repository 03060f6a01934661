package fedkit_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

// under returns each client's accuracy on its own test examples under the model that it is served.
func under(t *testing.T, fed *fedkit.Federation, sv *fedkit.Serving) (accuracy []float64) {
	t.Helper()
	for i, c := range fed.Clients {
		models := sv.Global
		switch {
		case sv.Assign != nil:
			models = sv.Models.Take(sv.Assign[i])
		case sv.Mix != nil:
			models = sv.Models.Mix(sv.Mix[i : i+1])
		}
		p := expect.Value(fed.Predict(context.Background(), models, datasets.TestPart, c.Test))(t)
		right := 0.0
		for j, class := range p[0].Classes() {
			if class == p[0].Labels[j] {
				right++
			}
		}
		accuracy = append(accuracy, right/float64(len(c.Test)))
	}
	return accuracy
}

// What is served after a run is what its last evaluation scored, and asking for it changes nothing.
func TestServed(t *testing.T) {
	ctx := context.Background()
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 6, Alpha: 0.3}, model.MLP(8)))(t)
	local := fedkit.Local{Batch: 16, LR: 0.1}
	fedAvg, rep, only := &strategy.FedAvg{Local: local}, &strategy.FedRep{Local: local}, &strategy.LocalOnly{Local: local}
	ifca, prism := &strategy.IFCA{Local: local, K: 3}, &strategy.FedPRISM{Local: local, Every: 1}
	for _, c := range []struct {
		s        fedkit.Strategy
		state    func() *fedkit.Matrix
		global   bool
		k        int // rows of Models
		clusters bool
	}{
		{fedAvg, func() *fedkit.Matrix { return fedAvg.State.X }, true, 0, false},
		{rep, func() *fedkit.Matrix { return rep.State.W }, false, 6, false},
		{only, func() *fedkit.Matrix { return only.State.W }, false, 6, false},
		{ifca, func() *fedkit.Matrix { return ifca.State.Theta }, false, 3, true},
		{prism, func() *fedkit.Matrix { return prism.State.Models }, true, -1, true},
	} {
		h := expect.Value(fedkit.Run(ctx, fed, c.s, fedkit.Options{Rounds: 2, Seed: 3}))(t)
		before := c.state()
		sv := expect.Value(fedkit.Served(ctx, fed, c.s))(t)
		if c.state() != before {
			t.Errorf("%s: the State has another matrix", h.Name)
		}
		if (sv.Global != nil) != c.global || c.k >= 0 && sv.Models.Rows() != c.k || (sv.Clusters != nil) != c.clusters || sv.ByLoss {
			t.Errorf("%s: %+v", h.Name, sv)
		}
		if !slices.Equal(sv.Clusters, h.Last().Clusters) {
			t.Errorf("%s: clusters %v, recorded %v", h.Name, sv.Clusters, h.Last().Clusters)
		}
		for i, got := range under(t, fed, sv) {
			if want := float64(h.Last().Scores[i].Accuracy); math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: client %d: accuracy %v under what is served, recorded %v", h.Name, i, got, want)
			}
		}
	}
}

// own serves its own slice, and panics without a model.
type own struct {
	LR    float64 `range:"[0,1]"`
	State struct {
		X      *fedkit.Matrix
		Assign []int
	}
}

func (s *own) Start(r *fedkit.Round) error { s.State.X = r.Models(2); return r.Err() }
func (*own) Round(*fedkit.Round) error     { return nil }
func (s *own) Serve(*fedkit.Round) fedkit.Serving {
	if s.State.X == nil {
		panic("no model yet")
	}
	return fedkit.Serving{Models: s.State.X, Assign: s.State.Assign}
}

func TestServedRefusals(t *testing.T) {
	ctx := context.Background()
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 2}, model.LogisticRegression()))(t)
	s := &own{}
	s.State.X, s.State.Assign = fedkit.Zeros(2, fed.Task.Dim()), []int{1, 0}
	sv := expect.Value(fedkit.Served(ctx, fed, s))(t)
	s.State.Assign[0] = 0
	if !slices.Equal(sv.Assign, []int{1, 0}) {
		t.Errorf("what was served changed to %v with the State", sv.Assign)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	wide := &own{LR: 2}
	wide.State = s.State
	other := &own{}
	other.State.X, other.State.Assign = fedkit.Zeros(2, 7), []int{0, 0}
	for _, c := range []struct {
		ctx  context.Context
		fed  *fedkit.Federation
		s    fedkit.Strategy
		want string
	}{
		{nil, fed, s, "fedkit: invalid: ctx = nil: must be a context"},
		{ctx, nil, s, "fedkit: invalid: federation = nil: must be made by fedkit.New"},
		{ctx, fed, nil, "fedkit: invalid: strategy = nil: must be a strategy"},
		{ctx, fed, (*own)(nil), "fedkit: invalid: strategy = nil: must be a strategy"},
		{ctx, fed, wide, "fedkit: own: invalid: LR = 2: must be in [0, 1]"},
		{ctx, fed, other, "fedkit: own: serve: invalid: Serving = [2, 7]: must be [k, 650]"},
		{ctx, fed, &own{}, "fedkit: own: its State is empty, as before a run: panic: no model yet"},
		{ctx, fed, &strategy.FedAvg{}, "fedkit: FedAvg: its State is empty, as before a run: serve: invalid: Serving = empty"},
		{over, fed, s, "fedkit: own: context canceled"},
	} {
		if sv, err := fedkit.Served(c.ctx, c.fed, c.s); sv != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	for range fedkit.Rounds(ctx, fed, s, fedkit.Options{Rounds: 1}) {
		expect.Invalid(t)(fedkit.Served(ctx, fed, s))
	}
}
