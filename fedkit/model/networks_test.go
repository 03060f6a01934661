package model_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/model"
	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/diff/fd"
)

// convolved is the convolution of one client in float64, written after the formula of Convolution.Of, and the gradients of ⟨y, v⟩.
func convolved(c model.Convolution, x, w, v []float64, xd, wd, yd []int) (y, dx, dw []float64) {
	y, dx, dw = make([]float64, len(v)), make([]float64, len(x)), make([]float64, len(w))
	low := func(k int) int {
		if !c.Same {
			return 0
		}
		return (k - 1) * c.Dilation / 2
	}
	in, out := wd[2], wd[3]
	for b := range yd[0] {
		for i := range yd[1] {
			for j := range yd[2] {
				for o := range out {
					to, group := ((b*yd[1]+i)*yd[2]+j)*out+o, o/(out/c.Groups)
					for k := range wd[0] {
						for l := range wd[1] {
							r, s := i*c.Stride+k*c.Dilation-low(wd[0]), j*c.Stride+l*c.Dilation-low(wd[1])
							if r < 0 || s < 0 || r >= xd[1] || s >= xd[2] {
								continue
							}
							for ch := range in {
								at, weight := ((b*xd[1]+r)*xd[2]+s)*xd[3]+group*in+ch, ((k*wd[1]+l)*in+ch)*out+o
								y[to] += x[at] * w[weight]
								dx[at] += v[to] * w[weight]
								dw[weight] += v[to] * x[at]
							}
						}
					}
				}
			}
		}
	}
	return y, dx, dw
}

// Convolutions of two clients, and their gradients, against sums in float64: in this device's form, and in that of GPUs.
func TestConvolutionAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	t.Run(xla.Form(), convolutionsAgainstFloat64)
	defer func(form func() string) { xla.Form = form }(xla.Form)
	xla.Form = func() string { return xla.Patches }
	t.Run(xla.Patches, convolutionsAgainstFloat64)
}

func convolutionsAgainstFloat64(t *testing.T) {
	for _, c := range []struct {
		conv         model.Convolution
		k, l, in, to int
	}{
		{model.Convolution{Same: true}, 3, 3, 2, 4},
		{model.Convolution{}, 5, 3, 2, 3},
		{model.Convolution{Same: true}, 4, 2, 2, 3},
		{model.Convolution{}, 2, 4, 2, 3},
		{model.Convolution{Stride: 2, Same: true}, 3, 3, 2, 4},
		{model.Convolution{Stride: 2}, 3, 3, 2, 4},
		{model.Convolution{Stride: 2, Same: true}, 2, 4, 2, 4},
		{model.Convolution{Stride: 3}, 2, 2, 2, 4},
		{model.Convolution{Stride: 2}, 1, 1, 3, 4},
		{model.Convolution{Dilation: 2, Same: true}, 3, 3, 2, 3},
		{model.Convolution{Dilation: 2}, 2, 3, 2, 3},
		{model.Convolution{Dilation: 3, Same: true}, 2, 2, 2, 3},
		{model.Convolution{Groups: 2, Same: true}, 3, 3, 4, 6},
		{model.Convolution{Groups: 4, Stride: 2, Same: true}, 3, 3, 4, 4},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			const clients, b, h, w = 2, 2, 9, 8
			full := c.conv
			full.Stride, full.Dilation, full.Groups = max(1, c.conv.Stride), max(1, c.conv.Dilation), max(1, c.conv.Groups)
			xd, wd := []int{b, h, w, c.in}, []int{c.k, c.l, c.in / full.Groups, c.to}
			yd := []int{b, 0, 0, c.to}
			for a := range 2 {
				seen := (wd[a]-1)*full.Dilation + 1
				size := xd[1+a]
				if full.Same {
					size += seen - 1
				}
				yd[1+a] = (size-seen)/full.Stride + 1
			}
			nx, nw, ny := b*h*w*c.in, c.k*c.l*wd[2]*c.to, b*yd[1]*yd[2]*c.to
			values := random(7, clients*(nx+nw+ny))
			p := fedkit.NewProgram("convolution", func(in []*graph.Node) *graph.Node {
				all := graph.Reshape(in[0], -1)
				cut := func(from, n int, dims []int) *graph.Node {
					return graph.Reshape(graph.Slice(all, graph.AxisRange(from, from+clients*n)), append([]int{clients}, dims...)...)
				}
				x, w, v := cut(0, nx, xd), cut(clients*nx, nw, wd), cut(clients*(nx+nw), ny, yd)
				y := c.conv.Of(x, w)
				g := graph.Gradient(graph.ReduceAllSum(graph.Mul(y, v)), x, w)
				return graph.Concatenate([]*graph.Node{graph.Reshape(y, 1, -1), graph.Reshape(g[0], 1, -1), graph.Reshape(g[1], 1, -1)}, 1)
			})
			got := host(t, fedkit.NewMatrix(values, 1, len(values)).Apply(p))
			parts := make([][]float32, 3)
			for i := range clients {
				f := func(from, n int) []float64 { return precision.Double(values[from+i*n : from+(i+1)*n]) }
				y, dx, dw := convolved(full, f(0, nx), f(clients*nx, nw), f(clients*(nx+nw), ny), xd, wd, yd)
				for j, part := range [][]float64{y, dx, dw} {
					parts[j] = append(parts[j], precision.Single(part)...)
				}
			}
			close32(t, "result", got, slices.Concat(parts...), 1e-5)
		})
	}
}

