package study

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/nearest"
	"fedkit.example/fedkit/internal/source"
	"fedkit.example/fedkit/sim"
)

// Plan is a study before it runs: its runs, in order.
type Plan []*Trial

// Trial is one run of a plan.
type Trial struct {
	World                    // its federation
	Strategy fedkit.Strategy // the algorithm, with its options
	Options  fedkit.Options  // of the run; Name is the run's
	Labels   []any           // pairs of a key and a value, as Study.Add takes them; those under "part" are selected by --part
}

// Named is a plan under the name by which ./scripts/study runs it.
type Named struct {
	Name  string      // "08_fedprism"
	Plan  func() Plan // makes it
	First []string    // parts that ./scripts/study queue computes before all other studies
	Ends  bool        // its extract has only the last round of each run: for thousands of runs, of which no curve is drawn
	Live  bool        // its notebook runs it: ./scripts/study queue leaves it out unless it is named
}

// Name is the name of the trial's run.
func (t *Trial) Name() string { return cmp.Or(t.Options.Name, config.Of(t.Strategy).Name()) }

// String is the name with the labels: "FedProx, α 0.1".
func (t *Trial) String() string { return called(t.Name(), t.labels()) }

// labels returns the labels of the trial's run. Study.Run reports those that are wrong.
func (t *Trial) labels() []Label {
	all, _ := labels(t.Labels)
	return all
}

// Value is the trial's name, its seed, or the value of a label; "" if there is none.
func (t *Trial) Value(key string) string {
	for _, l := range append(t.labels(), Label{Key: "name", Value: t.Name()}, Label{Key: "seed", Value: fmt.Sprint(t.Options.Seed)}) {
		if l.Key == key {
			return l.Value
		}
	}
	return ""
}

// given leaves out what is nil.
func (p Plan) given() Plan {
	return slices.DeleteFunc(slices.Clone(p), func(t *Trial) bool { return t == nil })
}

// Where returns the trials with a name, a seed or a label: Where("name", "FedAvg"), Where("α", "0.1").
func (p Plan) Where(key, value string) Plan {
	return slices.DeleteFunc(p.given(), func(t *Trial) bool { return t.Value(key) != value })
}

// Part returns the trials of a part, which is their label "part". Case does not matter. The error for an unknown one has those there are.
func (p Plan) Part(name string) (Plan, error) {
	parts := different(p.given(), func(t *Trial) string { return t.Value("part") })
	if i := slices.IndexFunc(parts, func(part string) bool { return strings.EqualFold(part, name) }); i >= 0 {
		return p.Where("part", parts[i]), nil
	}
	if parts == nil {
		return nil, fedkit.Invalid("part", strconv.Quote(name), "left out: this study has no parts")
	}
	return nil, fedkit.Invalid("part", strconv.Quote(name), "one of "+strings.Join(nearest.Sort(name, parts), ", "))
}

// Seeds returns the trials with these seeds: "2-5", "1,3", "1-3,7".
//
// Errors: what is no seed or range of seeds; none of which there is a trial.
func (p Plan) Seeds(spec string) (some Plan, err error) {
	var ranges [][2]uint64
	for word := range strings.SplitSeq(spec, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(word), "-")
		if !isRange {
			last = first
		}
		from, wrong := strconv.ParseUint(first, 10, 64)
		to, bad := strconv.ParseUint(last, 10, 64)
		if wrong != nil || bad != nil || from > to {
			return nil, fedkit.Invalid("seeds", strconv.Quote(spec), "seeds and ranges of seeds, such as 2-5 or 1,3")
		}
		ranges = append(ranges, [2]uint64{from, to})
	}
	some = slices.DeleteFunc(p.given(), func(t *Trial) bool {
		return !slices.ContainsFunc(ranges, func(r [2]uint64) bool { return r[0] <= t.Options.Seed && t.Options.Seed <= r[1] })
	})
	if len(some) == 0 {
		there := different(p.given(), func(t *Trial) string { return fmt.Sprint(t.Options.Seed) })
		return nil, fedkit.Invalid("seeds", strconv.Quote(spec), "some of those of the study: "+first3(there, ", "))
	}
	return some, nil
}

// Worlds splits the plan into those of one federation each, in the order of their first trials.
func (p Plan) Worlds() (plans []Plan) {
	index, sums := map[string]int{}, digests{}
	for _, t := range p.given() {
		key := t.reading(sums).world()
		i, known := index[key]
		if !known {
			i, plans = len(plans), append(plans, nil)
			index[key] = i
		}
		plans[i] = append(plans[i], t)
	}
	return plans
}

