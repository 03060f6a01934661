package fedkit_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	mlmodel "github.com/gomlx/gomlx/ml/model"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func federation(t testing.TB, d *datasets.Dataset, m fedkit.Model) *fedkit.Federation {
	t.Helper()
	fed, err := fedkit.New(d, partition.Dirichlet{Clients: 6, Alpha: 0.5, Seed: 1}, m)
	if d.Classes == 0 {
		fed, err = fedkit.New(d, partition.IID{Clients: 6}, m)
	}
	expect.OK(t, err)
	return fed
}

// sums is a regression: y = x₁ + x₂ + x₃.
func sums() *datasets.Dataset {
	d := &datasets.Dataset{Name: "sums", Shape: []int{3}}
	rng := rand.New(rand.NewPCG(5, 5))
	for i := range 120 {
		part := &d.Train
		if i%4 == 0 {
			part = &d.Test
		}
		y := float32(0)
		for range 3 {
			x := float32(rng.NormFloat64())
			part.Floats, y = append(part.Floats, x), y+x
		}
		part.Targets = append(part.Targets, y)
	}
	return d
}

// noise returns k models, and their rows in float64.
func noise(k, d int) (*fedkit.Matrix, [][]float64) {
	rng := rand.New(rand.NewPCG(9, uint64(k)))
	flat, rows := make([]float32, k*d), make([][]float64, k)
	for i := range flat {
		flat[i] = float32(rng.NormFloat64() / 4)
		rows[i/d] = append(rows[i/d], float64(flat[i]))
	}
	return fedkit.NewMatrix(flat, k, d), rows
}

// linear is a GoMLX model function: 64 pixels times a matrix.
func linear(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
	return layers.Dense(scope.In("only"), graph.Reshape(x, x.Shape().Dimensions[0], -1), false, 10)
}

// Outputs of one model and of many, on either part, are those of the formula in float64.
func TestPredictAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	digits, line := datasets.Digits(), sums()
	for name, c := range map[string]struct {
		data   *datasets.Dataset
		model  fedkit.Model
		sizes  []int
		models int
		part   datasets.Part
		rows   []int
	}{
		"one model":                  {digits, model.MLP(16), []int{64, 16, 10}, 1, datasets.TestPart, nil},
		"more than one block":        {digits, model.MLP(16), []int{64, 16, 10}, 2, datasets.TrainPart, nil},
		"more than one program":      {digits, model.MLP(8), []int{64, 8, 10}, 9, datasets.TestPart, []int{5, 300, 0, 5}},
		"GoMLX":                      {digits, model.GoMLX("linear", linear), []int{64, 10}, 2, datasets.TestPart, []int{7, 1}},
		"regression":                 {line, model.MLP(4), []int{3, 4, 1}, 3, datasets.TrainPart, nil},
		"regression, one row, twice": {line, model.MLP(), []int{3, 1}, 1, datasets.TestPart, []int{2, 2}},
	} {
		fed, o := federation(t, c.data, c.model), oracle.MLP{Sizes: c.sizes}
		models, w := noise(c.models, fed.Task.Dim())
		got := expect.Value(fed.Predict(context.Background(), models, c.part, c.rows))(t)
		split, rows := []*datasets.Split{&c.data.Train, &c.data.Test}[c.part], c.rows
		for row := 0; c.rows == nil && row < split.Len(); row++ {
			rows = append(rows, row)
		}
		expect.Must(t, len(got) == c.models && len(got[0].Outputs) == len(rows), "%s: %d predictions for %d models", name, len(got), c.models)
		for j, p := range got {
			w := append(w[j], make([]float64, o.Dim()-len(w[j]))...) // a layer without biases has zeros
			for i, row := range rows {
				far := distance(p.Outputs[i], o.Outputs(w, precision.Double(split.Row(row, nil))))
				expect.Must(t, far < 1e-5, "%s: model %d, row %d: %v away", name, j, row, far)
				expect.Must(t, (split.Labels == nil || p.Labels[i] == split.Labels[row]) && (split.Targets == nil || p.Targets[i] == split.Targets[row]),
					"%s: row %d has the truth of another", name, row)
			}
		}
	}
}

