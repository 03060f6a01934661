package weights_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	mlmodel "github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/checkpoint"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/weights"
)

func twoLayers(scope *mlmodel.Scope, x *Node) *Node {
	x = Reshape(x, x.Shape().Dimensions[0], -1)
	x = activation.Relu(layers.Dense(scope.In("features"), x, true, 12))
	return layers.Dense(scope.In("classifier"), x, true, 10)
}

// A program with GoMLX and the model function, but without fedkit, makes the federation's predictions.
func TestGoMLX(t *testing.T) {
	fed := digits(t, 3, model.GoMLX("two layers", twoLayers))
	s := &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1}}
	expect.Value(fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 1}))(t)
	dir := filepath.Join(t.TempDir(), "new", "checkpoint")
	expect.OK(t, weights.GoMLX(dir, fed.Task, s.State.X))
	rows := []int{0, 3, 4, 100}
	want := expect.Value(fed.Predict(context.Background(), s.State.X, datasets.TestPart, rows))(t)
	for i, got := range predict(t, dir, fed, rows) {
		for j := range got {
			if d := got[j] - want[0].Outputs[i][j]; d > 1e-5 || d < -1e-5 {
				t.Errorf("example %d: %v, want %v", rows[i], got, want[0].Outputs[i])
				break
			}
		}
	}
	back, err := weights.LoadGoMLX(dir, fed.Task)
	if err != nil || !reflect.DeepEqual(host(t, back), host(t, s.State.X)) {
		t.Errorf("%v, %v", back, err)
	}
}

// predict loads a checkpoint and returns the outputs for rows of the test part, with GoMLX alone.
func predict(t *testing.T, dir string, fed *fedkit.Federation, rows []int) [][]float32 {
	t.Helper()
	backend := expect.Value(xla.Backend())(t)
	store := mlmodel.NewStore()
	expect.Value(checkpoint.Load(store).Dir(dir).Done())(t)
	var x []float32
	for _, row := range rows {
		x = append(x, fed.Data.Test.Row(row, make([]float32, fed.Data.Features()))...)
	}
	exec, err := mlmodel.NewExec(backend, store, func(scope *mlmodel.Scope, x *Node) *Node { return twoLayers(scope, x) })
	expect.OK(t, err)
	out := expect.Value(exec.Exec(tensors.FromFlatDataAndDimensions(x, append([]int{len(rows)}, fed.Data.Shape...)...)))(t)
	return out[0].Value().([][]float32)
}

func TestGoMLXRefusals(t *testing.T) {
	fed := digits(t, 2, model.GoMLX("two layers", twoLayers))
	other := digits(t, 2, model.GoMLX("one layer", func(scope *mlmodel.Scope, x *Node) *Node {
		return layers.Dense(scope.In("features"), Reshape(ConvertDType(x, dtypes.F32), x.Shape().Dimensions[0], -1), true, 10)
	}))
	one, full := ramp(1, fed.Task.Dim()), filepath.Join(t.TempDir(), "full")
	expect.OK(t, weights.GoMLX(full, fed.Task, one))
	load := func(dir string, task *fedkit.Task) error {
		_, err := weights.LoadGoMLX(dir, task)
		return err
	}
	odd := &fedkit.Task{Name: "odd", Params: []fedkit.Param{{Name: "twice", Shape: []int{455}}, {Name: "twice", Shape: []int{455}}}}
	empty, file := t.TempDir(), filepath.Join(t.TempDir(), "notes")
	expect.OK(t, os.WriteFile(file, []byte("mine"), 0o600))
	if err := weights.GoMLX(filepath.Join(t.TempDir(), "slash")+"/", fed.Task, one); err != nil {
		t.Error(err)
	}
	for want, err := range map[string]error{
		"task = nil":                        weights.GoMLX(full, nil, one),
		"model = [2, 910]: must be [1, 910": weights.GoMLX(full, fed.Task, ramp(2, fed.Task.Dim())),
		"dir = a folder with 2 entries: must be a new or an empty one": weights.GoMLX(full, fed.Task, one),
		"notes: not a directory":        weights.GoMLX(file, fed.Task, one),
		`Task.Params[1].Name = "twice"`: weights.GoMLX(filepath.Join(empty, "odd"), odd, one),
		"no such file or directory":     load(filepath.Join(full, "not there"), fed.Task),
		"no checkpoints found":          load(empty, fed.Task),
		"variable /features/dense/weights = (Float32)[64, 12]: must be (Float32)[64, 10]": load(full, other.Task),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), "weights: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if mine, err := os.ReadFile(file); string(mine) != "mine" {
		t.Errorf("a file that stood there is lost: %v", err)
	}
	if _, err := os.Stat(filepath.Join(empty, "odd")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a checkpoint that failed left a folder: %v", err)
	}
}
