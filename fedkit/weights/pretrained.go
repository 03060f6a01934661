package weights

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/fault"
	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/dtypes/float16"
)

// Pretrained are weights that another program wrote, for a model to start from: a safetensors file, whose numbers are float32, float16 or
// bfloat16. The content is untrusted. A file of torch.save is refused with the line of Python that converts it.
//
//	names := strings.NewReplacer("fc1.", "dense1/", "fc2.", "dense2/", "weight", "weights", "bias", "biases")
//	body := weights.Pretrained{Path: "mlp.safetensors", Rename: names.Replace, PyTorch: true, Fresh: []string{"dense2"}}
//	fed, err := fedkit.New(data, rule, model.Freeze(body.Model(model.MLP(64)), "dense1"))
type Pretrained struct {
	Path string // of the file

	// Rename maps a name in the file to the parameter's, and one that is left out to "". Default: the same names.
	Rename func(name string) string
	// Fresh are layers that are drawn as ever, whatever the file has of them, such as the last one; named as in Task.Mask.
	Fresh []string

	// PyTorch says that axes are in PyTorch's order: those of a matrix are [out, in] in the file and [in, out] in the model, those of a
	// convolution's kernel [out, in, h, w] and [h, w, in, out]. Exceptions are in Same and Pixels.
	PyTorch bool
	// Same are layers or parameters whose axes are in one order in both: embeddings, and the convolutions of model.LeNet.
	Same []string
	// Pixels are, by parameter, the h and w of the image that a matrix gets flattened: PyTorch's order is [channels, h, w], while that
	// of model.Convolution is [h, w, channels]. For model.CNN on MNIST: {"dense1/weights": {7, 7}}.
	Pixels map[string][2]int
}

// Model returns the given model with the weights as its initial parameters; its name says their hash, so that runs with other weights
// are other runs. Errors: a file that is damaged or of another kind; a parameter without a tensor, a tensor without a parameter, or
// two for one; another shape or type; NaN or Inf.
func (w Pretrained) Model(of fedkit.Model) fedkit.Model {
	return func(d *datasets.Dataset) (*fedkit.Task, error) {
		if of == nil {
			return nil, fedkit.Invalid("weights.Pretrained: of", "nil", "a model, such as model.MLP(200)")
		}
		t, err := of(d)
		if err != nil || t == nil {
			return t, err
		}
		from := *t
		if err := w.start(&from, t); err != nil {
			return nil, fmt.Errorf("weights: %s: %w", w.Path, err)
		}
		return &from, nil
	}
}

// start makes task start at the weights.
func (w Pretrained) start(task, of *fedkit.Task) error {
	if err := checkTask(of); err != nil {
		return err
	}
	fresh, err := of.Mask(w.Fresh...)
	if err != nil {
		return fault.Within("Fresh", err)
	}
	if _, err := of.Mask(w.Same...); err != nil {
		return fault.Within("Same", err)
	}
	values, err := w.read(of)
	if err != nil {
		return err
	}
	sum, rest := sha256.New(), values
	task.Params = slices.Clone(of.Params)
	for l, p := range of.Params {
		if own := rest[:p.Size()]; !under(p, w.Fresh) {
			_ = binary.Write(sum, binary.LittleEndian, own)
			task.Params[l].Init = func(_ *rand.Rand, to []float32) { copy(to, own) }
		}
		rest = rest[p.Size():]
	}
	if of.Init != nil {
		task.Init = func(rng *rand.Rand, to []float32) error {
			err := of.Init(rng, to)
			for i, v := range values {
				if fresh[i] == 0 {
					to[i] = v
				}
			}
			return err
		}
	}
	task.Name += fmt.Sprintf(" from %s %x", filepath.Base(w.Path), sum.Sum(nil)[:4])
	return nil
}

// under reports whether a parameter is one of the layers or belongs to one, as in Task.Mask.
func under(p fedkit.Param, layers []string) bool {
	return slices.ContainsFunc(layers, func(layer string) bool { return p.Name == layer || strings.HasPrefix(p.Name, layer+"/") })
}