// distance is the largest difference, relative to values of about 1; infinite between lists of different lengths.
func distance(a []float32, b []float64) (far float64) {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	for i := range a {
		far = max(far, math.Abs(float64(a[i])-b[i])/(1+math.Abs(b[i])))
	}
	return far
}

// asking is a strategy that asks something in each round, and trains nothing.
type asking struct{ ask func(r *fedkit.Round) }

func (asking) Start(*fedkit.Round) error            { return nil }
func (s asking) Round(r *fedkit.Round) error        { s.ask(r); return r.Err() }
func (asking) Serve(r *fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: r.Models(1)} }

// Losses on the test part are those that the record has for the clients, and cost nothing; on the training part all models
// travel to each client. After the first round nothing is compiled.
func TestLossesAndPredictionsInARound(t *testing.T) {
	fed := federation(t, datasets.Digits(), model.MLP(8))
	two, _ := noise(2, fed.Task.Dim())
	var test, train [][]float64
	var said []fedkit.Predictions
	warm := int64(0)
	s := asking{func(r *fedkit.Round) {
		if r.T == 2 {
			warm = xla.Compilations()
		}
		models := fedkit.StackRows(r.Models(1), two)
		test, train = r.Losses(models, datasets.TestPart, r.AllClients()), r.Losses(models, datasets.TrainPart, []int{4, 1})
		said = r.Predict(models, datasets.TrainPart, fed.Clients[4].Train)
	}}
	h := expect.Value(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 3}))(t)
	expect.That(t, (xla.Compilations()-warm) == 0, "%d programs were compiled after the first round, want 0", (xla.Compilations() - warm))
	for c, score := range h.Last().Scores {
		want := float64(score.Loss)
		expect.That(t, math.Abs(test[0][c]-want) <= 1e-6*want, "client %d: test loss %v, recorded %v", c, test[0][c], want)
	}
	down := h.Last().BytesDown
	expect.That(t, down == int64(3*2*4*fed.Task.Dim()) && h.Last().BytesUp == 0,
		"%d bytes down, %d up; want three models for each of two clients, and none", down, h.Last().BytesUp)
	for j := range said {
		got := crossEntropy(&said[j])
		expect.That(t, math.Abs(got-train[j][0]) <= 1e-5*got, "model %d: the loss of client 4 is %v, %v from the outputs", j, train[j][0], got)
	}
}

// crossEntropy is the mean loss that predictions stand for, half the squared error for a regression.
func crossEntropy(p *fedkit.Predictions) (sum float64) {
	for i, out := range p.Outputs {
		if p.Labels == nil {
			sum += math.Pow(float64(out[0]-p.Targets[i]), 2) / 2
			continue
		}
		z := precision.Double(out)
		sum += floats.LogSumExp(z) - z[p.Labels[i]]
	}
	return sum / float64(len(p.Outputs))
}

// Questions without an answer name what is wrong, and nothing panics.
func TestPredictAndLossesRefuse(t *testing.T) {
	fed := federation(t, datasets.Digits(), model.MLP())
	ctx, one := context.Background(), fedkit.NewMatrix(make([]float32, 650), 1, 650)
	var none context.Context
	for want, ask := range map[string]func() ([]fedkit.Predictions, error){
		"part = 7: must be datasets.TrainPart, datasets.ValidationPart or datasets.TestPart": func() ([]fedkit.Predictions, error) { return fed.Predict(ctx, one, 7, nil) },
		"rows = -1: must be in [0, ":                          func() ([]fedkit.Predictions, error) { return fed.Predict(ctx, one, datasets.TestPart, []int{0, -1}) },
		"rows = []: must be at least one row, or nil for all": func() ([]fedkit.Predictions, error) { return fed.Predict(ctx, one, datasets.TestPart, []int{}) },
		"models = [1, 1]: must be [k, 650]": func() ([]fedkit.Predictions, error) {
			return fed.Predict(ctx, fedkit.NewMatrix([]float32{1}, 1, 1), datasets.TestPart, nil)
		},
		"the matrix is nil": func() ([]fedkit.Predictions, error) { return fed.Predict(ctx, nil, datasets.TestPart, nil) },
		"ctx = nil":         func() ([]fedkit.Predictions, error) { return fed.Predict(none, one, datasets.TestPart, nil) },
		"federation = nil": func() ([]fedkit.Predictions, error) {
			return (*fedkit.Federation)(nil).Predict(ctx, one, datasets.TestPart, nil)
		},
	} {
		expect.Refused(t, want)(ask())
	}
	for want, ask := range map[string]func(r *fedkit.Round){
		"losses: invalid: part = -1":    func(r *fedkit.Round) { r.Losses(one, -1, []int{0}) },
		"losses: invalid: clients = 6":  func(r *fedkit.Round) { r.Losses(one, datasets.TestPart, []int{6}) },
		"losses: invalid: clients = []": func(r *fedkit.Round) { r.Losses(one, datasets.TestPart, nil) },
		"predict: invalid: rows = 1797": func(r *fedkit.Round) { r.Predict(one, datasets.TrainPart, []int{1797}) },
	} {
		expect.Error(t, "round 1: "+want)(fedkit.Run(ctx, fed, asking{ask}, fedkit.Options{Rounds: 1}))
	}
}

