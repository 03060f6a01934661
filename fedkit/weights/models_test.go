package weights_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/weights"
	"fedkit.example/notebooks/examples"
)

// ramp returns a matrix whose values are all different.
func ramp(n, d int) *fedkit.Matrix {
	v := make([]float32, n*d)
	for i := range v {
		v[i] = float32(i)/7 - 3
	}
	return fedkit.NewMatrix(v, n, d)
}

func TestSafeTensors(t *testing.T) {
	task := digits(t, 2, model.MLP(5)).Task
	for _, k := range []int{1, 3} {
		path, m := filepath.Join(t.TempDir(), "new", "m.safetensors"), ramp(k, task.Dim())
		expect.OK(t, weights.SafeTensors(path, task, m))
		got, err := weights.LoadSafeTensors(path, task)
		expect.That(t, err == nil && got.Rows() == k && reflect.DeepEqual(host(t, got), host(t, m)), "%d models: %v, %v", k, got, err)
	}
}

// Every kind of Serving survives a round trip, always with the same bytes.
func TestModels(t *testing.T) {
	fed, local := digits(t, 4, model.LogisticRegression()), fedkit.Local{Batch: 16, LR: 0.1}
	for _, s := range []fedkit.Strategy{
		&strategy.FedAvg{Local: local}, &strategy.IFCA{Local: local}, &strategy.FedPRISM{Local: local}, &examples.FedEM{Local: local},
	} {
		expect.Value(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 1}))(t)
		sv := expect.Value(fedkit.Served(context.Background(), fed, s))(t)
		var files [2][]byte
		for i := range files {
			path := filepath.Join(t.TempDir(), "models.safetensors")
			expect.OK(t, weights.Models(path, fed.Task, sv))
			files[i] = expect.Value(os.ReadFile(path))(t)
			got := expect.Value(weights.LoadModels(path, fed.Task))(t)
			expect.OK(t, got.Check(fed.Size(), fed.Task.Dim()))
			for _, m := range [][2]*fedkit.Matrix{{got.Global, sv.Global}, {got.Models, sv.Models}} {
				same := (m[0] == nil) == (m[1] == nil) && (m[0] == nil || reflect.DeepEqual(host(t, m[0]), host(t, m[1])))
				expect.That(t, same, "%T: other models", s)
			}
			one, other := []any{got.Assign, got.Mix, got.Ensemble, got.Clusters}, []any{sv.Assign, sv.Mix, sv.Ensemble, sv.Clusters}
			expect.That(t, reflect.DeepEqual(one, other), "%T: %v, want %v", s, one, other)
		}
		expect.That(t, string(files[0]) == string(files[1]), "%T: the same models gave other bytes", s)
	}
}

func TestModelsRefusals(t *testing.T) {
	fed := digits(t, 2, model.LogisticRegression())
	task, d, path := fed.Task, fed.Task.Dim(), filepath.Join(t.TempDir(), "m.safetensors")
	other := digits(t, 2, model.MLP(3)).Task
	one := ramp(1, d)
	save := func(sv *fedkit.Serving) error { return weights.Models(path, task, sv) }
	load := func(write error, from *fedkit.Task) error {
		expect.OK(t, write)
		_, err := weights.LoadModels(path, from)
		return errors.Join(err, os.Remove(path))
	}
	named := func(names ...string) error {
		task := &fedkit.Task{Name: "named"}
		for _, name := range names {
			task.Params = append(task.Params, fedkit.Param{Name: name, Shape: []int{1}})
		}
		return weights.SafeTensors(path, task, ramp(1, len(names)))
	}
	for want, err := range map[string]error{
		`Task.Params[1].Name = "w": must be a name that no other parameter has`:            named("w", "w"),
		`Task.Params[0].Name = "": must be a name that no other parameter has`:             named(""),
		`Task.Params[0].Name = "__metadata__": must be a name that no other parameter has`: named("__metadata__"),
		"task = nil, or without parameters: must be the Task of a federation":              weights.SafeTensors(path, nil, one),
		"the matrix is nil":                                                 weights.SafeTensors(path, task, nil),
		"models = [1, 3]: must be [k, 650]":                                 weights.SafeTensors(path, task, ramp(1, 3)),
		"Serving = nil: must be what fedkit.Served returns":                 save(nil),
		"Serving.ByLoss = true: must be resolved into Assign":               save(&fedkit.Serving{Models: one, ByLoss: true}),
		"Serving.Gate = weights for the examples of 1 clients: must be nil": save(&fedkit.Serving{Models: one, Gate: [][][]float64{{{1}}}}),
		"Serving = empty: must be a global model or models":                 save(&fedkit.Serving{}),
		"Serving.Assign = 1: must be in [0, 1) (client 0)":                  save(&fedkit.Serving{Models: one, Assign: []int{1}}),
		"Serving.Clusters[1] = -2: must be in [0, 2³¹), or -1 for none":     save(&fedkit.Serving{Global: one, Clusters: []int{-1, -2}}),
		`tensor "global/dense1/weights": shape = [64 10]: must be [64 3]`:   load(save(&fedkit.Serving{Global: one}), other),
		`tensor = "dense1/biases": must be a parameter of the task's model`: load(weights.SafeTensors(path, other, ramp(1, other.Dim())), other),
		"no such file or directory":                                         load(nil, task),
	} {
		expect.Error(t, "weights: "+path+": ", want)(err)
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: there is a file: %v", want, err)
		}
	}
}

