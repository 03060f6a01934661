package weights

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/file"
)

// schema is the version of the names in a file.
const schema = "1"

// SafeTensors writes models [k, d] as a safetensors file. One model has a float32 tensor for each parameter of the task, under
// its name: "dense1/weights". Of several, that of model i is "i/dense1/weights". The metadata say schema, task and that fedkit
// made it. The file is written atomically; folders are made as needed.
func SafeTensors(path string, task *fedkit.Task, models *fedkit.Matrix) error {
	if err := checkTask(task); err != nil {
		return fmt.Errorf("weights: %s: %w", path, err)
	}
	w := newWriter(about(task))
	err := w.models(prefixes(models.Rows()), task, models)
	return w.save(path, err)
}

// LoadSafeTensors reads models [k, d] of a task from a safetensors file that SafeTensors or another program wrote. The content is
// untrusted. It fails if the file is damaged, or does not have exactly the task's parameters, as float32 with their shapes.
func LoadSafeTensors(path string, task *fedkit.Task) (*fedkit.Matrix, error) {
	var m *fedkit.Matrix
	err := load(path, task, func(r *reader) (err error) {
		if m, err = r.matrix(prefixes(max(1, len(r.tensors)/len(task.Params))), task); err != nil {
			return err
		}
		return r.done()
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Models writes what a strategy serves (see fedkit.Served) as a safetensors file: the global model's parameters as
// "global/dense1/weights", those of row i of Models as "models/i/dense1/weights", and, if they are set, Assign and
// Clusters as "assign" and "clusters", int32 [M], and Mix as "mix", float64 [M, k]. ByLoss is refused, since a file cannot
// resolve it.
func Models(path string, task *fedkit.Task, sv *fedkit.Serving) error {
	if err := checkServing(task, sv); err != nil {
		return fmt.Errorf("weights: %s: %w", path, err)
	}
	w := newWriter(about(task))
	return w.save(path, w.serving(task, sv))
}

// LoadModels reads what Models wrote, and checks it as LoadSafeTensors does.
func LoadModels(path string, task *fedkit.Task) (*fedkit.Serving, error) {
	sv := new(fedkit.Serving)
	if err := load(path, task, func(r *reader) error { return r.serving(task, sv) }); err != nil {
		return nil, err
	}
	return sv, nil
}

// ReadModels is LoadModels for a file that is open.
func ReadModels(f *os.File, task *fedkit.Task) (*fedkit.Serving, error) {
	sv := new(fedkit.Serving)
	err := checkTask(task)
	if err == nil {
		err = take(f, func(r *reader) error { return r.serving(task, sv) })
	}
	if err != nil {
		return nil, fmt.Errorf("weights: %w", err)
	}
	return sv, nil
}

func about(task *fedkit.Task) map[string]string {
	return map[string]string{"schema": schema, "task": task.Name, "made_by": "fedkit"}
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
	for c, cluster := range sv.Clusters {
		if cluster < -1 || cluster > math.MaxInt32 {
			return fedkit.Invalid(fmt.Sprintf("Serving.Clusters[%d]", c), cluster, "in [0, 2³¹), or -1 for none")
		}
	}
	return sv.Check(clients(sv), task.Dim())
}

// clients returns M, 0 if sv has nothing per client.
func clients(sv *fedkit.Serving) int { return max(len(sv.Assign), len(sv.Mix), len(sv.Clusters)) }

// models adds the rows of m, each under a prefix.
func (w *writer) models(prefixes []string, task *fedkit.Task, m *fedkit.Matrix) error {
	if err := m.Err(); err != nil {
		return err
	}
	if m.Cols() != task.Dim() {
		return fedkit.Invalid("models", fmt.Sprintf("[%d, %d]", m.Rows(), m.Cols()), fmt.Sprintf("[k, %d]", task.Dim()))
	}
	for _, prefix := range prefixes {
		for _, p := range task.Params {
			w.add(prefix+p.Name, "F32", p.Shape...)
		}
	}
	w.data = append(w.data, func(to io.Writer) error { return writeRows(to, m) })
	return nil
}

// writeRows writes the rows one after the other, in the layout of their tensors. Only one copy of them is on the host.
func writeRows(to io.Writer, m *fedkit.Matrix) error {
	values, err := m.Host()
	if err != nil {
		return err
	}
	var b []byte
	for part := range slices.Chunk(values, 1<<16) {
		if b, err = binary.Append(b[:0], binary.LittleEndian, part); err != nil {
			return err
		}
		if _, err := to.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// numbers adds a small tensor.
func (w *writer) numbers(name, dtype string, values any, shape ...int) {
	w.add(name, dtype, shape...)
	w.data = append(w.data, func(to io.Writer) error { return binary.Write(to, binary.LittleEndian, values) })
}

// serving adds the parts of sv, those with the longest values first, so that all are aligned.
func (w *writer) serving(task *fedkit.Task, sv *fedkit.Serving) (err error) {
	if sv.Mix != nil {
		w.numbers("mix", "F64", slices.Concat(sv.Mix...), len(sv.Mix), sv.Models.Rows())
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
	w.numbers(name, "I32", values, len(values))
}

// save writes the file, unless its layout failed.
func (w *writer) save(path string, err error) error {
	if err == nil {
		err = file.Stream(path, w.write)
	}
	if err != nil {
		return fmt.Errorf("weights: %s: %w", path, err)
	}
	return nil
}

// load opens a file for by to read.
func load(path string, task *fedkit.Task, by func(*reader) error) error {
	err := checkTask(task)
	if err == nil {
		err = open(path, by)
	}
	if err != nil {
		return fmt.Errorf("weights: %s: %w", path, err)
	}
	return nil
}

func open(path string, by func(*reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return take(f, by)
}

// take reads the header of a file, and by the rest.
func take(f *os.File, by func(*reader) error) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := read(f, info.Size())
	if err != nil {
		return err
	}
	if s := r.meta["schema"]; s != "" && s != schema {
		return fedkit.Invalid("schema", s, schema+": a newer fedkit wrote the file")
	}
	return by(r)
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

// rows checks all tensors before it allocates them: then the file has as many bytes.
func (r *reader) rows(prefixes []string, task *fedkit.Task) ([]float32, error) {
	for _, prefix := range prefixes {
		for _, p := range task.Params {
			if err := r.has(prefix+p.Name, "F32", p.Shape...); err != nil {
				return nil, err
			}
		}
	}
	values := make([]float32, len(prefixes)*task.Dim())
	rest := values
	for _, prefix := range prefixes {
		for _, p := range task.Params {
			if err := r.values(prefix+p.Name, rest[:p.Size()]); err != nil {
				return nil, err
			}
			rest = rest[p.Size():]
		}
	}
	return values, nil
}

// serving takes all parts of sv that the file has.
func (r *reader) serving(task *fedkit.Task, sv *fedkit.Serving) (err error) {
	global, personal := 0, 0
	for name := range r.tensors {
		if strings.HasPrefix(name, "global/") {
			global++
		} else if strings.HasPrefix(name, "models/") {
			personal++
		}
	}
	if global > 0 {
		if sv.Global, err = r.matrix([]string{"global/"}, task); err != nil {
			return err
		}
	}
	if personal > 0 {
		k := max(1, personal/len(task.Params))
		if sv.Models, err = r.matrix(numbered("models/", k), task); err != nil {
			return err
		}
	}
	if sv.Assign, err = r.list("assign"); err != nil {
		return err
	}
	if sv.Clusters, err = r.list("clusters"); err != nil {
		return err
	}
	if sv.Mix, err = r.mix(sv.Models.Rows()); err != nil {
		return err
	}
	if err := r.done(); err != nil {
		return err
	}
	return checkServing(task, sv)
}

// list takes a list of integers, nil if it is not there.
func (r *reader) list(name string) ([]int, error) {
	t, ok := r.tensors[name]
	if !ok {
		return nil, nil
	}
	n := int((t.Offsets[1] - t.Offsets[0]) / 4)
	if err := r.has(name, "I32", n); err != nil {
		return nil, err
	}
	values, list := make([]int32, n), make([]int, n)
	err := r.values(name, values)
	for i, v := range values {
		list[i] = int(v)
	}
	return list, err
}

// mix takes the weights of k models, nil if they are not there.
func (r *reader) mix(k int) (rows [][]float64, err error) {
	t, ok := r.tensors["mix"]
	if !ok {
		return nil, nil
	}
	if k == 0 {
		return nil, fedkit.Invalid("tensor", `"mix"`, "with models")
	}
	n := int((t.Offsets[1] - t.Offsets[0]) / 8)
	if err := r.has("mix", "F64", n/k, k); err != nil {
		return nil, err
	}
	values := make([]float64, n)
	err = r.values("mix", values)
	for row := range slices.Chunk(values, k) {
		rows = append(rows, row)
	}
	return rows, err
}
