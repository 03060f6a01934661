package fedkit_test

import (
	"math"
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
	"fedkit.example/fedkit/loss"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	mlmodel "github.com/gomlx/gomlx/ml/model"
	"github.com/janpfeifer/must"
)

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
					if w := flat[(i*c.d.Train.Width+j)*c.k+k]; !(math.Abs(float64(v-w)) <= 1e-4) {
						t.Fatalf("%s: output %d of example %d is %v, alone %v", c.d.Name, j, i, w, v)
					}
				}
			}
		}
		if !(math.Abs(got-want) <= 1e-5*want) {
			t.Errorf("%s: loss %v, want %v", c.d.Name, got, want)
		}
	}
}

// What a model says of positions without a label does not matter, to losses, accuracies or metrics, and neither does what it is.
func TestPositionsWithoutLabels(t *testing.T) {
	d := positions()
	fed := expect.Value(fedkit.New(d, partition.Validation{Of: partition.ByTarget{Of: partition.Dirichlet{Clients: 4, Alpha: 1, Seed: 1}}}, model.MLP(16)))(t)
	avg := &strategy.FedAvg{Local: fedkit.Local{Epochs: 5, Batch: 16, LR: 0.3}}
	h := expect.Value(fedkit.Run(t.Context(), fed, avg, fedkit.Options{Rounds: 10, EvalEvery: 10, Metrics: []fedkit.Metric{metric.MacroF1{}}}))(t)
	if a := h.Accuracy(); a < 0.8 {
		t.Errorf("accuracy %v", a)
	}
	p := expect.Value(fed.Predict(t.Context(), avg.State.X, datasets.TestPart, nil))(t)[0]
	if len(p.Outputs) != 150 || len(p.Labels) != 150 || len(p.Outputs[0]) != 3 || !slices.Equal(p.Labels, d.Test.Labels) {
		t.Fatalf("%d outputs of %d, %d labels", len(p.Outputs), len(p.Outputs[0]), len(p.Labels))
	}
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
	if a := expect.Value(fedkit.Run(t.Context(), fed, avg, fedkit.Options{Rounds: 5}))(t).Accuracy(); a < 0.9 {
		t.Errorf("accuracy %v", a)
	}
	p := expect.Value(fed.Predict(t.Context(), avg.State.X, datasets.TestPart, []int{3, 1}))(t)[0]
	if len(p.Outputs) != 2 || len(p.Outputs[0]) != 2 || !slices.Equal(p.Targets, slices.Concat(tags().Test.Targets[6:8], tags().Test.Targets[2:4])) {
		t.Errorf("%+v", p)
	}
	two := func(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
		return layers.Dense(scope.In("only"), x, true, 2)
	}
	expect.Value(fedkit.New(tags(), partition.IID{Clients: 2}, model.GoMLX("two", two)))(t)
	expect.Invalid(t, "output of the model function = (Float32)[3, 2]: must be (Float32)[3, 3, 3]")(fedkit.New(positions(), partition.IID{Clients: 2}, model.GoMLX("two", two)))
	image := &datasets.Dataset{Name: "images", Shape: []int{16, 16, 1}, Tags: true, Train: datasets.Split{Floats: make([]float32, 2*256), Targets: []float32{0, 1, 1, 0, 0, 1}, Width: 3}}
	image.Test = image.Train
	for _, m := range []fedkit.Model{model.LeNet(), model.CNN(), model.ResNet8()} {
		task := must.M1(fedkit.New(image, partition.IID{Clients: 2}, m)).Task
		if last := task.Params[len(task.Params)-1]; last.Size() != 3 {
			t.Errorf("%s has %d outputs", task.Name, last.Size())
		}
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
		if !(math.Abs(got-want) <= 1e-4*math.Abs(want)) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	for i := range one.Rounds {
		a, b := &one.Rounds[i], &thousand.Rounds[i]
		for _, s := range [][2]*fedkit.Score{{a.Global, b.Global}, {a.Mean(), b.Mean()}, {&a.Scores[2], &b.Scores[2]}, {a.Validation.Global, b.Validation.Global}} {
			if len(s[0].Metrics) != 3 || !math.IsNaN(float64(s[0].Accuracy)) || s[0].Main() != history.R2 {
				t.Fatalf("score %+v", *s[0])
			}
			close("R²", float64(s[1].Metrics["R²"]), float64(s[0].Metrics["R²"]))
			close("RMSE", float64(s[1].Metrics["RMSE"]), 1000*float64(s[0].Metrics["RMSE"]))
			close("MAE", float64(s[1].Metrics["MAE"]), 1000*float64(s[0].Metrics["MAE"]))
		}
		close("RMSE² / 2", math.Pow(float64(a.Global.Metrics["RMSE"]), 2)/2, float64(a.Global.Loss))
		close("the clients' worst R²", float64(b.Spread().Worst), float64(a.Spread().Worst))
	}
	last := history.R2.Last(one)
	if n := one.RoundsTo(0.9); n < 2 || n != thousand.RoundsTo(0.9) || !(last > 0.95) || !math.IsNaN(one.Accuracy()) {
		t.Errorf("rounds to R² 0.9: %d and %d; R² at the end %v", n, thousand.RoundsTo(0.9), last)
	}
	path := filepath.Join(t.TempDir(), "h")
	expect.OK(t, thousand.Save(path))
	for _, load := range []func(string) (*fedkit.History, error){history.Load, history.LoadLight} {
		back := expect.Value(load(path))(t)
		if back.String() != thousand.String() || !reflect.DeepEqual(*back.Last().Spread(), *thousand.Last().Spread()) || back.Main() != history.R2 {
			t.Errorf("loaded:\n%swant:\n%s", back, thousand)
		}
	}
	if s := one.String(); !strings.Contains(s, " R²  own R² ") || strings.Count(s, "%") != 1 || strings.Contains(s, "accuracy") {
		t.Errorf("it is printed as\n%s", s)
	}
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
	if a := within.Accuracy(); within.Main() != history.Accuracy || !(a > 0 && a < 1) || len(within.Last().Global.Metrics) != 3 {
		t.Errorf("%+v", within.Last().Global)
	}
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
	if r := twice.Last(); r.Global.Metrics != nil || r.Spread() != nil || strings.Contains(twice.String(), "NaN") {
		t.Errorf("%+v\n%s", r.Global, twice)
	}
}
