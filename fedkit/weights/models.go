package weights

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/datasets/room"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/file"
)

// schema is the version of the names in a file.
const schema = "1"

// SafeTensors writes models [k, d] as a safetensors file. One model has a float32 tensor for each parameter of the task, under
// its name: "dense1/weights". Of several, that of model i is "i/dense1/weights". The metadata say schema, task and that fedkit
// made it. The file is written atomically; folders are made as needed.
func SafeTensors(path string, task *fedkit.Task, models *fedkit.Matrix) error {
	return save(path, task, func(w *writer) error { return w.models(prefixes(models.Rows()), task, models) })
}

// LoadSafeTensors reads models [k, d] of a task from a safetensors file that SafeTensors or another program wrote. The content is
// untrusted. It fails if the file is damaged, or does not have exactly the task's parameters, as float32 with their shapes.
func LoadSafeTensors(path string, task *fedkit.Task) (m *fedkit.Matrix, err error) {
	err = load(path, task, func(r *reader) error {
		if m, err = r.matrix(prefixes(max(1, len(r.tensors)/len(task.Params))), task); err != nil {
			return err
		}
		return r.done()
	})
	return m, err
}

// Models writes what a strategy serves (see fedkit.Served) as a safetensors file: the global model's parameters as
// "global/dense1/weights", those of row i of Models as "models/i/dense1/weights", and, if they are set, Assign and
// Clusters as "assign" and "clusters", int32 [M], and Mix and Ensemble as "mix" and "ensemble", float64 [M, k]. ByLoss is refused,
// since a file cannot resolve it, and Gate, since its examples are not in the file.
func Models(path string, task *fedkit.Task, sv *fedkit.Serving) error {
	return save(path, task, func(w *writer) error {
		if err := checkServing(task, sv); err != nil {
			return err
		}
		return w.serving(task, sv)
	})
}

// LoadModels reads what Models wrote, and checks it as LoadSafeTensors does.
func LoadModels(path string, task *fedkit.Task) (sv *fedkit.Serving, err error) {
	err = load(path, task, func(r *reader) error { sv, err = r.serving(task); return err })
	return sv, err
}

// ReadModels is LoadModels for a file that is open.
func ReadModels(f *os.File, task *fedkit.Task) (sv *fedkit.Serving, err error) {
	err = loadOpen(f, task, func(r *reader) error { sv, err = r.serving(task); return err })
	return sv, err
}

// prefixes returns the name prefixes of each of k models.
func prefixes(k int) []string {
	if k == 1 {
		return []string{""}
	}
	return numbered("", k)
}

func numbered(prefix string, k int) (all []string) {
	for i := range k {
		all = append(all, prefix+strconv.Itoa(i)+"/")
	}
	return all
}

func checkTask(task *fedkit.Task) error {
	if task == nil || len(task.Params) == 0 {
		return fedkit.Invalid("task", "nil, or without parameters", "the Task of a federation")
	}
	seen := map[string]bool{"": true, metadata: true}
	for l, p := range task.Params {
		if seen[p.Name] {
			return fedkit.Invalid(fmt.Sprintf("Task.Params[%d].Name", l), strconv.Quote(p.Name), "a name that no other parameter has")
		}
		seen[p.Name] = true
	}
	return nil
}

func checkServing(task *fedkit.Task, sv *fedkit.Serving) error {
	if err := checkTask(task); err != nil {
		return err
	}
	if sv == nil {
		return fedkit.Invalid("Serving", "nil", "what fedkit.Served returns")
	}
	if sv.ByLoss {
		return fedkit.Invalid("Serving.ByLoss", true, "resolved into Assign, as fedkit.Served does")
	}
	if sv.Gate != nil {
		return fedkit.Invalid("Serving.Gate", fmt.Sprintf("weights for the examples of %d clients", len(sv.Gate)), "nil: a file has no examples")
	}
	for c, cluster := range sv.Clusters {
		if cluster < -1 || cluster > math.MaxInt32 {
			return fedkit.Invalid(fmt.Sprintf("Serving.Clusters[%d]", c), cluster, "in [0, 2³¹), or -1 for none")
		}
	}
	clients := max(len(sv.Assign), len(sv.Mix), len(sv.Ensemble), len(sv.Clusters)) // 0 if it has nothing for each of them
	return sv.Check(clients, task.Dim())
}

// models adds the rows of m, each under a prefix.
func (w *writer) models(prefixes []string, task *fedkit.Task, m *fedkit.Matrix) error {
	if err := m.Err(); err != nil {
		return err
	}
	if m.Cols() != task.Dim() {
		return fedkit.Invalid("models", fmt.Sprintf("[%d, %d]", m.Rows(), m.Cols()), fmt.Sprintf("[k, %d]", task.Dim()))
	}
	values, err := m.Host()
	if err != nil {
		return err
	}
	for _, prefix := range prefixes {
		for _, p := range task.Params {
			add(w, prefix+p.Name, values[:p.Size()], p.Shape...)
			values = values[p.Size():]
		}
	}
	return nil
}

// serving adds the parts of sv, those with the longest values first, so that all are aligned.
func (w *writer) serving(task *fedkit.Task, sv *fedkit.Serving) (err error) {
	for name, weights := range map[string][][]float64{"mix": sv.Mix, "ensemble": sv.Ensemble} {
		if weights != nil {
			add(w, name, slices.Concat(weights...), len(weights), sv.Models.Rows())
		}
	}
	if sv.Global != nil {
		err = w.models([]string{"global/"}, task, sv.Global)
	}
	if sv.Models != nil && err == nil {
		err = w.models(numbered("models/", sv.Models.Rows()), task, sv.Models)
	}
	w.list("assign", sv.Assign)
	w.list("clusters", sv.Clusters)
	return err
}

