package fedkit_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/model"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	mlmodel "github.com/gomlx/gomlx/ml/model"
	"gonum.org/v1/gonum/floats"
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
		if len(got) != c.models || len(got[0].Outputs) != len(rows) {
			t.Fatalf("%s: %d predictions for %d models", name, len(got), c.models)
		}
		for j, p := range got {
			w := append(w[j], make([]float64, o.Dim()-len(w[j]))...) // a layer without biases has zeros
			for i, row := range rows {
				if far := distance(p.Outputs[i], o.Outputs(w, precision.Double(split.Row(row, nil)))); !(far < 1e-5) {
					t.Fatalf("%s: model %d, row %d: %v away", name, j, row, far)
				}
				if split.Labels != nil && p.Labels[i] != split.Labels[row] || split.Targets != nil && p.Targets[i] != split.Targets[row] {
					t.Fatalf("%s: row %d has the truth of another", name, row)
				}
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
	if n := xla.Compilations() - warm; n != 0 {
		t.Errorf("%d programs were compiled after the first round, want 0", n)
	}
	for c, score := range h.Last().Scores {
		if want := float64(score.Loss); math.Abs(test[0][c]-want) > 1e-6*want {
			t.Errorf("client %d: test loss %v, recorded %v", c, test[0][c], want)
		}
	}
	if down := h.Last().BytesDown; down != int64(3*2*4*fed.Task.Dim()) || h.Last().BytesUp != 0 {
		t.Errorf("%d bytes down, %d up; want three models for each of two clients, and none", down, h.Last().BytesUp)
	}
	for j := range said {
		if got := crossEntropy(&said[j]); math.Abs(got-train[j][0]) > 1e-5*got {
			t.Errorf("model %d: the loss of client 4 is %v, %v from the outputs", j, train[j][0], got)
		}
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