// read returns the parameters, [d], 0 for fresh ones.
func (w Pretrained) read(task *fedkit.Task) ([]float32, error) {
	f, err := os.Open(w.Path)
	if err != nil {
		return nil, errors.Unwrap(err) // without the path
	}
	defer f.Close()
	r, err := readFile(f)
	if err != nil {
		return nil, err
	}
	names, err := w.match(task, r.tensors)
	if err != nil {
		return nil, err
	}
	for name := range w.Pixels {
		if !slices.ContainsFunc(task.Params, func(p fedkit.Param) bool { return p.Name == name }) {
			return nil, fedkit.Invalid("Pixels", fmt.Sprintf("of %q", name), "of a parameter of the task")
		}
	}
	values := make([]float32, task.Dim())
	rest := values
	for _, p := range task.Params {
		name, found := names[p.Name]
		own := rest[:p.Size()]
		if rest = rest[p.Size():]; under(p, w.Fresh) {
			continue
		}
		if !found {
			return nil, fedkit.Invalid("parameter "+p.Name, "without a tensor", fmt.Sprintf("there under one of the names in the file, %s, by Rename, or in Fresh", slices.Sorted(maps.Keys(r.tensors))))
		}
		if err := w.fill(own, p, r.tensors[name]); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
	}
	return values, nil
}

// match returns the tensor of each parameter that has one.
func (w Pretrained) match(task *fedkit.Task, tensors map[string]tensor) (names map[string]string, err error) {
	names = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		to := name
		if w.Rename != nil {
			if to = w.Rename(name); to == "" {
				continue
			}
		}
		if !slices.ContainsFunc(task.Params, func(p fedkit.Param) bool { return p.Name == to }) {
			return nil, fedkit.Invalid(fmt.Sprintf("tensor %q", name), fmt.Sprintf("%q by Rename", to), `a parameter of the task, or "" for one that is left out`)
		}
		if other, twice := names[to]; twice {
			return nil, fedkit.Invalid(fmt.Sprintf("tensor %q", name), fmt.Sprintf("%q by Rename", to), fmt.Sprintf("another than that of %q", other))
		}
		names[to] = name
	}
	return names, nil
}

// decoders turn little-endian bytes into a number.
var decoders = map[string]func([]byte) float32{
	"F32":  func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) },
	"F16":  func(b []byte) float32 { return float16.FromBits(binary.LittleEndian.Uint16(b)).Float32() },
	"BF16": func(b []byte) float32 { return bfloat16.FromBits(binary.LittleEndian.Uint16(b)).Float32() },
}

// fill writes a tensor to a parameter, whose axes may be in another order.
func (w Pretrained) fill(to []float32, p fedkit.Param, t tensor) error {
	shape, axes := t.Shape, t.Shape // the parameter's shape, and the tensor's axes, some of them split
	order := []int{0, 1, 2, 3}[:min(4, len(axes))]
	switch hw, flat := w.Pixels[p.Name]; {
	case flat && (len(shape) != 2 || min(hw[0], hw[1]) < 1 || max(hw[0], hw[1]) > shape[1] || shape[1]%(hw[0]*hw[1]) != 0 || !w.PyTorch):
		return fedkit.Invalid("Pixels", hw, fmt.Sprintf("h and w of PyTorch's matrix [out, channels·h·w], which is %v", shape))
	case flat:
		shape, axes, order = []int{shape[1], shape[0]}, []int{shape[0], shape[1] / (hw[0] * hw[1]), hw[0], hw[1]}, []int{2, 3, 1, 0}
	case !w.PyTorch || under(p, w.Same):
	case len(shape) == 2:
		shape, order = []int{shape[1], shape[0]}, []int{1, 0}
	case len(shape) == 4:
		shape, order = []int{shape[2], shape[3], shape[1], shape[0]}, []int{2, 3, 1, 0}
	}
	decode := decoders[t.DType]
	switch {
	case !slices.Equal(shape, p.Shape):
		return fedkit.Invalid("shape", shape, fmt.Sprintf("%v, as %s has: see PyTorch, Same and Pixels for the order of axes", p.Shape, p.Name))
	case decode == nil:
		return fedkit.Invalid("dtype", t.DType, "F32, F16 or BF16")
	case len(axes) > 4: // in the same order
		axes, order = []int{len(to)}, []int{0}
	}
	strides, step := make([]int, len(axes)), int(sizes[t.DType])
	for a := range slices.Backward(axes) {
		strides[a], step = step, step*axes[a]
	}
	index, at := make([]int, len(axes)), 0
	for i := range to {
		to[i] = decode(t.data[at:])
		if v := float64(to[i]); math.IsNaN(v) || math.IsInf(v, 0) {
			return fedkit.Invalid("value", v, "finite")
		}
		for _, axis := range slices.Backward(order) { // the next
			at += strides[axis]
			if index[axis]++; index[axis] < axes[axis] {
				break
			}
			at -= index[axis] * strides[axis]
			index[axis] = 0
		}
	}
	return nil
}
