package weights

import (
	"fmt"
	"os"
	"path/filepath"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
	mlmodel "github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/checkpoint"
)

// GoMLX writes one model [1, d] as a GoMLX checkpoint, a folder, which must not exist yet or be empty. It holds a variable for
// each parameter of the task, in the scope of its name: for a task of model.GoMLX those of its model function, so that
//
//	store := mlmodel.NewStore()
//	_, err := checkpoint.Load(store).Dir(dir).Done()
//
// gives the same function the same values in a program without fedkit. The folder is written atomically.
func GoMLX(dir string, task *fedkit.Task, model *fedkit.Matrix) error {
	if err := writeGoMLX(dir, task, model); err != nil {
		return fmt.Errorf("weights: %s: %w", dir, err)
	}
	return nil
}

// LoadGoMLX reads one model [1, d] of a task from the last checkpoint in a folder. It fails if a parameter is missing, or is not
// float32 with its shape. Other variables, such as an optimizer's, are ignored.
func LoadGoMLX(dir string, task *fedkit.Task) (*fedkit.Matrix, error) {
	m, err := readGoMLX(dir, task)
	if err != nil {
		return nil, fmt.Errorf("weights: %s: %w", dir, err)
	}
	return m, nil
}

func writeGoMLX(dir string, task *fedkit.Task, model *fedkit.Matrix) error {
	if err := checkTask(task); err != nil {
		return err
	}
	if err := model.Err(); err != nil {
		return err
	}
	if model.Rows() != 1 || model.Cols() != task.Dim() {
		return fedkit.Invalid("model", fmt.Sprintf("[%d, %d]", model.Rows(), model.Cols()), fmt.Sprintf("[1, %d]: one model", task.Dim()))
	}
	values, err := model.Host()
	if err != nil {
		return err
	}
	dir = filepath.Clean(dir) // the folder of "a/b/" is a
	switch entries, err := os.ReadDir(dir); {
	case err != nil && !os.IsNotExist(err): // a file, say, which we must not replace
		return err
	case len(entries) > 0:
		return fedkit.Invalid("dir", fmt.Sprintf("a folder with %d entries", len(entries)), "a new or an empty one")
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir))
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	if err := saveGoMLX(temporary, task, values); err != nil {
		return err
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	if err := os.Remove(dir); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Rename(temporary, dir)
}

// saveGoMLX saves the values as variables of GoMLX.
func saveGoMLX(dir string, task *fedkit.Task, values []float32) (err error) {
	defer xla.Caught(&err)
	store := mlmodel.NewStore()
	for _, p := range task.Params {
		scope, name := mlmodel.SplitPath(mlmodel.ScopeSeparator + p.Name)
		store.Scope(scope).VariableWithValue(name, tensors.FromFlatDataAndDimensions(values[:p.Size()], p.Shape...)).SetTrainable(!p.Running)
		values = values[p.Size():]
	}
	h, err := checkpoint.Build(store).Dir(dir).Done()
	if err != nil {
		return err
	}
	return h.Save()
}

func readGoMLX(dir string, task *fedkit.Task) (m *fedkit.Matrix, err error) {
	defer xla.Caught(&err)
	if err := checkTask(task); err != nil {
		return nil, err
	}
	if _, err := os.ReadDir(dir); err != nil {
		return nil, err
	}
	h, err := checkpoint.Load(mlmodel.NewStore()).Dir(dir).Done()
	if err != nil {
		return nil, err
	}
	values := make([]float32, 0, task.Dim())
	for _, p := range task.Params {
		path := mlmodel.ScopeSeparator + p.Name
		v := h.LoadedVariables()["var:"+path]
		if v == nil {
			return nil, fedkit.Invalid("variable", "no "+path, "there")
		}
		if want := shapes.Make(dtypes.Float32, p.Shape...); !v.Shape().Equal(want) {
			return nil, fedkit.Invalid("variable "+path, v.Shape(), want.String())
		}
		if err := tensors.ConstFlatData(v, func(flat []float32) { values = append(values, flat...) }); err != nil {
			return nil, err
		}
	}
	m = fedkit.NewMatrix(values, 1, len(values))
	return m, m.Err()
}