// Study returns the study of the plan, whose runs are stored in a folder. Each federation is made once, and shared by its runs.
//
// Errors: missing or unsuitable data; the error names the run.
func (p Plan) Study(dir string) (*Study, error) {
	st, feds, sums := New(dir), map[string]*fedkit.Federation{}, digests{}
	for i, t := range p {
		if t == nil {
			return nil, fedkit.Invalid(fmt.Sprintf("plan[%d]", i), "nil", "a trial")
		}
		t = t.reading(sums)
		key := t.world()
		if feds[key] == nil {
			fed, err := t.Federation()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t, err)
			}
			feds[key] = fed
		}
		st.add(t.World, feds[key], t.Strategy, t.Options, t.Labels)
	}
	return st, nil
}

// world identifies the federation.
func (t *Trial) world() string { return made{From: config.Of(t.World)}.String() }

// World is everything a federation is made of. Nothing is loaded before a run needs it.
type World struct {
	Data      Data           // examples
	Partition partition.Rule // deals them to clients
	Model     Model          // to train: study.Of(model.MLP, 200)
	HoldOut   HeldOut        // hold-out clients; default none
	Devices   sim.Rule       // simulated devices of clients; default: a run without a clock
	Attack    Attackers      // malicious clients; default none

	files map[string]string // SHA-256 of the files that it names, by path: see Trial.reading
	code  string            // hash of the code of your own components; "" for fedkit's
}

// Data is a data set that is loaded or made when it is needed, such as datasets.Name("mnist") or a datasets.CSV.
type Data interface {
	Make() (*datasets.Dataset, error) // loads it, or makes it
}

// HeldOut are hold-out clients, which never take part and are only evaluated: see fedkit.Federation.HoldOut.
type HeldOut struct {
	Clients int    // how many
	Seed    uint64 // draws them
}

// Attackers are a share of the clients, drawn by a seed: see attack.Apply.
type Attackers struct {
	By    attack.Attack // what they do
	Share float64       // of the clients, in (0, 1]
	Seed  uint64        // draws them
}

// Federation loads the data and deals them to the clients.
//
// Errors: a field that is missing or wrong, by its name; data that cannot be loaded.
func (w World) Federation() (*fedkit.Federation, error) {
	for _, s := range []struct {
		field, such string
		missing     bool
	}{
		{"World.Data", `datasets.Name("digits")`, w.Data == nil}, {"World.Partition", "partition.IID{Clients: 20}", w.Partition == nil},
		{"World.Model", "study.Of(model.MLP, 64)", w.Model.of == nil},
		{"World.Attack.By", "attack.SignFlip{}", w.Attack.By == nil && (w.Attack.Share != 0 || w.Attack.Seed != 0)},
	} {
		if s.missing {
			return nil, fedkit.Invalid(s.field, "nothing", "given, such as "+s.such)
		}
	}
	build, err := w.Model.make()
	if err != nil {
		return nil, err
	}
	data, err := w.Data.Make()
	if err != nil {
		return nil, err
	}
	fed, err := fedkit.New(data, w.Partition, build)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", fedkit.ErrInvalid, err)
	}
	if w.HoldOut != (HeldOut{}) {
		if fed, err = fed.HoldOut(w.HoldOut.Clients, w.HoldOut.Seed); err != nil {
			return nil, err
		}
	}
	if w.Devices != nil {
		if fed, err = fed.WithDevices(w.Devices); err != nil {
			return nil, err
		}
	}
	if w.Attack.By == nil {
		return fed, nil
	}
	return attack.Apply(fed, w.Attack.Share, w.Attack.By, w.Attack.Seed)
}

// Model is the model of a World: a function and its arguments, so that runs are found by them. Make it with Of.
type Model struct {
	of        any
	arguments []any
}

// Of describes a model by the function that makes it and the function's arguments: numbers, texts, lists, structs, or other models. Or f
// is a fedkit.Model itself, without arguments. Nothing is called before a run needs the model.
//
//	study.Of(model.MLP, 200, 200)
//	study.Of(model.UniformInit, study.Of(model.LeNet))
//	study.Of(weights.Pretrained.Model, weights.Pretrained{Path: "start.safetensors"}, study.Of(model.LeNet))
//
// World.Federation reports a function without a name, such as a closure, and arguments that do not suit it.
func Of(f any, arguments ...any) Model { return Model{f, arguments} }

// Key is the call: "model.MLP(200, 200)".
func (m Model) Key() string {
	if m.of == nil {
		return ""
	}
	name, _ := config.Of(m.of).At("func")
	words := make([]string, len(m.arguments))
	for i, a := range m.arguments {
		words[i] = word(a)
	}
	return name + "(" + strings.Join(words, ", ") + ")"
}

// word is an argument in words.
func word(a any) string {
	switch v := reflect.ValueOf(a); {
	case v.Kind() == reflect.String:
		return strconv.Quote(v.String())
	case v.CanInt(), v.CanUint(), v.CanFloat(), v.Kind() == reflect.Bool, a == nil:
		return fmt.Sprint(a)
	}
	if m, is := a.(Model); is {
		return m.Key()
	}
	return config.Of(a).String()
}

