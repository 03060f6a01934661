package examples_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fedtest/oracle"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/notebooks/examples"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/janpfeifer/must"
	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
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
	n := partition.Sizes(o.fed.Clients)
	all := 0
	for _, own := range n {
		all += own
	}
	return float64(n[client]) / float64(all)
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
	return o.roll(0, steps, w, loss)
}

// roll is descend with momentum β.
func (o world) roll(β float64, steps int, w []float64, loss func(w []float64) float64) []float64 {
	v := make([]float64, len(w))
	for range steps {
		g := fd.Gradient(nil, loss, w, &fd.Settings{Formula: fd.Central})
		floats.AddScaledTo(v, g, β, v)
		w = floats.AddScaledTo(g, w, -o.rate, v)
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
	for _, c := range []struct {
		optimizer fedkit.Optimizer
		β         float64
		a         []float64 // ‖a_i‖₁: 1, 1.5, 1.75 and 1.875 are the sums of the powers of 1/2
	}{{nil, 0, []float64{1, 4, 2}}, {fedkit.Momentum{Beta: 0.5}, 0.5, []float64{1, 1 + 1.5 + 1.75 + 1.875, 1 + 1.5}}} {
		nova := &examples.FedNova{Local: fedkit.Local{Batch: fedkit.FullBatch, LR: rate, Optimizer: c.optimizer}, Epochs: epochs}
		o.check(t, fed, nova, func() *fedkit.Matrix { return nova.X }, func(x []float64, _ [][]float64) []float64 {
			tau := 0.0
			for i, a := range c.a {
				tau += o.weight(i) * a
			}
			return o.average(func(i int) []float64 {
				w := o.roll(c.β, epochs[i], x, func(w []float64) float64 { return o.loss(i, w) })
				return floats.AddScaledTo(w, x, tau/c.a[i], floats.SubTo(w, w, x))
			})
		})
	}

	ditto := &examples.Ditto{Local: l, Lambda: 0.5}
	o.check(t, fed, ditto, func() *fedkit.Matrix { return fedkit.StackRows(ditto.State.X, ditto.State.W) }, func(x []float64, own [][]float64) []float64 {
		return o.average(func(i int) []float64 {
			own[i] = o.descend(steps, own[i], func(v []float64) float64 {
				return o.loss(i, v) + 0.5/2*math.Pow(floats.Distance(v, x, 2), 2)
			})
			return o.descend(steps, x, func(w []float64) float64 { return o.loss(i, w) })
		})
	})

	envelope := &examples.PFedMe{Local: l, Rounds: 3, Lambda: 0.8, Eta: 0.5, Beta: 1.5}
	theta := func() *fedkit.Matrix { return fedkit.StackRows(envelope.State.X, envelope.State.W) }
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

	held := must.M1(fedkit.New(d, partition.Validation{Of: deal, Share: 0.3}, tiny))
	fomo, judge := &examples.FedFomo{Local: l}, *held // who trains on the validation rows
	judge.Clients = slices.Clone(held.Clients)
	for i, c := range held.Clients {
		judge.Clients[i].Train = c.Validation
	}
	trains, judges := world{held, rate}, world{&judge, rate}
	trains.check(t, held, fomo, func() *fedkit.Matrix { return fomo.State.V }, func(x []float64, own [][]float64) []float64 {
		var w [][]float64
		for i := range own {
			w = append(w, o.descend(steps, own[i], func(w []float64) float64 { return trains.loss(i, w) }))
		}
		for i, v := range slices.Clone(own) {
			p, next := make([]float64, len(w)), slices.Clone(v)
			for j := range w {
				p[j] = max(0, judges.loss(i, v)-judges.loss(i, w[j])) / floats.Distance(w[j], v, 2)
			}
			if sum := floats.Sum(p); sum > 0 {
				for j := range w {
					floats.AddScaled(next, p[j]/sum, floats.SubTo(make([]float64, len(v)), w[j], v))
				}
			}
			own[i] = next
		}
		return x
	})

	lama, late := &examples.FedLAMA{Local: l, Phi: 2}, -1 // the layer with τ = φ
	layers, rounds := [][2]int{{0, (inputs + 1) * hidden}, {(inputs + 1) * hidden, fed.Task.Dim()}}, 0
	o.check(t, fed, lama, func() *fedkit.Matrix { return lama.State.X }, func(x []float64, own [][]float64) []float64 {
		w := [][]float64{x, x, x}
		for k := range 2 {
			x = o.average(func(i int) []float64 {
				w[i] = o.descend(steps, w[i], func(w []float64) float64 { return o.loss(i, w) })
				return w[i]
			})
			var cost [2]float64 // d dim
			for l, at := range layers {
				for i := range w {
					cost[l] += o.weight(i) * math.Pow(floats.Distance(w[i][at[0]:at[1]], x[at[0]:at[1]], 2), 2)
					if w[i] = slices.Clone(w[i]); k == 1 || l != late {
						copy(w[i][at[0]:at[1]], x[at[0]:at[1]])
					}
				}
				if l == late {
					cost[l] /= 2
				}
			}
			if size := func(l int) float64 { return float64(layers[l][1] - layers[l][0]) }; k == 1 {
				first := 0
				if cost[1]/size(1) < cost[0]/size(0) {
					first = 1
				}
				one := cost[first]/(cost[0]+cost[1]) - 1 + size(first)/(size(0)+size(1)) // after both layers it is 1
				if late = -1; math.Abs(one) < 1 {
					late = first
				}
			}
		}
		rounds++
		return x
	})
	expect.That(t, late >= 0 && rounds == 2 && slices.Equal(lama.State.Slow, []string{fmt.Sprint("dense", late+1)}),
		"FedLAMA averages %v less often, want layer %d", lama.State.Slow, late)

	hier := &examples.HierFAVG{Local: l, Edges: 2, Kappa2: 2} // clients 0 and 2 have one edge, client 1 the other
	o.check(t, fed, hier, func() *fedkit.Matrix { return hier.X }, func(x []float64, _ [][]float64) []float64 {
		edges := [2][]float64{x, x}
		for range 2 {
			before := edges
			edges = [2][]float64{make([]float64, len(x)), make([]float64, len(x))}
			for i := range 3 {
				w := o.descend(steps, before[i%2], func(w []float64) float64 { return o.loss(i, w) })
				floats.AddScaled(edges[i%2], o.weight(i)/[]float64{o.weight(0) + o.weight(2), o.weight(1)}[i%2], w)
			}
		}
		return floats.AddScaledTo(make([]float64, len(x)), floats.ScaleTo(make([]float64, len(x)), o.weight(1), edges[1]), o.weight(0)+o.weight(2), edges[0])
	})

	for _, before := range []bool{false, true} {
		gossip := &examples.DPSGD{Local: l, Offsets: []int{1}, Before: before} // of three clients, a ring is complete
		o.check(t, fed, gossip, func() *fedkit.Matrix { return gossip.State.X }, func(x []float64, own [][]float64) []float64 {
			mean, was := make([]float64, len(x)), slices.Clone(own)
			for i := range own {
				own[i] = o.descend(steps, was[i], func(w []float64) float64 { return o.loss(i, w) })
				mixed := own[i]
				if before {
					mixed = was[i]
				}
				floats.AddScaled(mean, 1.0/3, mixed)
			}
			for i := range own {
				if own[i] = floats.SubTo(make([]float64, len(x)), own[i], was[i]); !before {
					own[i] = make([]float64, len(x))
				}
				floats.Add(own[i], mean)
			}
			return x
		})
	}

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

	o.checkFedEM(t, l, steps)
	o.checkCenters(t, l, steps)
	o.checkFedGroup(t, l, steps)
	o.checkFedDF(t, l, steps)

	proto := &examples.FedProto{Local: l, Lambda: 1.5} // two clients lack a class
	mean := make([][]float64, classes)
	o.check(t, fed, proto, func() *fedkit.Matrix { return proto.State.W }, func(x []float64, own [][]float64) []float64 {
		sum, count := make([][]float64, classes), make([]float64, classes)
		for i := range own {
			own[i] = o.descend(steps, own[i], func(w []float64) float64 {
				return o.loss(i, w) + 1.5/hidden*o.mean(i, func(in []float64, y int) float64 {
					z, _ := forward(w, in)
					if mean[y] == nil {
						return 0
					}
					return math.Pow(floats.Distance(z, mean[y], 2), 2)
				})
			})
			n := float64(len(o.fed.Clients[i].Train))
			o.mean(i, func(in []float64, y int) float64 {
				z, _ := forward(own[i], in)
				if sum[y] == nil {
					sum[y] = make([]float64, hidden)
				}
				floats.Add(sum[y], z)
				count[y]++
				return n
			})
		}
		for y, n := range count {
			if n > 0 {
				mean[y] = floats.ScaleTo(make([]float64, hidden), 1/n, sum[y])
			}
		}
		return x
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

// checkFedEM replays two rounds with two models.
func (o world) checkFedEM(t *testing.T, l fedkit.Local, steps int) {
	const seed = 4
	em := &examples.FedEM{Local: l, K: 2}
	first, d := must.M1(must.M1(o.fed.Models(2, seed)).Host()), o.fed.Task.Dim()
	theta := [][]float64{oracle.Double(first[:d]), oracle.Double(first[d:])}
	pi := [][]float64{{0.5, 0.5}, {0.5, 0.5}, {0.5, 0.5}}
	likelihood := func(w, in []float64, y int) float64 {
		_, logits := forward(w, in)
		return math.Exp(logSoftmax(logits, 1)[y])
	}
	for range 2 {
		before, share := slices.Clone(theta), slices.Clone(pi)
		q := func(i, k int, in []float64, y int) float64 {
			a, b := share[i][0]*likelihood(before[0], in, y), share[i][1]*likelihood(before[1], in, y)
			return []float64{a, b}[k] / (a + b)
		}
		for k := range theta {
			theta[k] = o.average(func(i int) []float64 {
				return o.descend(steps, before[k], func(w []float64) float64 {
					return o.mean(i, func(in []float64, y int) float64 { return -q(i, k, in, y) * math.Log(likelihood(w, in, y)) })
				})
			})
		}
		for i := range pi {
			first := o.mean(i, func(in []float64, y int) float64 { return q(i, 0, in, y) })
			pi[i] = []float64{first, 1 - first}
		}
	}
	run(t, o.fed, em, fedkit.Options{Rounds: 2, Seed: seed, EvalEvery: 2})
	got := slices.Concat(oracle.Double(must.M1(em.State.Theta.Host())), slices.Concat(em.State.Pi...))
	far := floats.Distance(got, slices.Concat(slices.Concat(theta...), slices.Concat(pi...)), math.Inf(1))
	expect.That(t, far <= 1e-5, "FedEM is %v away", far)
}

// pair divides three points into the two that are nearest to each other and the third.
func pair(apart func(i, j int) float64) []int {
	of := [][]int{{0, 1, 1}, {1, 0, 1}, {1, 1, 0}} // without 0, 1, 2
	return slices.MinFunc(of, func(a, b []int) int {
		far := func(of []int) float64 { i := slices.Index(of, 0); return apart((i+1)%3, (i+2)%3) }
		return cmp.Compare(far(a), far(b))
	})
}

// centers are the means of the clients' models by cluster, with weights.
func centers(was, w [][]float64, of []int, weight func(client int) float64) [][]float64 {
	next := slices.Clone(was)
	for k := range next {
		sum, n := make([]float64, len(w[0])), 0.0
		for i := range of {
			if of[i] == k {
				floats.AddScaled(sum, weight(i), w[i])
				n += weight(i)
			}
		}
		if n > 0 {
			next[k] = floats.ScaleTo(sum, 1/n, sum)
		}
	}
	return next
}

// likest is the center with the greatest cosine.
func likest(x []float64, centers [][]float64) int {
	if cosine(x, centers[1]) > cosine(x, centers[0]) {
		return 1
	}
	return 0
}

// each is what a strategy serves every client, [M, d].
func each(s fedkit.Strategy) func() *fedkit.Matrix {
	return func() *fedkit.Matrix { sv := s.Serve(nil); return sv.Models.Take(sv.Assign...) }
}

// checkCenters replays three rounds of CGPFL and LCFed, and four of HCFL, with two clusters of three clients.
func (o world) checkCenters(t *testing.T, l fedkit.Local, steps int) {
	const body = (inputs + 1) * hidden
	equal := func(int) float64 { return 1 }
	train := func(own [][]float64, mu, lambda float64, phi []float64) (w [][]float64) {
		for i := range own {
			w = append(w, o.descend(steps, own[i], func(w []float64) float64 {
				return o.loss(i, w) + mu/2*math.Pow(floats.Distance(w, own[i], 2), 2) + lambda/2*math.Pow(floats.Distance(w[:body], phi[:body], 2), 2)
			}))
		}
		return w
	}
	toward := func(w, phi []float64, share float64) []float64 {
		w = slices.Clone(w)
		for j := range body {
			w[j] += share * (phi[j] - w[j])
		}
		return w
	}

	cgpfl := &examples.CGPFL{K: 2, Mu: 0.5, Local: l}
	var omega [][]float64
	o.checkRounds(t, 3, o.fed, cgpfl, each(cgpfl), func(x []float64, own [][]float64) []float64 {
		w := train(own, 0.5, 0, x)
		of := pair(func(i, j int) float64 { return floats.Distance(w[i], w[j], 2) })
		for i := range of {
			if omega != nil {
				of[i] = likest(w[i], omega)
			}
		}
		if omega == nil {
			omega = [][]float64{x, x}
		}
		omega = centers(omega, w, of, equal)
		for i := range own {
			own[i] = omega[of[i]]
		}
		return x
	})

	lc := &examples.LCFed{K: 2, Mu: 0.5, Lambda: 0.7, Beta: 0.4, D: 2, Head: []string{"dense2"}, Local: l}
	omega = nil
	var phi []float64
	o.checkRounds(t, 3, o.fed, lc, each(lc), func(x []float64, own [][]float64) []float64 {
		if phi == nil {
			phi = x
		}
		w := train(own, 0.5, 0.7, phi)
		phi = centers([][]float64{nil}, w, []int{0, 0, 0}, equal)[0]
		of := pair(func(i, j int) float64 { return floats.Distance(w[i], w[j], 2) })
		if omega == nil {
			omega = [][]float64{x, x}
		} else {
			var axes [2][]float64 // of the plane of the three models, instead of its principal directions
			for c := range axes {
				axes[c] = floats.SubTo(make([]float64, len(x)), w[c], phi)
				if c == 1 {
					floats.AddScaled(axes[1], -floats.Dot(axes[0], axes[1]), axes[0])
				}
				floats.Scale(1/floats.Norm(axes[c], 2), axes[c])
			}
			low := func(v []float64) []float64 { return []float64{floats.Dot(v, axes[0]), floats.Dot(v, axes[1])} }
			for i := range of {
				of[i] = likest(low(w[i]), [][]float64{low(omega[0]), low(omega[1])})
			}
		}
		for i := range w {
			w[i] = toward(w[i], phi, 0.4)
		}
		omega = centers(omega, w, of, equal)
		for i := range own {
			own[i] = omega[of[i]]
		}
		return x
	})

	hcfl, round := &examples.HCFL{Warmup: 1, K: 2, Clusterer: cluster.Agglomerative{Linkage: cluster.Average}, Mu: 0.5, Lambda: 0.8, Alpha: 0.5, Power: 2, Local: l}, 0
	var of []int
	o.checkRounds(t, 4, o.fed, hcfl, each(hcfl), func(x []float64, own [][]float64) []float64 {
		round++
		switch round {
		case 1:
			x = o.average(func(i int) []float64 { return train(own, 0, 0, x)[i] })
			own[0], own[1], own[2] = x, x, x
		case 2:
			w := train(own, 0, 0, x)
			for i := range w {
				w[i] = floats.SubTo(w[i], w[i], x)[:body]
			}
			of, omega = pair(func(i, j int) float64 { return 1 - cosine(w[i], w[j]) }), [][]float64{x, x}
		default:
			w := train(own, 0.5, 0, x)
			phi := o.average(func(i int) []float64 { return w[i] })
			for i := range w {
				w[i] = toward(w[i], phi, 0.8/math.Pow(1+0.5*float64(round-3), 2))
			}
			omega = centers(omega, w, of, o.weight)
			for i := range own {
				own[i] = omega[of[i]]
			}
		}
		return x
	})
}

// checkFedGroup replays two rounds, with all clients in the first one, and with two of the three.
func (o world) checkFedGroup(t *testing.T, l fedkit.Local, steps int) {
	for _, cold := range []int{0, 2} {
		group, before := &examples.FedGroup{K: 2, Cold: cold, Local: l}, &examples.FedGroup{K: 2, Cold: cold, Local: l}
		run(t, o.fed, before, fedkit.Options{Rounds: 1, Seed: 4, EvalEvery: 1})
		first := slices.DeleteFunc([]int{0, 1, 2}, func(i int) bool { return before.State.Of[i] == cluster.None })
		of, g, w := []int{-1, -1, -1}, [][]float64(nil), [][]float64(nil)
		o.check(t, o.fed, group, each(group), func(x []float64, own [][]float64) []float64 {
			train := func(i int, from []float64) []float64 {
				return o.descend(steps, from, func(w []float64) float64 { return o.loss(i, w) })
			}
			updates, zero := make([][]float64, 3), make([]float64, len(x))
			for i := range updates {
				updates[i] = floats.SubTo(make([]float64, len(x)), train(i, x), x)
			}
			if g == nil {
				columns := mat.NewDense(len(x), len(first), nil)
				for c, i := range first {
					columns.SetCol(c, updates[i])
					of[i] = c
				}
				if len(first) == 3 {
					var svd mat.SVD
					var u mat.Dense
					svd.Factorize(columns, mat.SVDThin)
					svd.UTo(&u)
					e := func(i, c int) float64 { return cosine(updates[i], mat.Col(nil, c, &u)) }
					of = pair(func(i, j int) float64 { return math.Hypot(e(i, 0)-e(j, 0), e(i, 1)-e(j, 1)) })
				}
				g, w = centers([][]float64{zero, zero}, updates, of, o.weight), nil
				for k := range g {
					w = append(w, floats.AddTo(make([]float64, len(x)), x, g[k]))
				}
			} else {
				models := make([][]float64, 3)
				for i := range of {
					if of[i] < 0 {
						of[i] = likest(updates[i], g)
					}
					models[i] = train(i, w[of[i]])
				}
				w = centers(w, models, of, o.weight)
			}
			for i := range own {
				if of[i] >= 0 {
					own[i] = w[of[i]]
				}
			}
			return x
		})
	}
}

// checkFedDF replays two rounds in which the server has the drawn rows.
func (o world) checkFedDF(t *testing.T, l fedkit.Local, steps int) {
	o.fed = must.M1(o.fed.WithServer(fedkit.Server{Draw: 5, Seed: 3}))
	server, rule := world{o.fed.Server, 2 * o.rate}, l
	rule.LR *= 2
	df := &examples.FedDF{Local: l, Distill: rule}
	o.check(t, o.fed, df, func() *fedkit.Matrix { return df.X }, func(x []float64, _ [][]float64) []float64 {
		var w [][]float64
		mean := o.average(func(i int) []float64 {
			w = append(w, o.descend(steps, x, func(w []float64) float64 { return o.loss(i, w) }))
			return w[i]
		})
		return server.descend(steps, mean, func(x []float64) float64 {
			return server.mean(0, func(in []float64, _ int) (kl float64) {
				teacher := make([]float64, classes)
				for _, own := range w {
					_, logits := forward(own, in)
					floats.AddScaled(teacher, 1/float64(len(w)), logits)
				}
				_, student := forward(x, in)
				p, q := logSoftmax(teacher, 1), logSoftmax(student, 1)
				for c := range p {
					kl += math.Exp(p[c]) * (p[c] - q[c])
				}
				return kl
			})
		})
	})
}

// check runs two rounds and replays them: see checkRounds.
func (o world) check(t *testing.T, fed *fedkit.Federation, s fedkit.Strategy, state func() *fedkit.Matrix, next func(x []float64, own [][]float64) []float64) {
	t.Helper()
	o.checkRounds(t, 2, fed, s, state, next)
}

// checkRounds runs some rounds and replays them. state is what to compare: x if it has one row, the clients' states if it has one
// for each, otherwise both.
func (o world) checkRounds(t *testing.T, rounds int, fed *fedkit.Federation, s fedkit.Strategy, state func() *fedkit.Matrix, next func(x []float64, own [][]float64) []float64) {
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
	for range rounds {
		x = next(x, own)
	}
	run(t, fed, s, fedkit.Options{Rounds: rounds, Seed: seed, EvalEvery: rounds})
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

// host records what its strategy serves unseen clients.
type host struct {
	fedkit.Strategy
	served *fedkit.Serving `config:"-"`
}

func (h *host) Unwrap() fedkit.Strategy { return h.Strategy }

func (h *host) ServeUnseen(r *fedkit.Round) fedkit.Serving {
	*h.served = h.Strategy.(fedkit.UnseenServer).ServeUnseen(r)
	return *h.served
}

// The models served to unseen clients, in float64, with full batches.
func TestWelcome(t *testing.T) {
	const steps, rate, seed = 4, 0.3, 4
	d := must.M1(datasets.GaussianMixture{Clients: 4, Groups: 1, Rows: 8, Features: inputs, Classes: classes, Separation: 1.5}.Make())
	deal := partition.Dirichlet{Clients: 4, Alpha: 0.5, Seed: 2, MinTrain: 3}
	fed, twins := must.M1(fedkit.New(d, deal, tiny)), must.M1(fedkit.New(d, deal, examples.Twin(tiny)))
	fed, twins = must.M1(fed.HoldOut(2, 1)), must.M1(twins.HoldOut(2, 1))
	l := fedkit.Local{Steps: steps, Batch: fedkit.FullBatch, LR: rate}
	o, dim := world{fed.Unseen, rate}, fed.Task.Dim()
	head := (inputs + 1) * hidden // its offset
	first := oracle.Double(must.M1(must.M1(fed.Models(1, seed)).Host()))

	ditto, apfl := &examples.Ditto{Local: l, Lambda: 0.5}, &examples.APFL{Local: l, Alpha: 0.3}
	envelope := &examples.PFedMe{Local: l, Rounds: 1, Lambda: 0.5}
	partial, rep := &examples.Partial{Local: l, Personal: []string{"dense2"}}, &strategy.FedRep{Local: l}
	group := &examples.FedGroup{K: 2, Local: l}
	ownHead := func(i int, x []float64) []float64 {
		h := o.descend(10*steps, first[head:], func(h []float64) float64 { return o.loss(i, slices.Concat(x[:head], h)) })
		return slices.Concat(x[:head], h)
	}
	for _, c := range []struct {
		s    fedkit.Strategy
		x    func() *fedkit.Matrix
		want func(i int, x []float64) []float64
	}{
		{ditto, func() *fedkit.Matrix { return ditto.State.X }, func(i int, x []float64) []float64 {
			return o.descend(steps, x, func(v []float64) float64 { return o.loss(i, v) + 0.5/2*math.Pow(floats.Distance(v, x, 2), 2) })
		}},
		{envelope, func() *fedkit.Matrix { return envelope.State.X }, func(i int, x []float64) []float64 {
			return o.descend(steps, x, func(v []float64) float64 { return o.loss(i, v) + 0.5/2*math.Pow(floats.Distance(v, x, 2), 2) })
		}},
		{apfl, func() *fedkit.Matrix { return apfl.State.X }, func(i int, x []float64) []float64 {
			mixed := func(v, w []float64) []float64 {
				return floats.AddScaledTo(make([]float64, dim), floats.ScaleTo(make([]float64, dim), 0.3, v), 0.7, w)
			}
			v, w := x, x
			for range steps {
				v = o.descend(1, v, func(v []float64) float64 { return o.loss(i, mixed(v, w)) })
				w = o.descend(1, w, func(w []float64) float64 { return o.loss(i, w) })
			}
			return mixed(v, x)
		}},
		{group, func() *fedkit.Matrix { return group.State.Models }, func(i int, _ []float64) []float64 {
			w := o.descend(steps, first, func(w []float64) float64 { return o.loss(i, w) })
			g, models := oracle.Double(must.M1(group.State.G.Host())), oracle.Double(must.M1(group.State.Models.Host()))
			k := likest(floats.SubTo(w, w, first), [][]float64{g[:dim], g[dim:]})
			return models[k*dim : (k+1)*dim]
		}},
		{partial, func() *fedkit.Matrix { return partial.State.X }, ownHead},
		{rep, func() *fedkit.Matrix { return rep.State.X }, ownHead},
	} {
		in := fed
		if c.s == apfl {
			in = twins
		}
		s := &host{c.s, &fedkit.Serving{}}
		run(t, in, s, fedkit.Options{Rounds: 2, Seed: seed, EvalEvery: 2})
		x, served := oracle.Double(must.M1(c.x().Host())), s.served.Models.Take(s.served.Assign...)
		for i := range fed.Unseen.Size() {
			got, want := oracle.Double(must.M1(served.Take(i).Host()))[:dim], c.want(i, x[:dim])
			if !(floats.Distance(got, want, math.Inf(1)) <= 1e-4) {
				t.Errorf("%T: unseen client %d has the model %v, want %v", c.s, i, got, want)
			}
		}
	}
}