// servedTo is the model that a client is served.
func servedTo(sv *fedkit.Serving, client int) *fedkit.Matrix {
	switch {
	case sv.Assign != nil:
		return sv.Models.Take(sv.Assign[client])
	case sv.Mix != nil:
		return sv.Models.Mix(sv.Mix[client : client+1])
	}
	return sv.Global
}

// under returns each client's accuracy on its own test examples under the model that it is served.
func under(t *testing.T, fed *fedkit.Federation, sv *fedkit.Serving) (accuracy []float64) {
	t.Helper()
	for i, c := range fed.Clients {
		p := expect.Value(fed.Predict(context.Background(), servedTo(sv, i), datasets.TestPart, c.Test))(t)
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
	expect.That(t, slices.Equal(sv.Assign, []int{1, 0}), "what was served changed to %v with the State", sv.Assign)
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
		sv, err := fedkit.Served(c.ctx, c.fed, c.s)
		expect.That(t, sv == nil && err != nil && strings.HasPrefix(err.Error(), c.want), "error %v, want %s", err, c.want)
	}
	for range fedkit.Rounds(ctx, fed, s, fedkit.Options{Rounds: 1}) {
		expect.Invalid(t)(fedkit.Served(ctx, fed, s))
	}
}

// serves serves what it is told to, and trains nothing.
type serves struct {
	sv    func(r *fedkit.Round) fedkit.Serving
	State struct{}
}

func (*serves) Start(*fedkit.Round) error              { return nil }
func (*serves) Round(*fedkit.Round) error              { return nil }
func (s *serves) Serve(r *fedkit.Round) fedkit.Serving { return s.sv(r) }

// seen is a metric that sees a model's outputs.
type seen struct{}

func (seen) String() string { return "sum" }
func (seen) Measure(p *fedkit.Predictions) (sum float64) {
	for _, out := range p.Outputs {
		for c, v := range out {
			sum += float64(v) * float64(1+c)
		}
	}
	return sum
}

// mixed is Σ_k π_k of predictions in float64, of classes its logarithm, and of a tag the log odds.
func mixed(t *testing.T, fed *fedkit.Federation, models *fedkit.Matrix, rows []int, pi func(j int) []float64) (all []fedkit.Predictions) {
	t.Helper()
	one, tags := expect.Value(fed.Predict(context.Background(), models, datasets.TestPart, rows))(t), fed.Data.Tags
	for j := range rows {
		p := fedkit.Predictions{Outputs: [][]float32{make([]float32, len(one[0].Outputs[j]))}}
		sum := make([]float64, len(p.Outputs[0])+1) // the last one is of the answer no
		for k, weight := range pi(j) {
			out := append(precision.Double(one[k].Outputs[j]), 0)
			if !tags {
				out[len(out)-1] = math.Inf(-1)
			}
			if fed.Data.Classes > 0 || tags {
				floats.AddConst(-floats.LogSumExp(out), out)
				for c := range out {
					out[c] = math.Exp(out[c])
				}
			}
			floats.AddScaled(sum, weight, out)
		}
		for c := range p.Outputs[0] {
			v := sum[c]
			if fed.Data.Classes > 0 || tags {
				v = math.Log(v)
			}
			if tags {
				v -= math.Log(sum[len(sum)-1])
			}
			p.Outputs[0][c] = float32(v)
		}
		if fed.Data.Classes > 0 {
			p.Labels = one[0].Labels[j : j+1]
		} else {
			p.Targets = one[0].Targets[j : j+1]
		}
		all = append(all, p)
	}
	return all
}

