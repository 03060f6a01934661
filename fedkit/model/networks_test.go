package model_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/precision"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/model"
	"github.com/gomlx/gomlx/core/graph"
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
	if testing.Short() {
		t.Skip("arithmetic")
	}
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

// What does not fit is refused when the federation is made, with the layer's name.
func TestConvolutionsThatDoNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		conv  model.Convolution
		shape []int
	}{
		"kernel":   {model.Convolution{Name: "third"}, []int{9, 3, 1, 2}},
		"Groups":   {model.Convolution{Name: "third", Groups: 2}, []int{3, 3, 1, 2}},
		"w":        {model.Convolution{Name: "third"}, []int{3, 3, 2, 2}},
		"Dilation": {model.Convolution{Name: "third", Dilation: 2, Stride: 2}, []int{3, 3, 1, 2}},
	} {
		m := func(d *datasets.Dataset) (*fedkit.Task, error) {
			return &fedkit.Task{Name: "mine", Params: []fedkit.Param{{Name: "w", Shape: c.shape}}, Forward: func(p []*graph.Node, x *graph.Node) *graph.Node {
				return graph.ReduceSum(c.conv.Of(x, p[0]), 2, 3)
			}}, nil
		}
		refused(t, datasets.Digits(), m, "convolution third: "+name)
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
		{model.EMNISTCNN(), &datasets.Dataset{Shape: []int{28, 28, 1}, Classes: 62}, 1206590},
		{model.ResNet18(), &datasets.Dataset{Shape: []int{32, 32, 3}, Classes: 100}, 11220132},
		{model.LSTM(90, 8, 256, 256), text(90), 820522},
		{model.Transformer{Vocabulary: 10004}.Model(), text(10004), 1962912},
	} {
		if got := expect.Value(c.of(c.data))(t); got.Dim() != c.want {
			t.Errorf("%s, want %d", got, c.want)
		}
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
	if testing.Short() {
		t.Skip("arithmetic")
	}
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
			if len(fed.Task.Params) != len(want.Params) || fed.Task.Name != name {
				t.Fatalf("%s has %d parameters, want %s with %d", fed.Task.Name, len(fed.Task.Params), name, len(want.Params))
			}
			var start []float32
			for l, p := range fed.Task.Params {
				inputs, offset := 10, 0.5
				if n := len(p.Shape); n > 1 {
					inputs, offset = p.Size()/p.Shape[n-1], 0
				}
				for j := range p.Size() {
					start = append(start, float32(math.Sin(0.7*float64(j*j%1009)+float64(l))/math.Sqrt(float64(inputs))+offset))
				}
				if !slices.Equal(p.Shape, want.Params[l].Shape) {
					t.Fatalf("%s has shape %v, want %v", p.Name, p.Shape, want.Params[l].Shape)
				}
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
				if got := float64(u.Results[0].Loss); !(math.Abs(got-loss) <= tol*(1+loss)) {
					t.Errorf("loss %d is %v, want %v", i, got, loss)
				}
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
					if got := float64(w[i*max(1, len(w)/7)]); !(math.Abs(got-v) <= tol) {
						t.Errorf("%s: number %d is %v, want %v", fed.Task.Params[l].Name, i*max(1, len(w)/7), got, v)
					}
				}
			}
		})
	}
}
