package fedkit_test

import (
	"context"
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/janpfeifer/must"
)

// Federated averaging on handwritten digits, dealt out unevenly to 20 clients.
func Example() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 20, Alpha: 0.5, Seed: 1}, model.MLP(64)))
	avg := &strategy.FedAvg{Fraction: 0.5, Local: fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}}
	h := must.M1(fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: 30}))
	fmt.Printf("%s, %d clients, more than 95 %% accurate: %v\n", h.Name, h.Clients, h.Accuracy() > 0.95)
	// Output: FedAvg, 20 clients, more than 95 % accurate: true
}

// A loop of your own: stop as soon as the model is good enough.
func ExampleRounds() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 10}, model.LogisticRegression()))
	avg := &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1}}
	var last *fedkit.History
	for h, err := range fedkit.Rounds(context.Background(), fed, avg, fedkit.Options{Rounds: 100}) {
		must.M(err)
		if last = h; h.Accuracy() > 0.9 {
			break
		}
	}
	fmt.Println("enough after fewer than 20 rounds:", len(last.Rounds) < 20)
	// Output: enough after fewer than 20 rounds: true
}

// half is FedAvg that goes half of the way: a custom algorithm is three short methods.
type half struct {
	Local fedkit.Local
	State struct{ X *fedkit.Matrix }
}

func (s *half) Start(r *fedkit.Round) error {
	s.State.X = r.Models(1)
	return r.Err()
}

func (s *half) Round(r *fedkit.Round) error {
	u := r.Train(fedkit.Job{Clients: r.Select(nil, 0.5), Start: s.State.X, Local: s.Local})
	s.State.X = s.State.X.Add(u.Delta().Mean(u.Examples()).Scale(0.5))
	return r.Err()
}

func (s *half) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }

func ExampleStrategy() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 10}, model.MLP(32)))
	h := must.M1(fedkit.Run(context.Background(), fed, &half{Local: fedkit.Local{Batch: 16, LR: 0.2}}, fedkit.Options{Rounds: 40}))
	fmt.Println(h.Name, "learns:", h.Accuracy() > 0.9)
	// Output: half learns: true
}

// signs steps along the signs of the gradient.
type signs struct{}

func (signs) Slots() int { return 0 }

func (signs) Direction(_, g []*graph.Node, _ [][]*graph.Node, _ *graph.Node) ([]*graph.Node, [][]*graph.Node) {
	d := make([]*graph.Node, len(g))
	for l := range g {
		d[l] = graph.Sign(g[l])
	}
	return d, nil
}

// Clients can follow an optimizer of your own. Here its rate falls, and so do its weights.
// quantile clips a mean; its default is in the field's tag alone.
type quantile struct {
	Share float64 `range:"[0,1)" default:"0.1"` // share of the rows that is left out at each end
}

func (q quantile) rows(n int) int { return int(fedkit.Defaults(q).Share * float64(n)) }

func ExampleDefaults() {
	fmt.Println(quantile{}.rows(20), quantile{Share: 0.25}.rows(20), quantile{Share: fedkit.Zero}.rows(20))
	// Output: 2 5 0
}

func ExampleOptimizer() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 10}, model.MLP(32)))
	local := fedkit.Local{Batch: 16, LR: 0.01, Schedule: fedkit.Decay{Gamma: 0.95}, Optimizer: fedkit.WeightDecay{Lambda: 0.01, Then: signs{}}}
	h := must.M1(fedkit.Run(context.Background(), fed, &strategy.FedAvg{Local: local}, fedkit.Options{Rounds: 20}))
	fmt.Println("learns:", h.Accuracy() > 0.9)
	// Output: learns: true
}

// Example-level differential privacy is a choice of the local solver: DP-SGD clips the gradient of every example, and adds noise.
func ExampleLocal_dpSGD() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 5}, model.MLP(32)))
	private := fedkit.Local{Epochs: 2, Batch: 32, LR: 0.5, ClipExamples: 0.5, Noise: 0.6} // C and z
	h := must.M1(fedkit.Run(context.Background(), fed, &strategy.FedAvg{Local: private}, fedkit.Options{Rounds: 15, EvalEvery: 15}))
	fmt.Println("more than 80 % right:", h.Accuracy() > 0.8)
	// Output: more than 80 % right: true
}

