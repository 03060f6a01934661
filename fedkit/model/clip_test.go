package model_test

import (
	"context"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
)

// Every kind of layer has gradients of single examples: clipped to a norm that none has, they add up to the gradient of the batch.
func TestGradientsOfSingleExamples(t *testing.T) {
	expect.Long(t, "arithmetic")
	for name, c := range map[string]struct {
		data  *datasets.Dataset
		model fedkit.Model
	}{
		"convolutions and pooling": {datasets.Digits(), model.CNN()},
		"LeNet":                    {classes(6, 16, 1, 3), model.LeNet()},
		"recurrent":                {sequences(6, 5, 7), model.GRU(7, 3, 4)},
		"group normalization":      {datasets.Digits(), model.ResNet8()},
		"memory":                   {everyToken(6, 5, 7), model.LSTM(7, 3, 4, 2)},
		"attention":                {everyToken(6, 5, 7), model.Transformer{Vocabulary: 7, Width: 6, Heads: 2, Layers: 1, Hidden: 5}.Model()},
	} {
		t.Run(name, func(t *testing.T) {
			fed := federation(t, c.data, partition.Take{Of: partition.IID{Clients: 2}, Train: 3}, c.model)
			job := fedkit.Job{Clients: []int{0, 1}, Start: expect.Value(fed.Models(1, 1))(t), Local: fedkit.Local{Steps: 1, Batch: fedkit.FullBatch, LR: 0.1}}
			want := host(t, expect.Value(fed.Train(context.Background(), job, 1))(t).Models)
			job.Local.ClipExamples = 1e6
			close32(t, "parameters", host(t, expect.Value(fed.Train(context.Background(), job, 1))(t).Models), want, 1e-5)
		})
	}
}
