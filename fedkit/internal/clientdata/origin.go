package clientdata

import (
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/task"
	"fedkit.example/fedkit/internal/tree"
)

// Origin is what a federation was made from, to detect later changes: a copy of the task, and hashes of the rest, through slices. They
// take a few milliseconds for MNIST, and are valid in this process only.
type Origin struct {
	data    [3]uint64 // training part, test part, the rest
	clients uint64
	task    task.Task // whose functions are those of today's task as long as it is unchanged
}

// OriginOf returns the origin of a federation that is made from data, clients and a task.
func OriginOf(d *datasets.Dataset, clients []partition.Client, t *task.Task) *Origin {
	o := &Origin{[3]uint64{tree.Sum(d.Train), tree.Sum(d.Test), tree.Sum([]any{d.Shape, d.Classes, d.Tags, d.Inputs, d.Groups})}, tree.Sum(clients), *t}
	o.task.Params, o.task.Code = slices.Clone(t.Params), slices.Clone(t.Code)
	for i, p := range t.Params {
		o.task.Params[i].Shape = slices.Clone(p.Shape)
	}
	return o
}

// Unchanged refuses data, clients and a task that are not as they were.
func (o *Origin) Unchanged(d *datasets.Dataset, clients []partition.Client, t *task.Task) error {
	is := OriginOf(d, clients, t)
	for _, part := range []struct {
		name   string
		same   bool
		remedy string
	}{
		{"Data.Train", o.data[0] == is.data[0], "WithData has a copy in its place"},
		{"Data.Test", o.data[1] == is.data[1], "WithData has a copy in its place"},
		{"Data", o.data[2] == is.data[2], "fedkit.New takes other data"},
		{"Clients", o.clients == is.clients, "partition.Given and fedkit.New take other clients, HoldOut leaves some out"},
		{"Task", tree.Sum(o.task) == tree.Sum(is.task), "fedkit.New takes a model that makes another task"},
	} {
		if !part.same {
			return fault.Invalid("Federation."+part.name, "changed", "what it was when the federation was made: "+part.remedy)
		}
	}
	return nil
}
