package weights_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/weights"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	mlmodel "github.com/gomlx/gomlx/ml/model"
)

// images are those of testdata/pretrained.py.
func images() *datasets.Dataset {
	d := &datasets.Dataset{Name: "images", Shape: []int{4, 5, 2}, Classes: 4}
	for i := range 3 * 4 * 5 * 2 {
		d.Train.Floats = append(d.Train.Floats, float32((i*i+7*i)%251)/255)
	}
	d.Train.Labels = []int32{0, 1, 3}
	d.Test = d.Train
	return d
}

// net is the network of testdata/pretrained.py.
func net(*datasets.Dataset) (*fedkit.Task, error) {
	t := &fedkit.Task{Name: "net", Params: append(append([]fedkit.Param{{Name: "features/weights", Shape: []int{3, 3, 2, 3}}, {Name: "features/biases", Shape: []int{3}}},
		model.BatchNorm{}.Params("norm", 3)...), fedkit.Param{Name: "head/weights", Shape: []int{60, 4}, Init: model.He(60)}, fedkit.Param{Name: "head/biases", Shape: []int{4}})}
	t.Forward = func(p []*graph.Node, x *graph.Node) *graph.Node {
		x = graph.Add(model.Convolution{Name: "features", Same: true}.Of(x, p[0]), graph.InsertAxes(p[1], 1, 1, 1))
		x = model.ReLU(model.BatchNorm{}.Of(x, p[2], p[3], p[4], p[5]))
		return model.Dense(model.Flatten(x), p[6], p[7])
	}
	return t, nil
}

// torchNames are the parameters of net for PyTorch's names of them.
func torchNames(name string) string {
	if strings.HasSuffix(name, "num_batches_tracked") {
		return ""
	}
	name = strings.NewReplacer("norm.weight", "norm/scale", "norm.bias", "norm/offset", "running_mean", "mean", "running_var", "variance").Replace(name)
	return strings.NewReplacer(".weight", "/weights", ".bias", "/biases", ".", "/").Replace(name)
}

// from is how net reads a file of testdata.
func from(file string) weights.Pretrained {
	return weights.Pretrained{Path: filepath.Join("testdata", file), PyTorch: true, Rename: torchNames, Pixels: map[string][2]int{"head/weights": {4, 5}}}
}

// Files of PyTorch in float32, float16 and bfloat16 predict what PyTorch does.
func TestPretrained(t *testing.T) {
	var want map[string]json.RawMessage
	expect.OK(t, json.Unmarshal(expect.Value(os.ReadFile("testdata/net.json"))(t), &want))
	names := map[string]bool{}
	for _, file := range []string{"net.safetensors", "half.safetensors", "brain.safetensors"} {
		fed := expect.Value(fedkit.New(images(), partition.IID{Clients: 1}, from(file).Model(net)))(t)
		names[fed.Task.Name] = true
		p := expect.Value(fed.Predict(t.Context(), expect.Value(fed.Models(1, 7))(t), datasets.TestPart, nil))(t)
		var outputs [][]float64
		expect.OK(t, json.Unmarshal(want[file], &outputs))
		for i, out := range p[0].Outputs {
			for j, v := range out {
				expect.That(t, math.Abs(float64(v)-outputs[i][j]) <= 2e-6, "%s: example %d, output %d is %v, want %v", file, i, j, v, outputs[i][j])
			}
		}
	}
	expect.That(t, len(names) == 3 && names["net from net.safetensors ccff9e95"], "names of tasks with other weights: %v", names)
}

// Fresh layers are drawn, and the others are as in the file, for a GoMLX model function too, whose names and axes are its own.
func TestPretrainedStarts(t *testing.T) {
	given := func(m fedkit.Model, seed uint64) []float32 {
		task := expect.Value(m(images()))(t)
		fed := expect.Value(fedkit.New(images(), partition.IID{Clients: 1}, func(*datasets.Dataset) (*fedkit.Task, error) { return task, nil }))(t)
		return host(t, expect.Value(fed.Models(1, seed))(t))
	}
	fresh := from("net.safetensors")
	fresh.Fresh = []string{"head/weights"}
	whole, one, other := given(from("net.safetensors").Model(net), 1), given(fresh.Model(net), 1), given(fresh.Model(net), 2)
	for i := range whole {
		head := i >= 69 && i < 309
		expect.Must(t, (one[i] == whole[i]) != head && (one[i] == other[i]) != head, "value %d is %v and %v, in the file %v", i, one[i], other[i], whole[i])
	}
	linear := model.GoMLX("linear", func(scope *mlmodel.Scope, x *graph.Node) *graph.Node {
		return layers.Dense(scope, graph.Reshape(x, x.Shape().Dim(0), -1), true, 4)
	})
	task, path := expect.Value(linear(images()))(t), filepath.Join(t.TempDir(), "linear.safetensors")
	expect.OK(t, weights.SafeTensors(path, task, ramp(1, task.Dim())))
	got, want := given(weights.Pretrained{Path: path, Fresh: []string{"dense/biases"}}.Model(linear), 1), host(t, ramp(1, task.Dim()))
	expect.That(t, fmt.Sprint(got[:160]) == fmt.Sprint(want[:160]) && got[160] == 0, "a GoMLX model starts at %v, want %v", got, want)
}

