package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/server"
	"github.com/gomlx/gomlx/core/graph"
)

// Under the race detector the plugin's destructors abort when the process exits normally.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

// models returns x_1, …, x_T, the optimizer's models. It fails the test if a program is compiled after
// the first step.
func models(t *testing.T, rule func(t int) fedkit.ServerOptimizer, x []float32, deltas [][]float32) (all [][]float32) {
	t.Helper()
	at := fedkit.NewMatrix(x, 1, len(x))
	var step *fedkit.Matrix
	var memory []*fedkit.Matrix
	var first int64
	for i, d := range deltas {
		step, memory = rule(i+1).Step(fedkit.NewMatrix(d, 1, len(d)), memory, i+1)
		at = at.Add(step)
		if all = append(all, expect.Value(at.Host())(t)); i == 0 {
			first = xla.Compilations()
		}
	}
	expect.That(t, (xla.Compilations()-first) == 0, "%d programs were compiled after the first step, want 0", (xla.Compilations() - first))
	return all
}

func always(o fedkit.ServerOptimizer) func(int) fedkit.ServerOptimizer {
	return func(int) fedkit.ServerOptimizer { return o }
}

// distance is the relative distance ‖a − b‖/‖b‖ of two models, measured from where they started.
func distance(a []float32, b, start []float64) float64 {
	apart, moved := 0.0, 0.0
	for j := range a {
		apart += (float64(a[j]) - b[j]) * (float64(a[j]) - b[j])
		moved += (b[j] - start[j]) * (b[j] - start[j])
	}
	return math.Sqrt(apart / moved)
}

// Every rule in both forms, against plain float64 Go: 20 steps, 1e-5 relative. Updates span seven powers of ten, some of
// them far below ε and τ, and one parameter is never updated. The start is zero, so that it costs no digits.
func TestAgainstFloat64(t *testing.T) {
	const d, rounds = 300, 20
	rng := fedkit.Random(3, "updates")
	deltas, exact := make([][]float32, rounds), make([][]float64, rounds)
	for i := range deltas {
		deltas[i] = make([]float32, d)
		for j := range d - 1 {
			deltas[i][j] = float32((0.3 + rng.NormFloat64()) * math.Pow(10, -6+7*float64(j)/d))
		}
		exact[i] = precision.Double(deltas[i])
	}
	start := make([]float64, d)
	for _, c := range []struct {
		rule fedkit.ServerOptimizer
		want oracle.Server
	}{
		{server.SGD{}, oracle.Server{Rule: "SGD", LR: 1}},
		{server.SGD{LR: 0.5}, oracle.Server{Rule: "SGD", LR: 0.5}},
		{server.Momentum{}, oracle.Server{Rule: "Momentum", LR: 1, Beta1: 0.9}},
		{server.Momentum{LR: 2, Beta: 0.9999}, oracle.Server{Rule: "Momentum", LR: 2, Beta1: 0.9999}},
		{server.Momentum{LR: 0.1, HeavyBall: true}, oracle.Server{Rule: "Momentum", LR: 1, Beta1: 0.9}},
		{server.Momentum{Beta: fedkit.Zero}, oracle.Server{Rule: "SGD", LR: 1}},
		{server.Adagrad{}, oracle.Server{Rule: "Adagrad", LR: 0.1, Beta1: 0.9, Epsilon: 1e-6}},
		{server.Adagrad{LR: 0.3, Beta1: fedkit.Zero, Epsilon: 1e-4}, oracle.Server{Rule: "Adagrad", LR: 0.3, Epsilon: 1e-4}},
		{server.Adam{}, oracle.Server{Rule: "Adam", LR: 0.01, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-6}},
		{server.Adam{LR: 0.1, Beta1: 0.5, Beta2: 0.9999, Epsilon: 1e-8}, oracle.Server{Rule: "Adam", LR: 0.1, Beta1: 0.5, Beta2: 0.9999, Epsilon: 1e-8}},
		{server.Adam{Beta1: fedkit.Zero, Beta2: fedkit.Zero}, oracle.Server{Rule: "Adam", LR: 0.01, Epsilon: 1e-6}},
		{server.Yogi{}, oracle.Server{Rule: "Yogi", LR: 0.01, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-6}},
		{server.Yogi{LR: 0.1, Beta1: 0.5, Beta2: 0.9999, Epsilon: 1e-8}, oracle.Server{Rule: "Yogi", LR: 0.1, Beta1: 0.5, Beta2: 0.9999, Epsilon: 1e-8}},
		{server.AMSGrad{}, oracle.Server{Rule: "AMSGrad", LR: 0.01, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-3}},
		{server.AMSGrad{LR: 0.1, Beta1: fedkit.Zero, Beta2: 0.5, Epsilon: 1e-6}, oracle.Server{Rule: "AMSGrad", LR: 0.1, Beta2: 0.5, Epsilon: 1e-6}},
		{server.Adagrad{Form: server.Reddi}, oracle.Server{Rule: "Adagrad", LR: 0.1, Beta1: 0.9, Epsilon: 1e-3, Paper: true}},
		{server.Adam{Form: server.Reddi}, oracle.Server{Rule: "Adam", LR: 0.01, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-3, Paper: true}},
		{server.Adam{LR: 1, Beta1: 0.8, Beta2: 0.999, Epsilon: 0.1, Form: server.Reddi},
			oracle.Server{Rule: "Adam", LR: 1, Beta1: 0.8, Beta2: 0.999, Epsilon: 0.1, Paper: true}},
		{server.Yogi{Form: server.Reddi}, oracle.Server{Rule: "Yogi", LR: 0.01, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-3, Paper: true}},
		{server.Yogi{LR: 1, Beta1: 0.8, Beta2: 0.999, Epsilon: 0.1, Form: server.Reddi},
			oracle.Server{Rule: "Yogi", LR: 1, Beta1: 0.8, Beta2: 0.999, Epsilon: 0.1, Paper: true}},
	} {
		got, want := models(t, always(c.rule), make([]float32, d), deltas), c.want.Run(start, exact)
		for i := range want {
			if far := distance(got[i], want[i], start); !(far <= 1e-5) {
				t.Errorf("%T%+v: step %d is %.2g away", c.rule, c.rule, i+1, far)
				break
			}
			expect.Must(t, got[i][d-1] == 0, "%T%+v: a parameter without updates moved to %v", c.rule, c.rule, got[i][d-1])
		}
	}
}