// Predictions that are mixed by client and by example, in float64, also of tags where a model is sure. After the first round nothing is
// compiled.
func TestEnsembleAgainstFloat64(t *testing.T) {
	signs := sums()
	signs.Tags = true
	for _, part := range []*datasets.Split{&signs.Train, &signs.Test} {
		for i, y := range part.Targets {
			if part.Targets[i] = 0; y > 0 {
				part.Targets[i] = 1
			}
		}
	}
	for name, fed := range map[string]*fedkit.Federation{
		"classes":    federation(t, datasets.Digits(), model.MLP(8)),
		"regression": federation(t, sums(), model.MLP(4)),
		"GoMLX":      federation(t, datasets.Digits(), model.GoMLX("linear", linear)),
		"tags":       federation(t, signs, model.MLP(4)),
	} {
		models, _ := noise(3, fed.Task.Dim())
		models = models.Scale(map[bool]float64{false: 4, true: 20}[name == "tags"])
		var ensemble [][]float64
		var gate [][][]float64
		for i, c := range fed.Clients {
			ensemble = append(ensemble, [][]float64{{0.5, 0.25, 0.25}, {0, 1, 0}, {0.1, 0, 0.9}}[i%3])
			gate = append(gate, nil)
			for j := range c.Test {
				gate[i] = append(gate[i], []float64{float64(j%5) / 8, 0.5, 0.5 - float64(j%5)/8})
			}
		}
		for _, c := range []struct {
			sv fedkit.Serving
			pi func(client, example int) []float64
		}{
			{fedkit.Serving{Models: models, Ensemble: ensemble}, func(i, _ int) []float64 { return ensemble[i] }},
			{fedkit.Serving{Models: models, Gate: gate}, func(i, j int) []float64 { return gate[i][j] }},
		} {
			warm := int64(0)
			s := &serves{sv: func(r *fedkit.Round) fedkit.Serving {
				if r.T == 2 {
					warm = xla.Compilations()
				}
				return c.sv
			}}
			o := fedkit.Options{Rounds: 3, Metrics: []fedkit.Metric{seen{}}}
			h := expect.Value(fedkit.Run(t.Context(), fed, s, o))(t)
			n := xla.Compilations() - warm
			expect.That(t, n == 0, "%s: %d programs were compiled after the first round, want 0", name, n)
			for i, got := range h.Last().Scores {
				var loss, right, sum float64
				own := fed.Clients[i].Test
				for _, p := range mixed(t, fed, models, own, func(j int) []float64 { return c.pi(i, j) }) {
					sum += seen{}.Measure(&p)
					if name == "tags" {
						z := float64(p.Outputs[0][0]) * float64(2*p.Targets[0]-1)                            // > 0 if it is right
						loss, right = loss+math.Log1p(math.Exp(-z))/float64(len(own)), float64(got.Accuracy) // ties are decided by rounding
						continue
					}
					loss += crossEntropy(&p) / float64(len(own))
					if p.Labels == nil {
						right += (1 - math.Pow(float64(p.Outputs[0][0]-p.Targets[0]), 2)) / float64(len(own))
					} else if p.Classes()[0] == p.Labels[0] {
						right += 1 / float64(len(own))
					}
				}
				accuracy := float64(got.Accuracy)
				if got.Main() == history.R2 { // it has none: the mean squared error says the same
					accuracy = 1 - math.Pow(float64(got.Metrics["RMSE"]), 2)
				}
				for what, pair := range map[string][2]float64{"loss": {float64(got.Loss), loss}, "accuracy": {accuracy, right}, "sum": {float64(got.Metrics["sum"]), sum}} {
					expect.That(t, math.Abs(pair[0]-pair[1]) <= 1e-5*(1+math.Abs(pair[1])),
						"%s: client %d: %s %v, want %v", name, i, what, pair[0], pair[1])
				}
			}
		}
	}
}