// list adds a list of integers, unless it is nil.
func (w *writer) list(name string, list []int) {
	if list == nil {
		return
	}
	values := make([]int32, len(list))
	for c, v := range list {
		values[c] = int32(v)
	}
	add(w, name, values, len(values))
}

// save writes a file to which by adds tensors.
func save(path string, task *fedkit.Task, by func(*writer) error) error {
	err := checkTask(task)
	if err == nil {
		w := &writer{header: map[string]any{metadata: map[string]string{"schema": schema, "task": task.Name, "made_by": "fedkit"}}}
		if err = by(w); err == nil {
			err = file.Stream(path, w.write)
		}
	}
	if err != nil {
		return fmt.Errorf("weights: %s: %w", path, err)
	}
	return nil
}

// load opens a file for by to read.
func load(path string, task *fedkit.Task, by func(*reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("weights: %s: %w", path, err)
	}
	defer f.Close()
	return loadOpen(f, task, by)
}

func loadOpen(f *os.File, task *fedkit.Task, by func(*reader) error) error {
	if f == nil {
		return fmt.Errorf("weights: %w", fedkit.Invalid("file", "nil", "an open file"))
	}
	err := checkTask(task)
	if err == nil {
		var r *reader
		if r, err = readFile(f); err == nil && r.meta["schema"] != "" && r.meta["schema"] != schema {
			err = fedkit.Invalid("schema", r.meta["schema"], schema+": a newer fedkit wrote the file")
		}
		if err == nil {
			err = by(r)
		}
	}
	if err != nil {
		return fmt.Errorf("weights: %s: %w", f.Name(), err)
	}
	return nil
}

// toSafeTensors is a line of Python that converts a state dict of PyTorch.
const toSafeTensors = `python -c "import torch, safetensors.torch as s; s.save_file({k: v.contiguous().clone() for k, v in ` +
	`torch.load('%s', map_location='cpu', weights_only=True).items()}, '%s.safetensors')"`

// readFile is read for a file that may be another program's.
func readFile(f *os.File) (*reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fedkit.Invalid("file", "a folder", "a safetensors file; a checkpoint of GoMLX is loaded by GoMLX, and SafeTensors writes its values")
	}
	if err := room.For(2 * float64(info.Size())); err != nil { // as bytes and as numbers
		return nil, fmt.Errorf("a file of %d bytes %w", info.Size(), err)
	}
	content := make([]byte, info.Size())
	if _, err := io.ReadFull(f, content); err != nil {
		return nil, err
	}
	switch string(content[:min(4, len(content))]) {
	case "PK\x03\x04", "\x80\x02\x8a\x0a": // since PyTorch 1.6, and before
		line := fmt.Sprintf(toSafeTensors, f.Name(), strings.TrimSuffix(f.Name(), filepath.Ext(f.Name())))
		return nil, fedkit.Invalid("file", "one of torch.save", "a safetensors file, which this line makes of a state dict: "+line)
	}
	return read(content)
}

// matrix takes one model per prefix.
func (r *reader) matrix(prefixes []string, task *fedkit.Task) (*fedkit.Matrix, error) {
	values, err := r.rows(prefixes, task)
	if err != nil {
		return nil, err
	}
	m := fedkit.NewMatrix(values, len(prefixes), task.Dim())
	return m, m.Err()
}

func (r *reader) rows(prefixes []string, task *fedkit.Task) (values []float32, err error) {
	for _, prefix := range prefixes {
		for _, p := range task.Params {
			v, err := take[float32](r, prefix+p.Name, p.Shape...)
			if err != nil {
				return nil, err
			}
			values = append(values, v...)
		}
	}
	return values, nil
}

// serving takes all parts of a Serving that the file has.
func (r *reader) serving(task *fedkit.Task) (sv *fedkit.Serving, err error) {
	sv = new(fedkit.Serving)
	count := map[string]int{}
	for name := range r.tensors {
		prefix, _, _ := strings.Cut(name, "/")
		count[prefix]++
	}
	if count["global"] > 0 {
		sv.Global, err = r.matrix([]string{"global/"}, task)
	}
	if n := count["models"]; n > 0 && err == nil {
		sv.Models, err = r.matrix(numbered("models/", max(1, n/len(task.Params))), task)
	}
	for name, list := range map[string]*[]int{"assign": &sv.Assign, "clusters": &sv.Clusters} {
		if t, ok := r.tensors[name]; ok && err == nil {
			var values []int32
			values, err = take[int32](r, name, len(t.data)/4)
			for _, v := range values {
				*list = append(*list, int(v))
			}
		}
	}
	for name, weights := range map[string]*[][]float64{"mix": &sv.Mix, "ensemble": &sv.Ensemble} {
		if t, ok := r.tensors[name]; ok && err == nil {
			k := max(1, sv.Models.Rows())
			var values []float64
			values, err = take[float64](r, name, len(t.data)/8/k, k)
			*weights = slices.Collect(slices.Chunk(values, k))
		}
	}
	if err != nil {
		return nil, err
	}
	return sv, cmp.Or(r.done(), checkServing(task, sv))
}
