package fedkit

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/precision"
)

// alone trains each client's own model by its own number of steps.
type alone struct {
	Steps []int
	Local Local
	keep  bool // set in the Job only
	State struct{ W *Matrix }
}

func (s *alone) Start(r *Round) error {
	s.State.W = r.Models(1).Take(make([]int, r.Clients())...)
	return r.Err()
}

func (s *alone) Round(r *Round) error {
	l := s.Local
	l.KeepMemory = l.KeepMemory || s.keep
	s.State.W = r.Train(Job{Clients: r.AllClients(), Start: s.State.W, Local: l, Steps: s.Steps}).Models
	return r.Err()
}

func (s *alone) Serve(r *Round) Serving { return Serving{Models: s.State.W, Assign: r.AllClients()} }

// With its memory kept, a client that goes on from its own model does in three rounds what it does in one of three times the steps,
// and a resumed run does the same. Clients take unequal steps, and more of them than share a program.
func TestKeptMemoryGoesOn(t *testing.T) {
	sizes, steps, thrice := []int{3, 17, 8, 1, 12, 5}, []int{1, 4, 2, 7, 3, 1}, []int{3, 12, 6, 21, 9, 3}
	optimizers := []Optimizer{Adam{}, SGD{}, Momentum{}, Adagrad{}, RMSProp{}, Clip{Norm: 0.5, Then: Adam{}}}
	if testing.Short() {
		optimizers = optimizers[:2]
	}
	for _, by := range optimizers {
		l := Local{Batch: FullBatch, LR: 0.02, Optimizer: by}
		models := func(s *alone, o Options) []float32 {
			fed, _ := toy(t, sizes...)
			h, err := Run(context.Background(), fed, s, o)
			expect.OK(t, err)
			width := 4 * int64(fed.Task.Dim()*len(sizes))
			want := width * int64(1+by.Slots())
			expect.That(t, !s.Local.KeepMemory || h.Last().StateBytes == want+8*int64(min(1, by.Slots())*len(sizes)),
				"%T: %d bytes are kept, want models and memory, %d, and the steps", by, h.Last().StateBytes, want)
			return expect.Value(s.State.W.Host())(t)
		}
		want := models(&alone{Steps: thrice, Local: l}, Options{Rounds: 1})
		reset := models(&alone{Steps: steps, Local: l}, Options{Rounds: 3})
		l.KeepMemory = true
		kept := models(&alone{Steps: steps, Local: l}, Options{Rounds: 3})
		o := Options{Rounds: 2, Checkpoint: filepath.Join(t.TempDir(), "checkpoint")}
		models(&alone{Steps: steps, Local: l}, o)
		o.Rounds = 3
		resumed, apart := models(&alone{Steps: steps, Local: l}, o), 0.0
		for j := range want {
			expect.Must(t, math.Abs(float64(kept[j]-want[j])) <= 2e-6*(1+math.Abs(float64(want[j]))) && resumed[j] == kept[j],
				"%T, value %d: %v in one round, %v in three, %v resumed", by, j, want[j], kept[j], resumed[j])
			apart = max(apart, math.Abs(float64(reset[j]-kept[j])))
		}
		expect.That(t, (apart > 1e-4) == (by != SGD{}), "%T: an empty memory in every round changes parameters by at most %v", by, apart)
	}
}

// Three rounds of FedAvg with kept Adam memory, in float64: each client goes on with its own m, v and t from the model of all.
func TestKeptAdamInFloat64(t *testing.T) {
	fed, o := toy(t, 3, 17, 8)
	const steps, rounds, eta, b1, b2, epsilon = 4, 3, 0.02, 0.9, 0.999, 1e-8
	s := &mean{Local: Local{Steps: steps, Batch: FullBatch, LR: eta, Optimizer: Adam{}, KeepMemory: true}}
	expect.Value(Run(context.Background(), fed, s, Options{Rounds: rounds}))(t)
	x := rowsOf(t, expect.Value(fed.Models(1, 0))(t))[0]
	d, m, v, count := len(x), make([][]float64, fed.Size()), make([][]float64, fed.Size()), 0.0
	for i := range m {
		m[i], v[i] = make([]float64, d), make([]float64, d)
	}
	for range rounds {
		mean, before := make([]float64, d), count
		for i, c := range fed.Clients {
			var in [][]float64
			var y []float64
			for _, row := range c.Train {
				in, y = append(in, precision.Double(fed.Data.Train.Row(row, nil))), append(y, float64(fed.Data.Train.Labels[row]))
			}
			w := slices.Clone(x)
			for count = before; count < before+steps; {
				count++
				_, g := o.Gradient(w, in, y)
				for j := range w {
					m[i][j] = b1*m[i][j] + (1-b1)*g[j]
					v[i][j] = b2*v[i][j] + (1-b2)*g[j]*g[j]
					w[j] -= eta * m[i][j] / (1 - math.Pow(b1, count)) / (math.Sqrt(v[i][j]/(1-math.Pow(b2, count))) + epsilon)
				}
			}
			for j := range w {
				mean[j] += w[j] * float64(len(c.Train)) / 28
			}
		}
		x = mean
	}
	for j, got := range rowsOf(t, s.State.X)[0] {
		expect.That(t, math.Abs(got-x[j]) <= 2e-5*(1+math.Abs(x[j])), "value %d: %v, want %v", j, got, x[j])
	}
}

func TestKeepMemoryIsRefused(t *testing.T) {
	fed, _ := toy(t, 3, 17, 8, 1)
	l := Local{Batch: 4, LR: 0.02, Optimizer: Adam{}}
	_, err := Run(context.Background(), fed, &alone{Local: l, keep: true}, Options{Rounds: 1})
	expect.Invalid(t, "alone: round 1: train: invalid: Job.Local.KeepMemory = true: must be set in an exported field of the strategy")(err)
	l.KeepMemory = true
	err = (&arrival{Round: &Round{Fed: fed}, a: Async{Concurrency: 1, BufferSize: 1, Job: Job{Start: Zeros(1, fed.Task.Dim()), Local: l}}}).check()
	expect.Invalid(t, "invalid: Async.Job.Local.KeepMemory = true: must be false")(err)
	r := &Round{Fed: fed, memories: &memories{Slots: Zeros(4, fed.Task.Dim())}, ctx: context.Background()}
	expect.Invalid(t, "invalid: Job.Local.Optimizer = fedkit.Adam with 2 slots: must be one with 1")(r.recall(&Job{Clients: []int{0}, Start: Zeros(1, fed.Task.Dim()), Local: l}))
}