// A mixture that is sure of a row is that row, and only drawn clients are scored.
func TestEnsembleOfOne(t *testing.T) {
	fed := federation(t, datasets.Digits(), model.MLP(8))
	models, _ := noise(2, fed.Task.Dim())
	assign, sure := []int{0, 1, 1, 0, 1, 0}, [][]float64{{1, 0}, {0, 1}, {0, 1}, {1, 0}, {0, 1}, {1, 0}}
	o := fedkit.Options{Rounds: 1, EvalFraction: 0.5}
	run := func(sv fedkit.Serving) []fedkit.Score {
		return expect.Value(fedkit.Run(t.Context(), fed, &serves{sv: func(*fedkit.Round) fedkit.Serving { return sv }}, o))(t).Last().Scores
	}
	got, want := run(fedkit.Serving{Models: models, Ensemble: sure}), run(fedkit.Serving{Models: models, Assign: assign})
	for i := range want {
		expect.That(t, got[i].Examples == want[i].Examples && (got[i].Accuracy == want[i].Accuracy || got[i].Examples <= 0) && !(math.Abs(float64(got[i].Loss-want[i].Loss)) > 1e-5),
			"client %d: %+v, want %+v", i, got[i], want[i])
	}
}

// A gate has weights for each test example.
func TestGateOfOtherLength(t *testing.T) {
	fed := federation(t, sums(), model.MLP())
	sv := fedkit.Serving{Models: fedkit.Zeros(1, fed.Task.Dim()), Gate: make([][][]float64, 6)}
	s := &serves{sv: func(*fedkit.Round) fedkit.Serving { return sv }}
	expect.Invalid(t, "serve: invalid: len(Serving.Gate[0]) = 0: must be 5, one per test example")(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 1}))
}

// An unseen client gets the mixture that fits its own training examples best: here, nearly all of one model.
func TestEnsembleForUnseenClients(t *testing.T) {
	fed := expect.Value(federation(t, datasets.Digits(), model.MLP(8)).HoldOut(2, 1))(t)
	var sv fedkit.Serving
	s := &serves{sv: func(r *fedkit.Round) fedkit.Serving {
		u := r.Train(fedkit.Job{Clients: []int{0}, Start: r.Models(1), Local: fedkit.Local{Epochs: 30, Batch: 16, LR: 0.1}})
		sv = fedkit.Serving{Models: fedkit.StackRows(u.Models, u.Start), Ensemble: slices.Repeat([][]float64{{0.5, 0.5}}, 4)}
		return sv
	}}
	h := expect.Value(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 1}))(t)
	for i, score := range h.Last().Unseen {
		own := fed.Unseen.Clients[i].Test
		loss := func(pi ...float64) (sum float64) {
			for _, p := range mixed(t, fed, sv.Models, own, func(int) []float64 { return pi }) {
				sum += crossEntropy(&p) / float64(len(own))
			}
			return sum
		}
		if got, worst := float64(score.Loss), max(loss(1, 0), loss(0, 1)); !(got < worst) || len(own) != score.Examples {
			t.Errorf("unseen client %d has a loss of %v, under one of the models %v", i, got, worst)
		}
	}
}