// make calls the function.
func (m Model) make() (fedkit.Model, error) {
	name, named := config.Of(m.of).At("func")
	if !named {
		return nil, fedkit.Invalid("World.Model", fmt.Sprintf("%T", m.of), "study.Of a function with a name: runs are found by it")
	}
	if made, is := m.of.(func(*datasets.Dataset) (*fedkit.Task, error)); is && len(m.arguments) == 0 {
		return made, nil
	}
	f, arguments := reflect.ValueOf(m.of), m.arguments
	t := f.Type()
	if t.NumOut() != 1 || !t.Out(0).ConvertibleTo(reflect.TypeFor[fedkit.Model]()) {
		return nil, fedkit.Invalid("World.Model", name, "a function that returns a fedkit.Model")
	}
	if n := t.NumIn(); len(arguments) != n && (!t.IsVariadic() || len(arguments) < n-1) {
		return nil, fedkit.Invalid("World.Model", fmt.Sprintf("%s with %d arguments", name, len(arguments)), fmt.Sprintf("%d, as in %v", n, t))
	}
	in := make([]reflect.Value, len(arguments))
	for i, a := range arguments {
		to := t.In(min(i, t.NumIn()-1))
		if t.IsVariadic() && i >= t.NumIn()-1 {
			to = to.Elem()
		}
		if m, is := a.(Model); is {
			made, err := m.make()
			if err != nil {
				return nil, err
			}
			a = made
		}
		v := reflect.ValueOf(a)
		switch {
		case a == nil && !to.Comparable():
			v = reflect.Zero(to)
		case a != nil && (v.Type().AssignableTo(to) || v.CanInt() && to.Kind() == reflect.Float64 || v.Kind() == reflect.Func && v.CanConvert(to)):
			v = v.Convert(to)
		default:
			return nil, fedkit.Invalid("World.Model", fmt.Sprintf("%s with a %T as argument %d", name, arguments[i], i+1), fmt.Sprintf("a %v", to))
		}
		in[i] = v
	}
	return f.Call(in)[0].Convert(reflect.TypeFor[fedkit.Model]()).Interface().(fedkit.Model), nil
}

// digests are the first digits of files' SHA-256, by path; "" for what is no file.
type digests map[string]string

// of reads a file once.
func (d digests) of(path string) string {
	sum, known := d[path]
	if known || path == "" {
		return sum
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		if is, err := digestIn(path); err == nil {
			sum = is.SHA256[:16]
		}
	}
	d[path] = sum
	return sum
}

// ofFolder is of for a folder: the names and the content of all files below it.
func (d digests) ofFolder(path string) string {
	h, files := sha256.New(), 0
	_ = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files++
			fmt.Fprintln(h, name, d.of(name))
		}
		return nil
	})
	if files == 0 {
		return ""
	}
	return fmt.Sprintf("%.8x", h.Sum(nil))
}

// reading returns the trial with the SHA-256 of the files that its world names, such as CSV.File, of the folders of an ImageFolder, and
// of the code of your own components: their names do not say what is in them. A world without any of these stays as it is.
func (t *Trial) reading(sums digests) *Trial {
	files, parts := map[string]string{}, []any{t.World}
	for i := 0; i < len(parts); i++ { // a model adds its function and arguments
		_ = config.Walk(parts[i], func(_ string, part any) error {
			switch v := part.(type) {
			case Model:
				parts = append(append(parts, v.of), v.arguments...)
				for _, a := range v.arguments {
					if path, is := a.(string); is {
						files[path] = sums.of(path)
					}
				}
			case datasets.ImageFolder:
				for _, dir := range []string{v.Dir, v.Test} {
					files[dir] = sums.ofFolder(dir)
				}
			default:
				for _, path := range textsIn(part) {
					files[path] = sums.of(path)
				}
			}
			return nil
		})
	}
	maps.DeleteFunc(files, func(_, sum string) bool { return sum == "" })
	own := ownCode(source.Of(parts...))
	if len(files) == 0 && own == "" {
		return t
	}
	read := *t
	if read.code = own; len(files) > 0 {
		read.files = files
	}
	return &read
}

// textsIn returns the texts of a struct's fields, which may be paths.
func textsIn(part any) (texts []string) {
	v := reflect.Indirect(reflect.ValueOf(part))
	for i := 0; v.Kind() == reflect.Struct && i < v.NumField(); i++ {
		if f := v.Field(i); f.CanInterface() && f.Kind() == reflect.String {
			texts = append(texts, f.String())
		} else if f.CanInterface() {
			list, _ := f.Interface().([]string) // such as parquet.Table's Files
			texts = append(texts, list...)
		}
	}
	return texts
}

// readsFiles reports whether a world names files that were there.
func readsFiles(world *config.Config) bool {
	_, reads := world.At("files")
	return reads
}

// differsInFiles reports whether a world is the trial's but for files, which are not here.
func (t *Trial) differsInFiles(world *config.Config) bool {
	fields := config.Vary(world, config.Of(t.World))
	return len(fields) == 1 && fields[0].Path == "files"
}
