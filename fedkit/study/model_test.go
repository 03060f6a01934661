package study

import (
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
)

// A model is described by the call that makes it, and made when it is needed.
func TestModel(t *testing.T) {
	w := World{Data: datasets.Name("digits"), Partition: partition.IID{Clients: 4}}
	for want, m := range map[string]Model{
		"model.MLP(32, 16)":               Of(model.MLP, 32, 16),
		"model.MLP()":                     Of(model.MLP),
		"model.UniformInit(model.MLP(8))": Of(model.UniformInit, Of(model.MLP, 8)),
		"study.own()":                     Of(own),
	} {
		if m.Key() != want {
			t.Errorf("%s is called %s", want, m.Key())
		}
		w.Model = m
		expect.Value(w.Federation())(t)
	}
	for want, m := range map[string]Model{
		"World.Model = ":                                       {},
		"study.Of a function with a name":                      Of(func(d *datasets.Dataset) (*fedkit.Task, error) { return own(d) }),
		"model.MLP with a string as argument 1: must be a int": Of(model.MLP, "wide"),
		"model.LeNet with 1 arguments: must be 0":              Of(model.LeNet, 1),
		"World.Model = string: must be study.Of a function":    Of("model.MLP"),
	} {
		w.Model = m
		_, err := w.Federation()
		expect.Outcome(t, want)(err)
	}
}

func own(d *datasets.Dataset) (*fedkit.Task, error) { return model.MLP(4)(d) }