// Bias correction makes the first step of Adam and Yogi η Δ/√(Δ²+ε), whatever β1 and β2 are.
func TestFirstStep(t *testing.T) {
	delta := []float32{-2, -0.01, 0.5, 3}
	for _, o := range []fedkit.ServerOptimizer{server.Adam{LR: 0.1, Beta1: 0.7}, server.Adam{LR: 0.1, Beta2: 0.5}, server.Yogi{LR: 0.1, Beta1: 0.3}} {
		for j, got := range models(t, always(o), make([]float32, 4), [][]float32{delta})[0] {
			d := float64(delta[j])
			want := 0.1 * d / math.Sqrt(d*d+1e-6)
			expect.That(t, math.Abs(float64(got)-want) <= 1e-6, "%T%+v: the first step for Δ = %v is %v, want %v", o, o, d, got, want)
		}
	}
}

// Several models at once are treated separately.
func TestRowsAreIndependent(t *testing.T) {
	for _, o := range []fedkit.ServerOptimizer{server.SGD{}, server.Momentum{}, server.Adagrad{}, server.Adam{}, server.Yogi{Form: server.Reddi}, server.AMSGrad{}} {
		_, memory := o.Step(fedkit.NewMatrix([]float32{1, -2, 3, 0.1, 0.2, -0.3}, 2, 3), nil, 1)
		both, _ := o.Step(fedkit.NewMatrix([]float32{1, 1, 1, -1, 0, 1}, 2, 3), memory, 2)
		_, memory = o.Step(fedkit.NewMatrix([]float32{0.1, 0.2, -0.3}, 1, 3), nil, 1)
		one, _ := o.Step(fedkit.NewMatrix([]float32{-1, 0, 1}, 1, 3), memory, 2)
		a := expect.Value(both.Host())(t)
		b := expect.Value(one.Host())(t)
		expect.That(t, fmt.Sprint(a[3:]) == fmt.Sprint(b), "%T: the second of two models steps by %v, alone by %v", o, a[3:], b)
	}
}