// The numbers of parameters are those of the networks' sources: TensorFlow Federated's for EMNIST and Shakespeare, ResNet-18 of torchvision
// with a 3×3 convolution in front, and pfl-research's transformer.
func TestSizesOfNetworks(t *testing.T) {
	text := func(classes int) *datasets.Dataset {
		d := tokensByFormula()
		d.Classes = classes
		return d
	}
	for _, c := range []struct {
		of   fedkit.Model
		data *datasets.Dataset
		want int
	}{
		{model.LeNet(), &datasets.Dataset{Shape: []int{32, 32, 3}, Classes: 10}, 456 + 2416 + 48120 + 10164 + 850}, // as for CIFAR-10
		{model.LeNet(), &datasets.Dataset{Shape: []int{16, 16, 2}, Classes: 3}, 6*2*25 + 6 + 16*6*25 + 16 + 16*120 + 120 + 120*84 + 84 + 84*3 + 3},
		{model.EMNISTCNN(), &datasets.Dataset{Shape: []int{28, 28, 1}, Classes: 62}, 1206590},
		{model.ResNet18(), &datasets.Dataset{Shape: []int{32, 32, 3}, Classes: 100}, 11220132},
		{model.LSTM(90, 8, 256, 256), text(90), 820522},
		{model.Transformer{Vocabulary: 10004}.Model(), text(10004), 1962912},
	} {
		got := expect.Value(c.of(c.data))(t)
		expect.That(t, got.Dim() == c.want, "%s, want %d", got, c.want)
	}
}

// byFormula has the images of testdata/networks.py, tokensByFormula its tokens.
func byFormula(channels int) *datasets.Dataset {
	const examples, side, classes = 4, 12, 5
	d := &datasets.Dataset{Name: "formula", Shape: []int{side, side, channels}, Classes: classes}
	d.Train.Scale, d.Train.Shift = 1.0/128, -1
	for i := range examples * d.Features() {
		d.Train.Bytes = append(d.Train.Bytes, uint8((i*i+7*i)%251))
	}
	for i := range examples {
		d.Train.Labels = append(d.Train.Labels, int32(i%classes))
	}
	d.Test = d.Train
	return d
}

func tokensByFormula() *datasets.Dataset {
	const examples, length, tokens = 4, 6, 11
	d := &datasets.Dataset{Name: "formula", Shape: []int{length}, Classes: tokens}
	d.Train.Scale, d.Train.Width = 1, length
	token := func(i int) int { return (i*i + 3*i) % tokens }
	for i := range examples * length {
		label := token(i + 1)
		if label == 0 {
			label = -1
		}
		d.Train.Bytes, d.Train.Labels = append(d.Train.Bytes, uint8(token(i))), append(d.Train.Labels, int32(label))
	}
	d.Test = d.Train
	return d
}

