package fedkit_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/model"
	"gonum.org/v1/gonum/floats"
)

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

// mixed is Σ_k π_k of predictions in float64, and of classes its logarithm.
func mixed(t *testing.T, fed *fedkit.Federation, models *fedkit.Matrix, rows []int, pi func(j int) []float64) (all []fedkit.Predictions) {
	t.Helper()
	one := expect.Value(fed.Predict(context.Background(), models, datasets.TestPart, rows))(t)
	for j := range rows {
		sum := make([]float64, len(one[0].Outputs[j]))
		for k, weight := range pi(j) {
			out := precision.Double(one[k].Outputs[j])
			if fed.Data.Classes > 0 {
				floats.AddConst(-floats.LogSumExp(out), out)
				for c := range out {
					out[c] = math.Exp(out[c])
				}
			}
			floats.AddScaled(sum, weight, out)
		}
		p := fedkit.Predictions{Outputs: [][]float32{make([]float32, len(sum))}}
		for c, v := range sum {
			if fed.Data.Classes > 0 {
				v = math.Log(v)
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

// Predictions that are mixed by client and by example, in float64. After the first round nothing is compiled.
func TestEnsembleAgainstFloat64(t *testing.T) {
	for name, fed := range map[string]*fedkit.Federation{
		"classes":    federation(t, datasets.Digits(), model.MLP(8)),
		"regression": federation(t, sums(), model.MLP(4)),
		"GoMLX":      federation(t, datasets.Digits(), model.GoMLX("linear", linear)),
	} {
		models, _ := noise(3, fed.Task.Dim())
		models = models.Scale(4)
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
			if n := xla.Compilations() - warm; n != 0 {
				t.Errorf("%s: %d programs were compiled after the first round, want 0", name, n)
			}
			for i, got := range h.Last().Scores {
				var loss, right, sum float64
				own := fed.Clients[i].Test
				for _, p := range mixed(t, fed, models, own, func(j int) []float64 { return c.pi(i, j) }) {
					loss += crossEntropy(&p) / float64(len(own))
					sum += seen{}.Measure(&p)
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
					if !(math.Abs(pair[0]-pair[1]) <= 1e-5*(1+math.Abs(pair[1]))) {
						t.Errorf("%s: client %d: %s %v, want %v", name, i, what, pair[0], pair[1])
					}
				}
			}
		}
	}
}

// Of tags the probabilities are mixed, in float64, also where a model is sure.
func TestEnsembleOfTags(t *testing.T) {
	d := sums()
	d.Tags = true
	for _, part := range []*datasets.Split{&d.Train, &d.Test} {
		for i, y := range part.Targets {
			if part.Targets[i] = 0; y > 0 {
				part.Targets[i] = 1
			}
		}
	}
	fed := federation(t, d, model.MLP(4))
	models, _ := noise(2, fed.Task.Dim())
	models = models.Scale(20)
	pi := []float64{0.25, 0.75}
	s := &serves{sv: func(*fedkit.Round) fedkit.Serving {
		return fedkit.Serving{Models: models, Ensemble: slices.Repeat([][]float64{pi}, fed.Size())}
	}}
	h := expect.Value(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 1, Metrics: []fedkit.Metric{seen{}}}))(t)
	sigma := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for i, got := range h.Last().Scores {
		own := fed.Clients[i].Test
		one := expect.Value(fed.Predict(t.Context(), models, datasets.TestPart, own))(t)
		var sum, loss float64
		for j := range own {
			a, b := float64(one[0].Outputs[j][0]), float64(one[1].Outputs[j][0])
			yes, no := pi[0]*sigma(a)+pi[1]*sigma(b), pi[0]*sigma(-a)+pi[1]*sigma(-b)
			sum += math.Log(yes / no)
			if loss -= math.Log(no) / float64(len(own)); one[0].Targets[j] == 1 {
				loss += (math.Log(no) - math.Log(yes)) / float64(len(own))
			}
		}
		for what, pair := range map[string][2]float64{"log odds": {float64(got.Metrics["sum"]), sum}, "loss": {float64(got.Loss), loss}} {
			if !(math.Abs(pair[0]-pair[1]) <= 1e-5*(1+math.Abs(pair[1]))) {
				t.Errorf("client %d: %s %v, want %v", i, what, pair[0], pair[1])
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
		if got[i].Examples != want[i].Examples || got[i].Accuracy != want[i].Accuracy && got[i].Examples > 0 || math.Abs(float64(got[i].Loss-want[i].Loss)) > 1e-5 {
			t.Errorf("client %d: %+v, want %+v", i, got[i], want[i])
		}
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
				if len(losses[i][k]) != len(p.Labels) {
					t.Fatalf("%d losses for %d examples", len(losses[i][k]), len(p.Labels))
				}
				for j, got := range losses[i][k] {
					one := fedkit.Predictions{Outputs: p.Outputs[j : j+1], Labels: p.Labels[j : j+1]}
					if want := crossEntropy(&one); math.Abs(float64(got)-want) > 1e-5*(1+want) {
						t.Fatalf("client %d, model %d, example %d: %v, want %v", c, k, j, got, want)
					}
				}
				mean := 0.0
				for _, v := range test[i][k] {
					mean += float64(v) / float64(len(test[i][k]))
				}
				if math.Abs(mean-means[k][i]) > 1e-6 {
					t.Errorf("client %d, model %d: a mean of %v, want %v", c, k, mean, means[k][i])
				}
			}
		}
	}}
	h := expect.Value(fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 1}))(t)
	if down := h.Last().BytesDown; down != int64(2*2*4*fed.Task.Dim()) {
		t.Errorf("%d bytes down, want two models for each of two clients", down)
	}
	none := asking{func(r *fedkit.Round) { r.ExampleLosses(models, datasets.TrainPart, []int{9}) }}
	expect.Error(t, "round 1: losses: invalid: clients = 9: must be in [0, 6)")(fedkit.Run(t.Context(), fed, none, fedkit.Options{Rounds: 1}))
}
