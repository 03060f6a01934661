package examples_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/examples"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
)

// The replay's problem: 2 inputs, 3 hidden units, 3 classes.
const inputs, hidden, classes = 2, 3, 3

// tiny is an MLP with three hidden units, whose activations are its features.
func tiny(d *datasets.Dataset) (*fedkit.Task, error) {
	t, err := model.MLP(hidden)(d)
	if err != nil {
		return nil, err
	}
	t.Features = func(p []*graph.Node, x *graph.Node) *graph.Node {
		return model.ReLU(model.Dense(model.Flatten(x), p[0], p[1]))
	}
	return t, nil
}

// forward is tiny in float64: the features and logits of one example.
func forward(w, x []float64) (z, logits []float64) {
	dense := func(x []float64, out int) []float64 {
		y := append([]float64(nil), w[len(x)*out:(len(x)+1)*out]...)
		for i, v := range x {
			floats.AddScaled(y, v, w[i*out:(i+1)*out])
		}
		w = w[(len(x)+1)*out:]
		return y
	}
	z = dense(x, hidden)
	for i := range z {
		z[i] = max(z[i], 0)
	}
	return z, dense(z, classes)
}

// logSoftmax of logits/t.
func logSoftmax(logits []float64, t float64) []float64 {
	l := floats.ScaleTo(make([]float64, len(logits)), 1/t, logits)
	floats.AddConst(-floats.LogSumExp(l), l)
	return l
}

func cosine(a, b []float64) float64 {
	if n := floats.Norm(a, 2) * floats.Norm(b, 2); n > 0 {
		return floats.Dot(a, b) / n
	}
	return 0
}

// world is a federation in float64.
type world struct {
	fed  *fedkit.Federation
	rate float64 // η
}

// weight is n_i/N.
func (o world) weight(client int) float64 {
	return float64(len(o.fed.Clients[client].Train)) / float64(o.fed.Data.Train.Len())
}

// average is the weighted mean of the clients' models.
func (o world) average(model func(client int) []float64) []float64 {
	sum := make([]float64, o.fed.Task.Dim())
	for i := range o.fed.Size() {
		floats.AddScaled(sum, o.weight(i), model(i))
	}
	return sum
}

// mean is the mean over a client's examples.
func (o world) mean(client int, of func(x []float64, y int) float64) (sum float64) {
	rows := o.fed.Clients[client].Train
	for _, r := range rows {
		x := make([]float64, inputs)
		for j, v := range o.fed.Data.Train.Row(r, nil) {
			x[j] = float64(v)
		}
		sum += of(x, int(o.fed.Data.Train.Labels[r])) / float64(len(rows))
	}
	return sum
}

// loss is the cross entropy of w on a client's examples.
func (o world) loss(client int, w []float64) float64 {
	return o.mean(client, func(x []float64, y int) float64 {
		_, logits := forward(w, x)
		return -logSoftmax(logits, 1)[y]
	})
}

// descend takes steps down a loss, by central differences.
func (o world) descend(steps int, w []float64, loss func(w []float64) float64) []float64 {
	for range steps {
		g := fd.Gradient(nil, loss, w, &fd.Settings{Formula: fd.Central})
		w = floats.AddScaledTo(g, w, -o.rate, g)
	}
	return w
}