// A model of your own may have values that are not trained. This one counts the examples that it has seen, without rows that only fill
// a batch; the federation's model has seen as many as its clients on average.
func ExampleTrainingOf() {
	counting := func(d *datasets.Dataset) (*fedkit.Task, error) {
		t, err := model.LogisticRegression()(d)
		t.Params = append(t.Params, fedkit.Param{Name: "seen", Shape: []int{1}, Running: true})
		predict := t.Forward
		t.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
			if step := fedkit.TrainingOf(x); step != nil {
				step.Set(p[2], graph.Add(p[2], graph.ReduceAndKeep(step.Used(), graph.ReduceSum, 1)))
			}
			return predict(p[:2], x)
		}
		return t, err
	}
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Quantity{Clients: 5, Power: 1, Seed: 1}, counting))
	avg := &strategy.FedAvg{Local: fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}, Weighting: strategy.Equal{}}
	must.M1(fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: 3}))
	x := must.M1(avg.X.Host())
	fmt.Printf("%d training examples, 5 clients, 6 epochs: %.1f seen\n", fed.Data.Train.Len(), x[len(x)-1])
	// Output: 1438 training examples, 5 clients, 6 epochs: 1725.6 seen
}

// A part, such as an aggregator, can be a function.
func ExampleAggregatorFunc() {
	plain := fedkit.AggregatorFunc(func(u *fedkit.Matrix, weights []float64) *fedkit.Matrix {
		return u.Mean(nil) // every client counts the same
	})
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 10, Alpha: 1}, model.MLP(32)))
	avg := &strategy.FedAvg{Aggregator: plain, Local: fedkit.Local{Batch: 16, LR: 0.2}}
	h := must.M1(fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: 20}))
	fmt.Println("learns:", h.Accuracy() > 0.9)
	// Output: learns: true
}

// A run can record figures of your own. Here it is the share of test examples whose label is among the three largest outputs.
func ExampleMetric() {
	top3 := metric.Func("top 3", func(p *fedkit.Predictions) float64 {
		right := 0.0
		for i, out := range p.Outputs { // [n, 10]
			larger := 0
			for _, v := range out {
				if v > out[p.Labels[i]] {
					larger++
				}
			}
			if larger < 3 {
				right++
			}
		}
		return right / float64(len(p.Outputs))
	})
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 10, Alpha: 0.5}, model.LogisticRegression()))
	avg := &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1}}
	h := must.M1(fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: 5, Metrics: []fedkit.Metric{top3, metric.MacroF1{}}}))
	score := h.Last().Global
	fmt.Println("more in the top 3 than at the top:", score.Metrics["top 3"] > score.Accuracy)
	fmt.Println("macro F1 of client 4 is known:", h.Last().Scores[4].Metrics["macro F1"] > 0)
	// Output:
	// more in the top 3 than at the top: true
	// macro F1 of client 4 is known: true
}

// After a run: how often the final model takes one digit for another.
func ExampleFederation_Predict() {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 10}, model.MLP(32)))
	avg := &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.2}}
	must.M1(fedkit.Run(context.Background(), fed, avg, fedkit.Options{Rounds: 20}))
	p := must.M1(fed.Predict(context.Background(), avg.State.X, datasets.TestPart, nil))[0]
	var confusion [10][10]int // by label and answer
	for i, class := range p.Classes() {
		confusion[p.Labels[i]][class]++
	}
	fmt.Println("most zeros are taken for zeros:", confusion[0][0] > 9*confusion[0][8])
	// Output: most zeros are taken for zeros: true
}

// largest returns the k largest values of each row, and the others.
var largest = fedkit.NewPrograms("largest", func(k int, in []*graph.Node) []*graph.Node {
	values, _ := graph.TopK(in[0], k, 1)
	least := graph.Slice(values, graph.AxisRange(), graph.AxisRange(k-1, k))
	top := graph.Where(graph.GreaterOrEqual(in[0], least), in[0], graph.ZerosLike(in[0]))
	return []*graph.Node{top, graph.Sub(in[0], top)}
}).RowWise()

// A program with a parameter, which is a constant of the graph, and with two results.
func ExamplePrograms() {
	m := fedkit.NewMatrix([]float32{3, 1, 4, 1, 5, 9}, 2, 3)
	for k := 1; k <= 2; k++ {
		parts := m.ApplyN(2, largest.Of(k))
		fmt.Println(k, must.M1(parts[0].Host()), must.M1(parts[1].Host()))
	}
	a, b := largest.Of(2), largest.Of(2)
	fmt.Println("the same program for the same k:", a == b)
	// Output:
	// 1 [0 0 4 0 0 9] [3 1 0 1 5 0]
	// 2 [3 0 4 0 5 9] [0 1 0 1 0 0]
	// the same program for the same k: true
}