// The safetensors package reads fedkit's numbers, and writes a file that fedkit reads.
func TestSafeTensorsInPython(t *testing.T) {
	task := digits(t, 2, model.MLP(5)).Task
	path, back, m := filepath.Join(t.TempDir(), "m.safetensors"), filepath.Join(t.TempDir(), "back.safetensors"), ramp(3, task.Dim())
	sv := &fedkit.Serving{Global: m.Take(1), Models: m, Mix: [][]float64{{1, 0, 0}, {0.5, 0.25, 0.25}}, Clusters: []int{0, 2}}
	expect.OK(t, weights.Models(path, task, sv))
	got := python(t, `
import sys, numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
t = load_file(sys.argv[1])
print(sorted(k for k in t if k.startswith("models/2/")), t["models/2/dense1/weights"].shape, t["models/2/dense1/weights"].dtype)
names = ["dense1/weights", "dense1/biases", "dense2/weights", "dense2/biases"]
rows = [np.concatenate([t[p + n].ravel() for n in names]) for p in ["models/0/", "models/1/", "models/2/"]]
d = len(rows[0])
print(np.array_equal(np.stack(rows).ravel(), np.arange(3 * d, dtype=np.float32) / np.float32(7) - np.float32(3)))
print(np.array_equal(rows[1], np.concatenate([t["global/" + n].ravel() for n in names])))
print(t["mix"].tolist(), t["clusters"].tolist(), t["clusters"].dtype)
with safe_open(sys.argv[1], "np") as f:
    print(sorted(f.metadata().items()))
save_file({n: t["models/2/" + n] for n in reversed(names)}, sys.argv[2])
`, path, back)
	want := `['models/2/dense1/biases', 'models/2/dense1/weights', 'models/2/dense2/biases', 'models/2/dense2/weights'] (64, 5) float32
True
True
[[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]] [0, 2] int32
[('made_by', 'fedkit'), ('schema', '1'), ('task', '` + task.Name + `')]`
	expect.That(t, got == want, "%s\nwant\n%s", got, want)
	read, err := weights.LoadSafeTensors(back, task)
	expect.That(t, err == nil && reflect.DeepEqual(host(t, read), host(t, m.Take(2))), "what Python wrote: %v, %v", read, err)
}

func ExampleSafeTensors() {
	task := &fedkit.Task{Name: "line", Params: []fedkit.Param{{Name: "slope", Shape: []int{2, 1}}, {Name: "intercept", Shape: []int{1}}}}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "line.safetensors")
	if err := weights.SafeTensors(path, task, fedkit.NewMatrix([]float32{1, 2, 0.5}, 1, 3)); err != nil {
		panic(err)
	}
	m, err := weights.LoadSafeTensors(path, task)
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Host())
	// Output: [1 2 0.5] <nil>
}