// Errors reach the step, and nothing panics: a failed Δ, a nil one, a memory that does not fit.
func TestErrorsPassThrough(t *testing.T) {
	good := fedkit.NewMatrix([]float32{1, 2}, 1, 2)
	for _, o := range []fedkit.ServerOptimizer{server.SGD{}, server.Momentum{}, server.Adagrad{}, server.Adam{}, server.Yogi{}, server.AMSGrad{}} {
		for _, delta := range []*fedkit.Matrix{nil, fedkit.NewMatrix(nil, 1, 2)} {
			if step, _ := o.Step(delta, nil, 1); !errors.Is(step.Err(), fedkit.ErrInvalid) {
				t.Errorf("%T: error %v for a failed Δ", o, step.Err())
			}
		}
		if _, memory := o.Step(good, nil, 1); len(memory) > 0 {
			if step, _ := o.Step(fedkit.NewMatrix(make([]float32, 3), 1, 3), memory, 2); step.Err() == nil {
				t.Errorf("%T: a memory of 2 parameters is accepted for a Δ of 3", o)
			}
		}
		a, _ := o.Step(good, make([]*fedkit.Matrix, 4), 1)
		expect.That(t, a.Err() == nil, "%T: another optimizer's memory is %v, want none", o, a.Err())
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		o    fedkit.ServerOptimizer
		want string
	}{
		{server.SGD{LR: -1}, "SGD.LR = -1: must be a number > 0, or 0 for the default of 1"},
		{server.SGD{LR: math.NaN()}, "SGD.LR = NaN: must be a number > 0, or 0 for the default of 1"},
		{server.Momentum{LR: math.Inf(1)}, "Momentum.LR = +Inf: must be a number > 0, or 0 for the default of 1"},
		{server.Momentum{Beta: 1}, "Momentum.Beta = 1: must be in (0, 1), 0 for the default of 0.9, or fedkit.Zero"},
		{server.Adagrad{LR: -0.1}, "Adagrad.LR = -0.1: must be a number > 0, or 0 for the default of 0.1"},
		{server.Adagrad{Beta1: -0.1}, "Adagrad.Beta1 = -0.1: must be in (0, 1), 0 for the default of 0.9, or fedkit.Zero"},
		{server.Adam{Beta1: 1}, "Adam.Beta1 = 1: must be in (0, 1), 0 for the default of 0.9, or fedkit.Zero"},
		{server.Adam{Beta2: 1.5}, "Adam.Beta2 = 1.5: must be in (0, 1), 0 for the default of 0.99, or fedkit.Zero"},
		{server.Adam{Epsilon: -1e-8}, "Adam.Epsilon = -1e-08: must be a number > 0, or 0 for the default of 1e-6 (1e-3 in Reddi's form)"},
		{server.Yogi{LR: -1}, "Yogi.LR = -1: must be a number > 0, or 0 for the default of 0.01"},
		{server.Yogi{Epsilon: math.NaN()}, "Yogi.Epsilon = NaN: must be a number > 0, or 0 for the default of 1e-6 (1e-3 in Reddi's form)"},
		{server.Yogi{Form: 2}, "Yogi.Form = Form(2): must be server.Corrected or server.Reddi"},
	} {
		err := fedkit.Check(c.o, nil, 0)
		expect.That(t, errors.Is(err, fedkit.ErrInvalid) && err.Error() == "invalid: "+c.want, "error %v\nwant invalid: %s", err, c.want)
	}
	for _, good := range []fedkit.ServerOptimizer{server.SGD{}, server.Momentum{Beta: fedkit.Zero}, server.Adagrad{}, server.Adam{Form: server.Reddi}, server.Yogi{}, server.AMSGrad{}} {
		expect.OK(t, fedkit.Check(good, nil, 0))
	}
}