// Losses by example are those of Predict, their means are those of Losses, and the models travel as for LowestLoss.
func TestExampleLosses(t *testing.T) {
	fed := federation(t, datasets.Digits(), model.MLP(8))
	models, _ := noise(2, fed.Task.Dim())
	clients := []int{4, 1}
	s := asking{func(r *fedkit.Round) {
		losses, means := r.ExampleLosses(models, datasets.TrainPart, clients), r.Losses(models, datasets.TestPart, clients)
		test := r.ExampleLosses(models, datasets.TestPart, clients)
		for i, c := range clients {
			for k, p := range r.Predict(models, datasets.TrainPart, fed.Clients[c].Train) {
				expect.Must(t, len(losses[i][k]) == len(p.Labels), "%d losses for %d examples", len(losses[i][k]), len(p.Labels))
				for j, got := range losses[i][k] {
					one := fedkit.Predictions{Outputs: p.Outputs[j : j+1], Labels: p.Labels[j : j+1]}
					want := crossEntropy(&one)
					expect.Must(t, math.Abs(float64(got)-want) <= 1e-5*(1+want), "client %d, model %d, example %d: %v, want %v", c, k, j, got, want)
				}
				mean := 0.0
				for _, v := range test[i][k] {
					mean += float64(v) / float64(len(test[i][k]))
				}
				expect.That(t, math.Abs(mean-means[k][i]) <= 1e-6, "client %d, model %d: a mean of %v, want %v", c, k, mean, means[k][i])
			}
		}
	}}
	h := expect.Value(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 1}))(t)
	down := h.Last().BytesDown
	expect.That(t, down == int64(2*2*4*fed.Task.Dim()), "%d bytes down, want two models for each of two clients", down)
	none := asking{func(r *fedkit.Round) { r.ExampleLosses(models, datasets.TrainPart, []int{9}) }}
	expect.Error(t, "round 1: losses: invalid: clients = 9: must be in [0, 6)")(fedkit.Run(t.Context(), fed, none, fedkit.Options{Rounds: 1}))
}

// named is model.MLP(8) as a GoMLX model function.
func named(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
	x = graph.Reshape(x, x.Shape().Dimensions[0], -1)
	x = fedkit.NameLayer("hidden", activation.Relu(layers.Dense(scope.In("hidden"), x, true, 8)))
	return layers.Dense(scope.In("last"), x, true, 10)
}

// hidden is what the first layer of an MLP with 64 inputs and 8 units puts out, in float64.
func hidden(w, x []float64) []float64 {
	z := slices.Clone(w[64*8 : 64*8+8])
	for i, v := range x {
		for j := range z {
			z[j] += v * w[i*8+j]
		}
	}
	for j := range z {
		z[j] = max(0, z[j])
	}
	return z
}

// A layer's outputs for the clients' own examples, each under its own model or all under one, in float64; with labels. Nothing is
// compiled after the first round, and nothing travels.
func TestFeaturesAgainstFloat64(t *testing.T) {
	for layer, m := range map[string]fedkit.Model{"dense1": model.MLP(8), "": model.MLP(8), "hidden": model.GoMLX("named", named)} {
		fed := federation(t, datasets.Digits(), m)
		models, w := noise(3, fed.Task.Dim())
		clients, warm := []int{5, 0, 2}, int64(0)
		s := asking{func(r *fedkit.Round) {
			if r.T == 2 {
				warm = xla.Compilations()
			}
			for _, part := range []datasets.Part{datasets.TrainPart, datasets.TestPart} {
				each, one := r.Features(models, layer, part, clients), r.Features(models.Take(1), layer, part, clients)
				for i, c := range clients {
					rows, split := fed.Clients[c].Train, &fed.Data.Train
					if part == datasets.TestPart {
						rows, split = fed.Clients[c].Test, &fed.Data.Test
					}
					for j, row := range rows {
						x := precision.Double(split.Row(row, nil))
						far := max(distance(each[i].Outputs[j], hidden(w[i], x)), distance(one[i].Outputs[j], hidden(w[1], x)))
						expect.Must(t, far <= 1e-5 && each[i].Labels[j] == split.Labels[row],
							"%s: client %d, example %d: %v away, label %d", fed.Task.Name, c, j, far, each[i].Labels[j])
					}
				}
			}
		}}
		h := expect.Value(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 2}))(t)
		n := xla.Compilations() - warm
		expect.That(t, n == 0 && h.Last().BytesDown == 0,
			"%s: %d programs were compiled after the first round, %d bytes down; want 0", fed.Task.Name, n, h.Last().BytesDown)
	}
}

