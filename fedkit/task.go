package fedkit

import (
	"fedkit.example/datasets"
	"fedkit.example/fedkit/internal/task"
	"github.com/gomlx/gomlx/core/graph"
)

// Model makes the task for a data set, since a model's first and last layers depend on the data. Package model has ready ones.
type Model func(d *datasets.Dataset) (*Task, error)

// Task is a model with its loss and accuracy, as GoMLX graph functions. All of them work on several clients at once: parameters, inputs
// and labels have a leading client axis C, and values of different clients must not be mixed. Fields and methods: go doc internal/task.Task
type Task = task.Task

// Param is one tensor of a model: a layer's weights or biases, or a running value. Fields: go doc internal/task.Param
type Param = task.Param

// Training is a local step as a model in training mode sees it: see TrainingOf. Methods: go doc internal/task.Training
type Training = task.Training

// TrainingOf returns the local step that Forward computes the outputs of x for; nil in evaluation. In a GoMLX model
// function, C is 1 and x lacks it:
//
//	mean := p[2] // a running average, [C, channels]
//	if t := fedkit.TrainingOf(x); t != nil {
//		m := … // over the rows of x that t.Used counts
//		t.Set(p[2], graph.Add(graph.MulScalar(mean, 0.9), graph.MulScalar(m, 0.1)))
//		mean = m
//	}
//
// model.BatchNorm and model.Dropout are layers made so.
func TrainingOf(x *graph.Node) *Training { return task.TrainingOf(x) }

// NameLayer names the output x of a layer, [C, B, …], and returns it: for use in Task.Forward or a GoMLX model function. Round.Features
// and Batch.Layer find it by this name, with its axes permuted if x has others in front. It adds nothing to the model. Of two layers
// with one name, the later one is found.
//
//	x = fedkit.NameLayer("hidden", activation.Relu(layers.Dense(scope.In("hidden"), x, true, 64)))
func NameLayer(name string, x *graph.Node, axes ...int) *graph.Node {
	return task.NameLayer(name, x, axes...)
}