// Two rounds of a few full-batch steps, in float64. A replay returns the next global model, and replaces what the
// clients keep, own[i], which is x at first.
func TestReplay(t *testing.T) {
	expect.Long(t, "arithmetic")
	d := must.M1(datasets.GaussianMixture{Clients: 3, Groups: 1, Rows: 6, Features: inputs, Classes: classes, Separation: 1.5}.Make())
	deal := partition.Dirichlet{Clients: 3, Alpha: 0.5, Seed: 2, MinTrain: 3}
	fed, twins := must.M1(fedkit.New(d, deal, tiny)), must.M1(fedkit.New(d, deal, examples.Twin(tiny)))
	const steps, rate = 4, 0.3
	l := fedkit.Local{Steps: steps, Batch: fedkit.FullBatch, LR: rate}
	o := world{fed, rate}

	epochs := []int{1, 4, 2}
	nova := &examples.FedNova{Local: fedkit.Local{Batch: fedkit.FullBatch, LR: rate}, Epochs: epochs}
	o.check(t, fed, nova, func() *fedkit.Matrix { return nova.X }, func(x []float64, _ [][]float64) []float64 {
		tau := 0.0
		for i, e := range epochs {
			tau += o.weight(i) * float64(e)
		}
		return o.average(func(i int) []float64 {
			w := o.descend(epochs[i], x, func(w []float64) float64 { return o.loss(i, w) })
			return floats.AddScaledTo(w, x, tau/float64(epochs[i]), floats.SubTo(w, w, x))
		})
	})

	ditto := &examples.Ditto{Local: l, Lambda: 0.5}
	o.check(t, fed, ditto, func() *fedkit.Matrix { return fedkit.StackRows(ditto.State.X, ditto.State.V) }, func(x []float64, own [][]float64) []float64 {
		return o.average(func(i int) []float64 {
			own[i] = o.descend(steps, own[i], func(v []float64) float64 {
				return o.loss(i, v) + 0.5/2*math.Pow(floats.Distance(v, x, 2), 2)
			})
			return o.descend(steps, x, func(w []float64) float64 { return o.loss(i, w) })
		})
	})

	envelope := &examples.PFedMe{Local: l, Rounds: 3, Lambda: 0.8, Eta: 0.5, Beta: 1.5}
	theta := func() *fedkit.Matrix { return fedkit.StackRows(envelope.State.X, envelope.State.Theta) }
	o.check(t, fed, envelope, theta, func(x []float64, own [][]float64) []float64 {
		mean := make([]float64, len(x))
		for i := range own {
			w := x
			own[i] = x
			for range 3 {
				own[i] = o.descend(steps, own[i], func(v []float64) float64 { return o.loss(i, v) + 0.8/2*math.Pow(floats.Distance(v, w, 2), 2) })
				w = floats.AddScaledTo(make([]float64, len(x)), w, 0.5*0.8, floats.SubTo(make([]float64, len(x)), own[i], w))
			}
			floats.AddScaled(mean, 1/float64(len(own)), w)
		}
		return floats.AddScaledTo(mean, x, 1.5, floats.SubTo(mean, mean, x))
	})

	apfl := &examples.APFL{Local: l, Alpha: 0.3}
	o.check(t, twins, apfl, func() *fedkit.Matrix { return fedkit.StackRows(apfl.State.X, apfl.State.V) }, func(x []float64, own [][]float64) []float64 {
		return o.average(func(i int) []float64 {
			w := x
			for range steps {
				now := w
				own[i] = o.descend(1, own[i], func(v []float64) float64 {
					mixed := floats.ScaleTo(make([]float64, len(v)), 0.3, v)
					floats.AddScaled(mixed, 0.7, now)
					return o.loss(i, mixed)
				})
				w = o.descend(1, w, func(w []float64) float64 { return o.loss(i, w) })
			}
			return w
		})
	})

	fair := &examples.QFedAvg{Local: l, Q: 2}
	o.check(t, fed, fair, func() *fedkit.Matrix { return fair.X }, func(x []float64, _ [][]float64) []float64 {
		sum, h := make([]float64, len(x)), 0.0
		for i := range fed.Size() {
			w := o.descend(steps, x, func(w []float64) float64 { return o.loss(i, w) })
			f := o.loss(i, x)
			floats.AddScaled(sum, f*f/rate, floats.SubTo(w, w, x))
			h += 2*f*math.Pow(floats.Norm(w, 2)/rate, 2) + f*f/rate
		}
		return floats.AddScaledTo(sum, x, 1/h, sum)
	})

	partial := &examples.Partial{Local: l, Personal: []string{"dense2"}}
	o.check(t, fed, partial, func() *fedkit.Matrix { return partial.State.W }, func(x []float64, own [][]float64) []float64 {
		shared := (inputs + 1) * hidden
		return o.average(func(i int) []float64 {
			own[i] = o.descend(steps, slices.Concat(x[:shared], own[i][shared:]), func(w []float64) float64 { return o.loss(i, w) })
			return own[i]
		})
	})

	moon := &examples.MOON{Local: l, Mu: 2}
	both := func() *fedkit.Matrix { return fedkit.StackRows(moon.State.X, moon.State.Previous) }
	o.check(t, fed, moon, both, func(x []float64, own [][]float64) []float64 {
		return o.average(func(i int) []float64 {
			before := own[i]
			own[i] = o.descend(steps, x, func(w []float64) float64 {
				return o.loss(i, w) + 2*o.mean(i, func(in []float64, _ int) float64 {
					z, _ := forward(w, in)
					global, _ := forward(x, in)
					previous, _ := forward(before, in)
					return math.Log1p(math.Exp((cosine(z, previous) - cosine(z, global)) / 0.5))
				})
			})
			return own[i]
		})
	})

	lc := &examples.FedLC{Local: l, Tau: 0.7} // two clients lack a class
	o.check(t, fed, lc, func() *fedkit.Matrix { return lc.X }, func(x []float64, _ [][]float64) []float64 {
		return o.average(func(i int) []float64 {
			count := partition.Labels(d, fed.Clients)[i]
			return o.descend(steps, x, func(w []float64) float64 {
				return o.mean(i, func(in []float64, y int) float64 {
					_, logits := forward(w, in)
					for c := range logits {
						logits[c] -= 0.7 / math.Pow(max(float64(count[c]), 1e-8), 0.25)
					}
					return -logSoftmax(logits, 1)[y]
				})
			})
		})
	})

	private := &examples.DPFedAvg{Local: l, Clip: 0.5, Noise: fedkit.Zero}
	o.check(t, fed, private, func() *fedkit.Matrix { return private.X }, func(x []float64, own [][]float64) []float64 {
		next := slices.Clone(x)
		for i := range own {
			update := floats.SubTo(make([]float64, len(x)), o.descend(steps, x, func(w []float64) float64 { return o.loss(i, w) }), x)
			floats.AddScaled(next, min(1, 0.5/floats.Norm(update, 2))/float64(len(own)), update)
		}
		return next
	})

	sparse, missing := &examples.Sparse{Local: l, Keep: 0.3}, map[int][]float64{}
	o.check(t, fed, sparse, func() *fedkit.Matrix { return sparse.State.X }, func(x []float64, _ [][]float64) []float64 {
		k := int(0.3 * float64(len(x)))
		return o.average(func(i int) []float64 {
			rest := floats.SubTo(make([]float64, len(x)), o.descend(steps, x, func(w []float64) float64 { return o.loss(i, w) }), x)
			if missing[i] != nil {
				floats.Add(rest, missing[i])
			}
			w, order := slices.Clone(x), make([]int, len(x))
			for j := range order {
				order[j] = j
			}
			slices.SortFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(rest[b]), math.Abs(rest[a])) })
			for _, j := range order[:k] {
				w[j], rest[j] = w[j]+rest[j], 0
			}
			missing[i] = rest
			return w
		})
	})

	distill := &examples.Distill{Local: l, Weight: 0.8, Temperature: 2}
	o.check(t, fed, distill, func() *fedkit.Matrix { return distill.X }, func(x []float64, _ [][]float64) []float64 {
		return o.average(func(i int) []float64 {
			return o.descend(steps, x, func(w []float64) float64 {
				return o.loss(i, w) + 0.8*2*2*o.mean(i, func(in []float64, _ int) (kl float64) {
					_, teacher := forward(x, in)
					_, student := forward(w, in)
					p, q := logSoftmax(teacher, 2), logSoftmax(student, 2)
					for c := range p {
						kl += math.Exp(p[c]) * (p[c] - q[c])
					}
					return kl
				})
			})
		})
	})
}

