package strategy

import (
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
)

// FedAC's decision is all dense layers after convolutions, and otherwise the last layer, which is also the head of other strategies.
func TestDecisionsOfModels(t *testing.T) {
	d := &datasets.Dataset{Shape: []int{32, 32, 3}, Classes: 10}
	for _, c := range []struct {
		model fedkit.Model
		dense []string
		last  string
	}{
		{model.LeNet(), []string{"dense1", "dense2", "dense3"}, "dense3"},
		{model.CNN(), []string{"dense1", "dense2"}, "dense2"},
		{model.ResNet8(), []string{"dense"}, "dense"},
		{model.MLP(50), []string{"dense2"}, "dense2"},
		{model.LogisticRegression(), []string{"dense1"}, "dense1"},
	} {
		task := expect.Value(c.model(d))(t)
		if got := denseLayers(task, nil); !slices.Equal(got, c.dense) {
			t.Errorf("%s: the decision is %q, want %q", task.Name, got, c.dense)
		}
		if got := headLayers(task, nil); !slices.Equal(got, []string{c.last}) {
			t.Errorf("%s: the head is %q, want %q", task.Name, got, c.last)
		}
		first := []string{task.Params[0].Name}
		if got := denseLayers(task, first); !slices.Equal(got, first) {
			t.Errorf("%s: the decision is %q, want the one named", task.Name, got)
		}
	}
	all := expect.Value(model.LeNet()(d))(t)
	convolutions := &fedkit.Task{Params: all.Params[:4]}
	if got := denseLayers(convolutions, nil); !slices.Equal(got, []string{"conv2"}) {
		t.Errorf("only convolutions: the decision is %q, want the last layer", got)
	}
}