// Every ready model names its layers; the last one's outputs are the model's, and the one before it is Task.Features.
func TestLayersOfModels(t *testing.T) {
	expect.Long(t, "compiles every model")
	digits, large := datasets.Digits(), must.M1(datasets.Synthetic{Clients: 2, Features: 16 * 16, Classes: 4, Alpha: 1, Beta: 1}.Make())
	large.Shape = []int{16, 16, 1}
	tokens := &datasets.Dataset{Name: "tokens", Shape: []int{2}, Classes: 3}
	tokens.Train.Scale, tokens.Train.Bytes, tokens.Train.Labels = 1, []uint8{0, 1, 2, 1, 0, 0}, []int32{0, 1, 2}
	tokens.Test = tokens.Train
	for _, c := range []struct {
		data   *datasets.Dataset
		model  fedkit.Model
		last   string
		widths map[string]int
	}{
		{digits, model.MLP(7, 5), "dense3", map[string]int{"dense1": 7, "dense2": 5, "": 5, "dense3": 10}},
		{digits, model.LogisticRegression(), "dense1", map[string]int{"dense1": 10, "": 10}},
		{digits, model.CNN(), "dense2", map[string]int{"conv1": 4 * 4 * 32, "conv2": 2 * 2 * 64, "dense1": 512, "": 512, "dense2": 10}},
		{digits, model.EMNISTCNN(), "dense2", map[string]int{"conv1": 6 * 6 * 32, "conv2": 2 * 2 * 64, "dense1": 128, "": 128, "dense2": 10}},
		{digits, model.ResNet8(), "dense", map[string]int{"conv": 64 * 16, "block1": 64 * 16, "block3": 4 * 64, "": 64, "dense": 10}},
		{large, model.LeNet(), "dense3", map[string]int{"conv1": 6 * 6 * 6, "conv2": 16, "dense1": 120, "": 84, "dense3": 4}},
		{tokens, model.GRU(3, 2, 4), "dense", map[string]int{"gru": 4, "": 4, "dense": 3}},
		{tokens, model.LSTM(3, 2, 4, 5), "dense", map[string]int{"lstm2": 5, "": 5, "dense": 3}},
		{tokens, model.Transformer{Vocabulary: 3, Width: 4, Heads: 2, Layers: 1, Hidden: 5}.Model(), "embedding", map[string]int{"layer1": 2 * 4, "": 4, "embedding": 3}},
	} {
		fed := must.M1(fedkit.New(c.data, partition.IID{Clients: 2}, c.model))
		x := expect.Value(fed.Models(1, 1))(t)
		for layer, width := range c.widths {
			p := expect.Value(fed.Features(t.Context(), x, layer, datasets.TestPart, []int{1}))(t)
			expect.That(t, len(p[0].Outputs[0]) == width, "%s: layer %q has %d outputs, want %d", fed.Task.Name, layer, len(p[0].Outputs[0]), width)
		}
		outputs := expect.Value(fed.Predict(t.Context(), x, datasets.TestPart, fed.Clients[1].Test))(t)[0].Outputs
		for i, got := range expect.Value(fed.Features(t.Context(), x, c.last, datasets.TestPart, []int{1}))(t)[0].Outputs {
			far := distance(got, precision.Double(outputs[i]))
			expect.Must(t, far <= 1e-5, "%s: the outputs of %s are %v from the model's", fed.Task.Name, c.last, far)
		}
	}
}

func TestFeaturesRefuse(t *testing.T) {
	fed := federation(t, datasets.Digits(), model.MLP(8))
	other := federation(t, datasets.Digits(), model.GoMLX("linear", linear))
	x := expect.Value(fed.Models(2, 1))(t)
	ctx, train := t.Context(), datasets.TrainPart
	var none context.Context
	for want, ask := range map[string]func() ([]fedkit.Predictions, error){
		`layer = "conv": must be one of dense1, dense2`:               func() ([]fedkit.Predictions, error) { return fed.Features(ctx, x.Take(0), "conv", train, []int{0}) },
		"models = [2, 610]: must be [1, d] or [3, d], one per client": func() ([]fedkit.Predictions, error) { return fed.Features(ctx, x, "", train, []int{0, 1, 2}) },
		"clients = 6: must be in [0, 6)":                              func() ([]fedkit.Predictions, error) { return fed.Features(ctx, x, "", train, []int{0, 6}) },
		`layer = "only": must be named by fedkit.NameLayer in the model, which names none`: func() ([]fedkit.Predictions, error) {
			return other.Features(ctx, expect.Value(other.Models(1, 1))(t), "only", train, []int{0})
		},
		"ctx = nil": func() ([]fedkit.Predictions, error) { return fed.Features(none, x, "", train, []int{0}) },
		"federation = nil": func() ([]fedkit.Predictions, error) {
			return (*fedkit.Federation)(nil).Features(ctx, x, "", train, []int{0})
		},
	} {
		expect.Refused(t, want)(ask())
	}
	expect.Refused(t, "clients = 6: must be in [0, 6)")(fed.Rows(6, train))
	expect.Refused(t, "part = 5")(fed.Rows(0, 5))
	expect.Refused(t, "federation = nil")((*fedkit.Federation)(nil).Rows(0, train))
}