// One full-batch step of the networks against PyTorch's in float64: testdata/networks.py has the program.
func TestNetworksAgainstPyTorch(t *testing.T) {
	expect.Long(t, "arithmetic")
	file := expect.Value(os.ReadFile("testdata/networks.json"))(t)
	var want map[string]struct {
		Loss, After float64
		Params      []struct {
			Shape []int
			Norm  float64
			Some  []float64
		}
	}
	expect.OK(t, json.Unmarshal(file, &want))
	for name, c := range map[string]struct {
		of   fedkit.Model
		data *datasets.Dataset
	}{
		"CNN": {model.CNN(), byFormula(1)}, "EMNIST-CNN": {model.EMNISTCNN(), byFormula(1)},
		"ResNet-8": {model.ResNet8(), byFormula(3)}, "ResNet-18": {model.ResNet18(), byFormula(3)},
		"LSTM-4-7-5":        {model.LSTM(11, 4, 7, 5), tokensByFormula()},
		"Transformer-8-2-2": {model.Transformer{Vocabulary: 11, Width: 8, Heads: 2, Layers: 2, Hidden: 12, Dropout: 0.2}.Model(), tokensByFormula()},
	} {
		t.Run(name, func(t *testing.T) {
			fed, want := oneClient(t, c.data, c.of), want[name]
			expect.Must(t, len(fed.Task.Params) == len(want.Params) && fed.Task.Name == name,
				"%s has %d parameters, want %s with %d", fed.Task.Name, len(fed.Task.Params), name, len(want.Params))
			var start []float32
			for l, p := range fed.Task.Params {
				inputs, offset := 10, 0.5
				if n := len(p.Shape); n > 1 {
					inputs, offset = p.Size()/p.Shape[n-1], 0
				}
				for j := range p.Size() {
					start = append(start, float32(math.Sin(0.7*float64(j*j%1009)+float64(l))/math.Sqrt(float64(inputs))+offset))
				}
				expect.Must(t, slices.Equal(p.Shape, want.Params[l].Shape), "%s has shape %v, want %v", p.Name, p.Shape, want.Params[l].Shape)
			}
			job := fedkit.Job{Clients: []int{0}, Start: fedkit.NewMatrix(start, 1, len(start)), Local: fedkit.Local{Steps: 1, Batch: fedkit.FullBatch, LR: 0.1}}
			first := expect.Value(fed.Train(t.Context(), job, 0))(t)
			job.Start = first.Models
			second := expect.Value(fed.Train(t.Context(), job, 0))(t)
			tol := 1e-5
			if name == "ResNet-18" { // PyTorch in float32 is up to 3e-5 from float64
				tol = 1e-4
			}
			for i, u := range []*fedkit.Updates{first, second} {
				loss := []float64{want.Loss, want.After}[i]
				expect.That(t, math.Abs(float64(u.Results[0].Loss)-loss) <= tol*(1+loss), "loss %d is %v, want %v", i, float64(u.Results[0].Loss), loss)
			}
			to := host(t, first.Models)
			for l, p := range want.Params {
				w, norm := to[:fed.Task.Params[l].Size()], 0.0
				to = to[len(w):]
				for _, v := range w {
					norm += float64(v) * float64(v)
				}
				if norm = math.Sqrt(norm); !(math.Abs(norm-p.Norm) <= tol*(1+p.Norm)) {
					t.Errorf("%s: norm %v, want %v", fed.Task.Params[l].Name, norm, p.Norm)
				}
				for i, v := range p.Some {
					got := float64(w[i*max(1, len(w)/7)])
					expect.That(t, math.Abs(got-v) <= tol, "%s: number %d is %v, want %v", fed.Task.Params[l].Name, i*max(1, len(w)/7), got, v)
				}
			}
		})
	}
}

// sequences is a data set of n sequences of T tokens, and of the token that follows.
func sequences(n, T, vocabulary int) *datasets.Dataset {
	d := &datasets.Dataset{Name: "sequences", Shape: []int{T}, Classes: vocabulary}
	for p, s := range []*datasets.Split{&d.Train, &d.Test} {
		s.Scale = 1
		for i := range n {
			for t := range T {
				s.Bytes = append(s.Bytes, uint8((i*i+t*(i+p+1))%vocabulary))
			}
			s.Labels = append(s.Labels, int32((i+p)%vocabulary))
		}
	}
	return d
}

// gruLoss is the mean cross entropy of a GRU in float64, written after the formulas of its doc comment.
func gruLoss(w []float64, d *datasets.Dataset, vocabulary, embedding, units int) (loss float64) {
	take := func(n int) (part []float64) {
		part, w = w[:n], w[n:]
		return part
	}
	E, W, b := take(vocabulary*embedding), take(embedding*3*units), take(3*units)
	U, V, c := take(units*3*units), take(units*vocabulary), take(vocabulary)
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	for i := range d.Train.Len() {
		h := make([]float64, units)
		labels, _ := d.Train.Truth([]int{i})
		used, own := 0.0, 0.0
		for t, token := range d.Train.Row(i, nil) {
			a, u := append([]float64(nil), b...), make([]float64, 3*units)
			for j := range a {
				for k := range embedding {
					a[j] += E[int(token)*embedding+k] * W[k*3*units+j]
				}
				for k := range units {
					u[j] += h[k] * U[k*3*units+j]
				}
			}
			for j := range h {
				r, z := sigmoid(a[j]+u[j]), sigmoid(a[units+j]+u[units+j])
				h[j] = z*h[j] + (1-z)*math.Tanh(a[2*units+j]+r*u[2*units+j])
			}
			label := t - d.Features() + len(labels) // of one label, after the last token
			if label < 0 || labels[label] < 0 {
				continue
			}
			out, sum := append([]float64(nil), c...), 0.0
			for j := range out {
				for k := range units {
					out[j] += h[k] * V[k*vocabulary+j]
				}
				sum += math.Exp(out[j])
			}
			used, own = used+1, own+math.Log(sum)-out[labels[label]]
		}
		loss += own / max(1, used) / float64(d.Train.Len())
	}
	return loss
}