// Embeddings, and kernels [out, in, h, w], keep their axes by Same; a file of fedkit's needs no option.
func TestPretrainedAxes(t *testing.T) {
	task := func(shape ...int) fedkit.Model {
		return func(*datasets.Dataset) (*fedkit.Task, error) {
			return &fedkit.Task{Name: "task", Params: []fedkit.Param{{Name: "w", Shape: shape}}}, nil
		}
	}
	path := filepath.Join(t.TempDir(), "w.safetensors")
	for _, c := range []struct {
		shape []int
		from  weights.Pretrained
		want  string
	}{
		{[]int{2, 3}, weights.Pretrained{}, "[0 1 2 3 4 5]"},
		{[]int{2, 3}, weights.Pretrained{PyTorch: true, Same: []string{"w"}}, "[0 1 2 3 4 5]"},
		{[]int{2, 3}, weights.Pretrained{PyTorch: true}, "[0 3 1 4 2 5]"},
		{[]int{1, 3, 1, 2}, weights.Pretrained{PyTorch: true}, "[0 2 4 1 3 5]"},
		{[]int{1, 6}, weights.Pretrained{PyTorch: true, Pixels: map[string][2]int{"w": {1, 3}}}, "[0 3 1 4 2 5]"},
	} {
		values, back := []float32{0, 1, 2, 3, 4, 5}, c.shape
		file := expect.Value(task(c.shape...)(nil))(t)
		expect.OK(t, weights.SafeTensors(path, file, fedkit.NewMatrix(values, 1, 6)))
		if c.from.PyTorch && c.from.Same == nil {
			if back = []int{3, 2}; len(c.shape) == 4 {
				back = []int{1, 2, 3, 1}
			} else if c.from.Pixels != nil {
				back = []int{6, 1}
			}
		}
		c.from.Path = path
		got := make([]float32, 6)
		expect.Value(c.from.Model(task(back...))(nil))(t).Params[0].Init(nil, got)
		expect.That(t, fmt.Sprint(got) == c.want, "%v by %+v: %v, want %s", c.shape, c.from, got, c.want)
	}
}