// Reddi's form against Flower 1.41.0 (flwr.serverapp.strategy, NumPy 2.4.6, in float64; testdata/flower.py). Flower's
// rules differ from arXiv 2003.00295 in two places, and its momentum from ours in one. Only what is equal is compared:
//
//   - It starts v at 0, the paper at τ². Cases with v0 = τ² had Flower's own v_t set before the first round; in the others
//     τ = 1e-9, and τ² is negligible next to Δ².
//   - Its FedAdam multiplies η by √(1−β2^{t+1})/(1−β1^{t+1}), which the paper does not: here each round's η includes it.
//   - Its FedAvgM is m ← βm + Δ: ours with η/(1−β). Its FedAdagrad has β1 = 0, as in the paper's experiments.
func TestAgainstFlower(t *testing.T) {
	b := expect.Value(os.ReadFile("testdata/flower.json"))(t)
	var flower struct {
		Start  []float32
		Deltas [][]float32
		Cases  []struct {
			Strategy string
			Options  map[string]float64
			V0       float64
			X        [][]float64
		}
	}
	expect.OK(t, json.Unmarshal(b, &flower))
	for _, c := range flower.Cases {
		o := c.Options
		rule := map[string]func(t int) fedkit.ServerOptimizer{
			"FedAvgM":    always(server.Momentum{LR: o["server_learning_rate"] / (1 - o["server_momentum"]), Beta: o["server_momentum"] + fedkit.Zero}),
			"FedAdagrad": always(server.Adagrad{LR: o["eta"], Beta1: fedkit.Zero, Epsilon: o["tau"], Form: server.Reddi}),
			"FedAdam": func(t int) fedkit.ServerOptimizer {
				eta := o["eta"] * math.Sqrt(1-math.Pow(o["beta_2"], float64(t+1))) / (1 - math.Pow(o["beta_1"], float64(t+1)))
				return server.Adam{LR: eta, Beta1: o["beta_1"], Beta2: o["beta_2"], Epsilon: o["tau"], Form: server.Reddi}
			},
			"FedYogi": always(server.Yogi{LR: o["eta"], Beta1: o["beta_1"], Beta2: o["beta_2"], Epsilon: o["tau"], Form: server.Reddi}),
		}[c.Strategy]
		got := models(t, rule, flower.Start, flower.Deltas)
		for i, want := range c.X {
			if far := distance(got[i], want, precision.Double(flower.Start)); !(far <= 1e-5) {
				t.Errorf("%s, %v, v0 = %g: round %d is %.2g away", c.Strategy, o, c.V0, i+1, far)
				break
			}
		}
	}
	expect.That(t, len(flower.Cases) == 8, "%d cases, want 8", len(flower.Cases))
}

// Adam's first steps are η long in every coordinate, however large the updates are. It remembers the mean update and
// its square.
func ExampleAdam() {
	x := fedkit.NewMatrix([]float32{0, 0}, 1, 2)
	delta := fedkit.NewMatrix([]float32{3, -0.2}, 1, 2) // the clients' mean update
	adam := server.Adam{LR: 0.1}

	step, memory := adam.Step(delta, nil, 1)
	x = x.Add(step)
	step, memory = adam.Step(delta, memory, 2)
	x = x.Add(step)

	now, err := x.Host()
	fmt.Printf("%.3f %v, %d matrices remembered\n", now, err, len(memory))
	// Output: [0.200 -0.200] <nil>, 2 matrices remembered
}

// Momentum averages the updates over rounds: a steady direction adds up, a direction that keeps turning cancels out.
func ExampleMomentum() {
	momentum := server.Momentum{LR: 1, Beta: 0.5}
	x := fedkit.NewMatrix([]float32{0, 0}, 1, 2)
	var step *fedkit.Matrix
	var memory []*fedkit.Matrix
	for t := 1; t <= 4; t++ {
		turning := float32(1 - 2*(t%2)) // -1, 1, -1, 1
		step, memory = momentum.Step(fedkit.NewMatrix([]float32{1, turning}, 1, 2), memory, t)
		x = x.Add(step)
	}
	now, err := x.Host()
	fmt.Printf("%.1f %v\n", now, err)
	// Output: [3.1 -0.3] <nil>
}

// A custom server optimizer is one method. This one never lets a parameter move by more than Most.
type clipped struct{ Most float64 }

func (c clipped) Step(delta *fedkit.Matrix, _ []*fedkit.Matrix, _ int) (step *fedkit.Matrix, after []*fedkit.Matrix) {
	return delta.Apply(clip, c.Most), nil
}

var clip = fedkit.NewProgram("clip", func(a []*graph.Node) *graph.Node {
	return graph.Min(graph.Max(a[0], graph.Neg(a[1])), a[1])
})

func Example() {
	var o fedkit.ServerOptimizer = clipped{Most: 0.5}
	step, _ := o.Step(fedkit.NewMatrix([]float32{3, -0.2}, 1, 2), nil, 1)
	v, err := step.Host()
	fmt.Printf("%.1f %v\n", v, err)
	// Output: [0.5 -0.2] <nil>
}