// One full-batch step of a GRU against its loss in float64 and the central differences of that.
func TestGRUAgainstFloat64(t *testing.T) {
	expect.Long(t, "arithmetic")
	for _, d := range []*datasets.Dataset{sequences(7, 5, 4), everyToken(7, 5, 4)} {
		before, after, solve := step(t, oneClient(t, d, model.GRU(4, 2, 3)))
		loss := func(w []float64) float64 { return gruLoss(w, d, 4, 2, 3) }
		if got, want := float64(solve.Loss), loss(before); math.Abs(got-want) > 1e-6 {
			t.Errorf("loss %v, want %v", got, want)
		}
		for j, slope := range fd.Gradient(nil, loss, before, &fd.Settings{Formula: fd.Central, Step: 1e-5}) {
			want := before[j] - 0.3*slope
			expect.Must(t, math.Abs(after[j]-want) <= 1e-6*(1+math.Abs(want)), "parameter %d is %v, want %v", j, after[j], want)
		}
	}
}

// everyToken is sequences with the token that follows every one, where it is not 0.
func everyToken(n, T, vocabulary int) *datasets.Dataset {
	d := sequences(n, T, vocabulary)
	for _, s := range []*datasets.Split{&d.Train, &d.Test} {
		var labels []int32
		for i, last := range s.Labels {
			for _, token := range s.Bytes[i*T+1 : (i+1)*T] {
				labels = append(labels, int32(token))
			}
			labels = append(labels, last)
		}
		for i, l := range labels {
			if l == 0 {
				labels[i] = -1
			}
		}
		s.Labels, s.Width = labels, T
	}
	return d
}

// Clients that share a program train as they do alone, and models evaluated side by side give the same as alone.
func TestSequenceModelsKeepClientsApart(t *testing.T) {
	expect.Long(t, "arithmetic")
	small := model.Transformer{Vocabulary: 4, Width: 6, Heads: 2, Layers: 1, Hidden: 5, Dropout: 0.3}.Model()
	for _, c := range []struct {
		d *datasets.Dataset
		m fedkit.Model
	}{{sequences(24, 3, 4), model.GRU(4, 2, 3)}, {everyToken(24, 3, 4), model.LSTM(4, 2, 3, 2)}, {sequences(24, 3, 4), small}, {everyToken(24, 3, 4), small}} {
		run(t, federation(t, c.d, partition.IID{Clients: 3}, c.m), training{func(r *fedkit.Round) {
			job := fedkit.Job{Clients: r.AllClients(), Start: r.Models(1), Local: fedkit.Local{Batch: 4, LR: 0.5}, ReuseBatches: 1}
			together := r.Train(job).Models
			losses := r.Losses(together, datasets.TrainPart, r.AllClients())
			job.Clients = []int{1}
			alone := r.Train(job).Models
			close32(t, "model", host(t, together.Take(1)), host(t, alone), 1e-6)
			for k, loss := range r.Losses(alone, datasets.TrainPart, r.AllClients())[0] {
				expect.That(t, math.Abs(loss-losses[1][k]) <= 1e-6, "client %d: loss %v side by side, %v alone", k, losses[1][k], loss)
			}
		}}, fedkit.Options{Rounds: 1})
	}
}

// An output depends on the tokens up to its position, not on later ones, and a label of −1 on nothing at all.
func TestTransformerDoesNotLookAhead(t *testing.T) {
	const T, vocabulary = 5, 4
	d := everyToken(6, T, vocabulary)
	fed := oneClient(t, d, model.Transformer{Vocabulary: vocabulary, Width: 6, Heads: 3, Layers: 2, Hidden: 5}.Model())
	x := expect.Value(fed.Models(1, 1))(t)
	outputs := func(fed *fedkit.Federation) []float32 { // of the first example
		return slices.Concat(expect.Value(fed.Predict(t.Context(), x, datasets.TestPart, []int{0}))(t)[0].Outputs[:T]...)
	}
	before := outputs(fed)
	for at := range T {
		other := everyToken(6, T, vocabulary)
		other.Test.Bytes[at] = (other.Test.Bytes[at] + 1) % vocabulary
		after := outputs(oneClient(t, other, model.Transformer{Vocabulary: vocabulary, Width: 6, Heads: 3, Layers: 2, Hidden: 5}.Model()))
		close32(t, "outputs before the change", after[:at*vocabulary], before[:at*vocabulary], 1e-6)
		for p := at; p < T; p++ {
			o := p * vocabulary
			expect.That(t, math.Abs(float64(after[o]-before[o])) >= 1e-6, "token %d does not matter to the output at %d", at, p)
		}
	}
}