func TestPretrainedRefusals(t *testing.T) {
	with := func(change func(*weights.Pretrained)) fedkit.Model {
		w := from("net.safetensors")
		change(&w)
		return w.Model(net)
	}
	to := func(from, to string) fedkit.Model {
		return with(func(w *weights.Pretrained) {
			w.Rename = func(name string) string {
				if name == from {
					return to
				}
				return torchNames(name)
			}
		})
	}
	broken := filepath.Join(t.TempDir(), "broken.safetensors")
	task := expect.Value(net(nil))(t)
	values := make([]float32, task.Dim())
	values[70] = float32(math.Inf(1))
	expect.OK(t, weights.SafeTensors(broken, task, fedkit.NewMatrix(values, 1, len(values))))
	for _, c := range []struct {
		want string
		m    fedkit.Model
	}{
		{"weights.Pretrained: of = nil: must be a model", weights.Pretrained{}.Model(nil)},
		{"no such file or directory", with(func(w *weights.Pretrained) { w.Path = "testdata/none.safetensors" })},
		{`Fresh.layer = "tail": must be one of features/weights`, with(func(w *weights.Pretrained) { w.Fresh = []string{"tail"} })},
		{`Same.layer = "tail": must be one of features/weights`, with(func(w *weights.Pretrained) { w.Same = []string{"tail"} })},
		{`Pixels = of "tail": must be of a parameter`, with(func(w *weights.Pretrained) { w.Pixels = map[string][2]int{"tail": {1, 1}} })},
		{`tensor "head.weight": invalid: Pixels = [7 5]: must be h and w of PyTorch's matrix [out, channels·h·w], which is [4 60]`,
			with(func(w *weights.Pretrained) { w.Pixels = map[string][2]int{"head/weights": {7, 5}} })},
		{`tensor "features.bias" = "features.bias" by Rename: must be a parameter of the task`, with(func(w *weights.Pretrained) { w.Rename = nil })},
		{`tensor "head.bias" = "features/biases" by Rename: must be another than that of "features.bias"`, to("head.bias", "features/biases")},
		{"parameter head/biases = without a tensor: must be there under one of the names in the file, [features.bias features.weight head.bias", to("head.bias", "")},
		{`tensor "features.weight": invalid: shape = [3 2 3 3]: must be [3 3 2 3], as features/weights has`, with(func(w *weights.Pretrained) { w.PyTorch, w.Pixels = false, nil })},
		{`tensor "norm.num_batches_tracked": invalid: shape = []: must be [4], as head/biases has`,
			with(func(w *weights.Pretrained) {
				w.Rename = func(name string) string {
					return map[string]string{"norm.num_batches_tracked": "head/biases", "head.bias": ""}[name] + map[bool]string{true: torchNames(name)}[name != "head.bias"]
				}
			})},
		{`tensor "head/biases" = "tail/biases" by Rename: must be a parameter of the task`, weights.Pretrained{Path: broken, Rename: func(name string) string { return strings.Replace(name, "head", "tail", 1) }}.Model(net)},
		{`tensor "head/weights": invalid: value = +Inf: must be finite`, weights.Pretrained{Path: broken}.Model(net)},
	} {
		expect.Error(t, c.want)(fedkit.New(images(), partition.IID{Clients: 1}, c.m))
	}
	count := func(*datasets.Dataset) (*fedkit.Task, error) {
		return &fedkit.Task{Name: "count", Params: []fedkit.Param{{Name: "norm.num_batches_tracked", Shape: []int{}}}}, nil
	}
	only := func(name string) string { return map[bool]string{true: name}[name == "norm.num_batches_tracked"] }
	expect.Error(t, `tensor "norm.num_batches_tracked": invalid: dtype = I64: must be F32, F16 or BF16`)(weights.Pretrained{
		Path: "testdata/net.safetensors", Rename: only}.Model(count)(nil))
}

// Files of torch.save, of today and of PyTorch before 1.6, are refused with the line that converts them, and folders by a sentence.
func TestOtherFormats(t *testing.T) {
	dir := t.TempDir()
	path, task := filepath.Join(dir, "net.pt"), expect.Value(net(nil))(t)
	refused := func(path string, want ...string) {
		t.Helper()
		want = append(want, "weights: "+path+": invalid: file = ")
		_, err := fedkit.New(images(), partition.IID{Clients: 1}, weights.Pretrained{Path: path}.Model(net))
		expect.Error(t, want...)(err)
		expect.Error(t, want...)(weights.LoadSafeTensors(path, task))
		expect.Error(t, want...)(weights.LoadModels(path, task))
	}
	for _, first := range []string{"PK\x03\x04\x00\x00\x08\x08net/data.pkl", "\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."} {
		expect.OK(t, os.WriteFile(path, []byte(first), 0o600))
		refused(path, "one of torch.save: must be a safetensors file, which this line makes of a state dict: ",
			`python -c "import torch, `, "torch.load('"+path+"', map_location='cpu', weights_only=True).items()}, '"+dir+`/net.safetensors')"`)
	}
	refused(dir, "a folder: must be a safetensors file; a checkpoint of GoMLX is loaded by GoMLX, and SafeTensors writes its values")
}

// A model starts at PyTorch's weights, and only its last layer, drawn at random, is trained.
func ExamplePretrained() {
	body := weights.Pretrained{Path: "testdata/net.safetensors", PyTorch: true, Rename: torchNames, Fresh: []string{"head"}}
	fed, err := fedkit.New(images(), partition.IID{Clients: 1}, model.Freeze(body.Model(net), "features", "norm"))
	if err != nil {
		panic(err)
	}
	m, err := fed.Models(1, 1)
	if err != nil {
		panic(err)
	}
	values, err := m.Host()
	fmt.Printf("%.4f %v, %d bytes travel\n", values[:3], err, fed.Task.Bytes())
	// Output:
	// [-0.2337 0.1637 -0.0619] <nil>, 976 bytes travel
}