func TestClassMeans(t *testing.T) {
	p := fedkit.Predictions{Outputs: [][]float32{{1, 2}, {5, 0}, {3, 4}, {9, 9}}, Labels: []int32{2, 0, 2, -1}}
	if means, n := p.ClassMeans(3); fmt.Sprint(means, n) != "[[5 0] [0 0] [2 3]] [1 0 2]" {
		t.Error(means, n)
	}
	regression := fedkit.Predictions{Outputs: [][]float32{{1}}, Targets: []float32{2}}
	if means, n := regression.ClassMeans(1); fmt.Sprint(means, n) != "[[0]] [0]" {
		t.Error(means, n)
	}
	if means, n := new(fedkit.Predictions).ClassMeans(1); fmt.Sprint(means, n) != "[[]] [0]" {
		t.Error(means, n)
	}
}

// The features of all clients' own examples in one call, in a layer that a GoMLX model function names, and their means by class: each
// client has two of the ten digits.
func ExampleFederation_Features() {
	twoLayers := func(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
		x = graph.Reshape(x, x.Shape().Dimensions[0], -1)
		x = fedkit.NameLayer("hidden", activation.Relu(layers.Dense(scope.In("hidden"), x, true, 32)))
		return layers.Dense(scope.In("last"), x, true, 10)
	}
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Classes{Clients: 3, PerClient: 2}, model.GoMLX("two layers", twoLayers)))
	x := must.M1(fed.Models(1, 0))
	for _, p := range must.M1(fed.Features(context.Background(), x, "hidden", datasets.TrainPart, []int{0, 1, 2})) {
		means, n := p.ClassMeans(10)
		fmt.Println(len(p.Outputs), "examples,", len(means[0]), "features; of each digit:", n)
	}
	// Output:
	// 291 examples, 32 features; of each digit: [0 145 0 0 0 146 0 0 0 0]
	// 285 examples, 32 features; of each digit: [143 0 142 0 0 0 0 0 0 0]
	// 284 examples, 32 features; of each digit: [0 0 0 0 0 0 145 0 139 0]
}

// Clients whose images are rotated alike have inputs in similar subspaces (PACFL): the angles between the leading right singular
// vectors of their rows are small.
func ExampleFederation_Rows() {
	rule := partition.Rotations{Of: partition.IID{Clients: 4}, Degrees: []int{0, 90}}
	fed := must.M1(fedkit.New(datasets.Digits(), rule, model.LogisticRegression()))
	basis := make([]mat.Dense, fed.Size()) // of each client, [64, 3]
	for i := range basis {
		var svd mat.SVD
		var v mat.Dense
		svd.Factorize(must.M1(fed.Rows(i, datasets.TrainPart)), mat.SVDThin)
		svd.VTo(&v)
		basis[i].CloneFrom(v.Slice(0, 64, 0, 3))
	}
	for i := 1; i < len(basis); i++ {
		var between mat.Dense
		var angles mat.SVD
		between.Mul(basis[0].T(), &basis[i])
		angles.Factorize(&between, mat.SVDNone)
		largest := math.Acos(angles.Values(nil)[2]) * 180 / math.Pi
		fmt.Printf("rotations %d and %d: %.0f degrees\n", fed.Clients[0].Group, fed.Clients[i].Group, largest)
	}
	// Output:
	// rotations 0 and 0: 16 degrees
	// rotations 0 and 1: 89 degrees
	// rotations 0 and 1: 86 degrees
}
