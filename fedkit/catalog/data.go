package catalog

import (
	"reflect"

	"fedkit.example/datasets"
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
	femnist      struct{}
	leastSquares struct{ datasets.LeastSquares }
	logistic     struct{ datasets.Logistic }
)

func (digits) Make() (*datasets.Dataset, error)       { return datasets.Digits(), nil }
func (mnist) Make() (*datasets.Dataset, error)        { return datasets.MNIST() }
func (fashionMNIST) Make() (*datasets.Dataset, error) { return datasets.FashionMNIST() }
func (cifar10) Make() (*datasets.Dataset, error)      { return datasets.CIFAR10() }
func (femnist) Make() (*datasets.Dataset, error)      { return datasets.FEMNIST() }

func (l leastSquares) Make() (*datasets.Dataset, error) {
	d, _, err := l.LeastSquares.Make()
	return d, err
}

func (l logistic) Make() (*datasets.Dataset, error) {
	d, _, err := l.Logistic.Make()
	return d, err
}

// functions are the names of the functions that types of this package stand for.
var functions = map[reflect.Type]string{
	reflect.TypeFor[digits]():             "datasets.Digits",
	reflect.TypeFor[mnist]():              "datasets.MNIST",
	reflect.TypeFor[fashionMNIST]():       "datasets.FashionMNIST",
	reflect.TypeFor[cifar10]():            "datasets.CIFAR10",
	reflect.TypeFor[femnist]():            "datasets.FEMNIST",
	reflect.TypeFor[leastSquares]():       "datasets.LeastSquares",
	reflect.TypeFor[logistic]():           "datasets.Logistic",
	reflect.TypeFor[linearRegression]():   "model.LinearRegression",
	reflect.TypeFor[logisticRegression](): "model.LogisticRegression",
	reflect.TypeFor[mlp]():                "model.MLP",
	reflect.TypeFor[leNet]():              "model.LeNet",
	reflect.TypeFor[cnn]():                "model.CNN",
	reflect.TypeFor[resNet8]():            "model.ResNet8",
	reflect.TypeFor[gru]():                "model.GRU",
	reflect.TypeFor[twin]():               "examples.Twin",
	reflect.TypeFor[uniformStart]():       "model.UniformStart",
}
