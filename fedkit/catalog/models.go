package catalog

import (
	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/examples"
	"fedkit.example/fedkit/model"
)

// Model is a model whose arguments are fields.
type Model interface {
	Model() fedkit.Model // built from the fields
}

type (
	linearRegression   struct{}
	logisticRegression struct{}
	leNet              struct{}
	cnn                struct{}
	resNet8            struct{}

	mlp struct {
		Hidden []int // sizes of the hidden layers; default none
	}

	gru struct {
		Vocabulary int // number of tokens; required
		Embedding  int // size of a token's embedding; required
		Units      int // size of the state; required
	}

	twin struct {
		Of Model // required
	}

	uniformStart struct {
		Of Model // required
	}
)

func (linearRegression) Model() fedkit.Model   { return model.LinearRegression() }
func (logisticRegression) Model() fedkit.Model { return model.LogisticRegression() }
func (leNet) Model() fedkit.Model              { return model.LeNet() }
func (cnn) Model() fedkit.Model                { return model.CNN() }
func (resNet8) Model() fedkit.Model            { return model.ResNet8() }
func (m mlp) Model() fedkit.Model              { return model.MLP(m.Hidden...) }
func (m gru) Model() fedkit.Model              { return model.GRU(m.Vocabulary, m.Embedding, m.Units) }

func (m twin) Model() fedkit.Model         { return around(m.Of, examples.Twin) }
func (m uniformStart) Model() fedkit.Model { return around(m.Of, model.UniformStart) }

// around returns a model that wraps another.
func around(of Model, by func(fedkit.Model) fedkit.Model) fedkit.Model {
	if of == nil {
		return func(*datasets.Dataset) (*fedkit.Task, error) {
			return nil, fedkit.Invalid("model.Of", "nil", "a model, such as MLP")
		}
	}
	return by(of.Model())
}