// check runs two rounds and replays them. state is what to compare: x if it has one row, the clients' states if it has one
// for each, otherwise both.
func (o world) check(t *testing.T, fed *fedkit.Federation, s fedkit.Strategy, state func() *fedkit.Matrix, next func(x []float64, own [][]float64) []float64) {
	t.Helper()
	const seed = 4
	var x []float64
	rng := fedkit.Random(seed, "model", 0)
	for _, p := range o.fed.Task.Params {
		w := make([]float32, p.Size())
		if p.Init != nil {
			p.Init(rng, w)
		}
		for _, v := range w {
			x = append(x, float64(v))
		}
	}
	own := make([][]float64, fed.Size())
	for i := range own {
		own[i] = x
	}
	for range 2 {
		x = next(x, own)
	}
	run(t, fed, s, fedkit.Options{Rounds: 2, Seed: seed, EvalEvery: 2})
	want := append([][]float64{x}, own...)
	switch state().Rows() {
	case 1:
		want = want[:1]
	case fed.Size():
		want = own
	}
	got := must.M1(state().Host())
	for i, v := range slices.Concat(want...) {
		if !(math.Abs(float64(got[i])-v) <= 1e-5*(1+math.Abs(v))) {
			t.Errorf("%T: parameter %d is %v, want %v", s, i, got[i], v)
			return
		}
	}
}
