package study

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/attack"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/metric"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/weights"
	"github.com/janpfeifer/must"
)

// findable has six runs on the small digits: FedAvg, and FedProx with two μ, each with two seeds.
func findable(clients int, average fedkit.Local) (p Plan) {
	w := World{Data: datasets.Name("digits"), Partition: partition.IID{Clients: clients}, Model: Of(model.MLP, 4)}
	local := fedkit.Local{Batch: 16, LR: 0.1}
	for _, t := range []Trial{
		{World: w, Strategy: &strategy.FedAvg{Local: average}, Labels: []any{"part", "Even"}},
		{World: w, Strategy: &strategy.FedProx{Mu: 0.1, Local: local}, Options: fedkit.Options{Name: "near"}, Labels: []any{"part", "near", "μ", 0.1}},
		{World: w, Strategy: &strategy.FedProx{Mu: 1, Local: local}, Options: fedkit.Options{Name: "near"}, Labels: []any{"part", "near", "μ", 1}},
	} {
		for seed := range uint64(2) {
			one := t
			one.Options.Rounds, one.Options.Seed = 1, seed+1
			p = append(p, &one)
		}
	}
	return p
}

// compute runs a plan in a folder.
func compute(t *testing.T, p Plan, store string) Runs {
	t.Helper()
	st := must.M1(p.Study(store))
	st.Log = t.Output()
	runs := must.M1(st.Run(context.Background()))
	if failed := runs.Failed(); len(failed) > 0 {
		t.Fatal(failed[0].Error)
	}
	return runs
}

// Find returns runs of the folder, then those of the extract. A different run of the same name is missing.
func TestFind(t *testing.T) {
	dir, local := t.TempDir(), fedkit.Local{Batch: 16, LR: 0.1}
	store, extract := filepath.Join(dir, "runs"), filepath.Join(dir, "some.runs")
	p := findable(4, local)
	if _, err := p.Find(store, extract); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "none of 6 runs is in") {
		t.Fatal(err)
	}
	runs := compute(t, p, store)
	must.M(runs[:4].Extract(extract))
	check := func(p Plan, stored, found, missing int, says ...string) {
		t.Helper()
		f := must.M1(p.Find(store, extract))
		if f.Stored != stored || len(f.Runs) != found || len(f.Missing) != missing {
			t.Errorf("%d stored, %d found, %d missing; want %d, %d, %d\n%s", f.Stored, len(f.Runs), len(f.Missing), stored, found, missing, f)
		}
		for _, text := range says {
			if !strings.Contains(f.String(), text) {
				t.Errorf("%s\nwant %s", f, text)
			}
		}
	}
	check(p, 6, 6, 0, "runs from the folder "+store+": 6")
	// Runs of an older form of the study, with the same names.
	compute(t, findable(4, fedkit.Local{Batch: 16, LR: 0.3})[:2], store)
	check(p, 6, 6, 0)
	must.M(append(runs[:1:1], runs[4:]...).Remove())
	check(p, 3, 4, 2, "runs from the folder "+store+": 3", "runs from the extract "+extract+", of 20", "missing: 2: near, part near, μ 1, seed 1; near, part near, μ 1, seed 2 (about ")
	// Other options of a strategy, and another partition.
	check(findable(4, fedkit.Local{Batch: 16, LR: 0.2}), 2, 2, 4, "of these, there with other options: 2: Local.LR: 0.2, was 0.3")
	if _, err := findable(5, local).Find(store, extract); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	// A damaged extract, and other code.
	must.M(os.WriteFile(extract, []byte("nothing"), 0o600))
	entry := runs[2].Path("entry.json")
	b := must.M1(os.ReadFile(entry))
	other := strings.Replace(string(b), `"code": "fedkit `, `"code": "fedkit old`, 1)
	must.M(os.WriteFile(entry, []byte(other), 0o600))
	check(p, 2, 2, 4, "damaged: study: "+extract, "damaged: study: "+entry+": altered")
	other = other[:strings.LastIndex(other, sealed)]
	must.M(os.WriteFile(entry, fmt.Appendf(nil, "%s%s%x\"\n}\n", other, sealed, sha256.Sum256([]byte(other))), 0o600))
	check(p, 3, 3, 3, "computed by other code: 1: fedkit old")
}

// A run is found by everything in the plan, and by nothing else: whatever is changed, no old run is shown.
func TestFindComparesEverything(t *testing.T) {
	plan := func(change func(*Trial)) (p Plan) {
		for seed := range uint64(2) {
			one := &Trial{
				World: World{Data: datasets.Synthetic{Clients: 6, Features: 4, Classes: 3, Seed: 1}, Partition: partition.Natural{}, Model: Of(model.MLP, 4),
					HoldOut: HeldOut{1, 1}, Devices: sim.Devices{PerExample: sim.Constant(0.1)}, Attack: Attackers{attack.SignFlip{}, 0.4, 1}},
				Strategy: &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1}}, Options: fedkit.Options{Rounds: 2, EvalEvery: 2, Seed: seed},
			}
			change(one)
			p = append(p, one)
		}
		return p
	}
	of := func(t *Trial) *strategy.FedAvg { return t.Strategy.(*strategy.FedAvg) }
	dir := t.TempDir()
	store := filepath.Join(dir, "runs")
	compute(t, plan(func(*Trial) {}), store)
	if f, err := plan(func(*Trial) {}).Find(store, "none"); err != nil || len(f.Runs) != 2 || f.String() != "runs from the folder "+store+": 2" {
		t.Fatal(f, err)
	}
	for want, change := range map[string]func(*Trial){
		"Local.Batch: 8, was 16":                       func(t *Trial) { of(t).Local.Batch = 8 },
		"Aggregator: aggregate.Median{}, was not set":  func(t *Trial) { of(t).Aggregator = aggregate.Median{} },
		"Data.Features: 5, was 4":                      func(t *Trial) { t.Data = datasets.Synthetic{Clients: 6, Features: 5, Classes: 3, Seed: 1} },
		"Partition: partition.IID{Clients: 6}, was pa": func(t *Trial) { t.Partition = partition.IID{Clients: 6} },
		"Model: model.MLP(5), was model.MLP(4)":        func(t *Trial) { t.Model = Of(model.MLP, 5) },
		"Model: model.UniformInit(model.MLP(4)), was ": func(t *Trial) { t.Model = Of(model.UniformInit, Of(model.MLP, 4)) },
		"HoldOut.Clients: 2, was 1":                    func(t *Trial) { t.HoldOut.Clients = 2 },
		"HoldOut.Seed: 2, was 1":                       func(t *Trial) { t.HoldOut.Seed = 2 },
		"Devices.PerExample: sim.Constant(0.2), was s": func(t *Trial) { t.Devices = sim.Devices{PerExample: sim.Constant(0.2)} },
		"Attack.By: attack.LabelFlip{}, was attack.Si": func(t *Trial) { t.Attack.By = attack.LabelFlip{} },
		"Attack.By.Scale: 2, was not set":              func(t *Trial) { t.Attack.By = attack.SignFlip{Scale: 2} },
		"Attack.Share: 0.6, was 0.4":                   func(t *Trial) { t.Attack.Share = 0.6 },
		"Attack.Seed: 2, was 1":                        func(t *Trial) { t.Attack.Seed = 2 },
		"Attack: not set, was ":                        func(t *Trial) { t.Attack = Attackers{} },
		"Options.Rounds: 3, was 2":                     func(t *Trial) { t.Options.Rounds = 3 },
		"Options.EvalEvery: 1, was 2":                  func(t *Trial) { t.Options.EvalEvery = 1 },
		"Options.NotFinite: ":                          func(t *Trial) { t.Options.NotFinite = fedkit.Skip },
		"Options.Metrics: ":                            func(t *Trial) { t.Options.Metrics = []fedkit.Metric{metric.MacroF1{}} },
		"Options.ChooseOnTest: true, was not set":      func(t *Trial) { t.Options.ChooseOnTest = true },
		"Options.Pace: {Deadline: 9}, was not set":     func(t *Trial) { t.Options.Pace.Deadline = 9 },
		"Options.Keep: {Scores: 2}, was not set":       func(t *Trial) { t.Options.Keep.Scores = 2 }, // its history lacks what another keeps
	} {
		f, err := plan(change).Find(store, "none")
		if err == nil || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "of these, there with other options: 2: "+want) {
			t.Errorf("found %v, %v; want %s", f, err, want)
		}
	}
	// Options that do not change results, names and labels. One run may have several.
	for name, same := range map[string]func(*Trial){
		"Concurrency": func(t *Trial) { t.Options.Concurrency = 1 }, "CheckpointEvery": func(t *Trial) { t.Options.CheckpointEvery = 1 },
		"Name": func(t *Trial) { t.Options.Name = "mine" }, "Labels": func(t *Trial) { t.Labels = []any{"speed", "slow"} },
	} {
		if f, err := plan(same).Find(store, "none"); err != nil || len(f.Runs) != 2 || name == "Labels" && len(f.Runs.Where("speed", "slow")) != 2 {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	again := append(plan(func(t *Trial) { t.Options.Name = "one" }), plan(func(t *Trial) { t.Options.Name, t.Labels = "two", []any{"speed", "slow"} })...)
	f, err := again.Find(store, "none")
	if err != nil || len(f.Runs) != 4 || f.Runs[0].Key != f.Runs[2].Key {
		t.Fatal(f, err)
	}
	extract := filepath.Join(dir, "some.runs")
	must.M(f.Runs.Extract(extract))
	if f, err := again.Find("none", extract); err != nil || f.Stored != 0 || len(f.Runs.Where("name", "two", "speed", "slow")) != 2 {
		t.Error(f, err)
	}
	// Code of your own: a selector's, which the configuration names.
	own := plan(func(t *Trial) { of(t).Selector = fedkit.SelectorFunc(everyone) })
	runs := compute(t, own, store)
	if f, err := own.Find(store, "none"); err != nil || len(f.Runs) != 2 {
		t.Error(f, err)
	}
	extract = filepath.Join(dir, "own.runs")
	_, code, _ := strings.Cut(runs[0].About.Code, "; ")
	for _, r := range runs {
		r.About.Code = strings.Replace(r.About.Code, code, "own 0123456789ab", 1)
	}
	must.M(runs.Extract(extract))
	if f, err := own.Find("none", extract); code == "" || err == nil || !strings.HasSuffix(err.Error(), "of these, there with other options: 2: code of your own") {
		t.Error(code, f, err)
	}
}

// everyone is a selector of your own.
func everyone(r *fedkit.Round, n int) []int { return r.AllClients()[:n] }

// short is a run of one round, with two seeds, in a world.
func short(w World) (p Plan) {
	w.Partition = partition.IID{Clients: 2}
	for seed := range uint64(2) {
		p = append(p, &Trial{World: w, Strategy: &strategy.FedAvg{}, Options: fedkit.Options{Rounds: 1, Seed: seed + 8}})
	}
	return p
}

// A run that read a file of the same name with other content is not taken; one that read any is, and said so, where there is none.
func TestFindComparesFiles(t *testing.T) {
	dir := t.TempDir()
	store, table, trace := filepath.Join(dir, "runs"), filepath.Join(dir, "table.csv"), filepath.Join(dir, "trace.csv")
	write := func(path, text string) { must.M(os.WriteFile(path, []byte(text), 0o600)) }
	rows := "x,y\n" + strings.Repeat("1,a\n2,b\n", 20)
	p := short(World{Data: datasets.CSV{File: table}, Model: Of(model.MLP, 4), Devices: sim.Trace{File: trace}})
	for path, other := range map[string]string{table: rows + "1,a\n", trace: "per_example\n0.1\n0.3\n"} {
		write(table, rows)
		write(trace, "per_example\n0.1\n0.2\n")
		missesAfter(t, p, store, path, func() { write(path, other) })
	}
	must.M(errors.Join(os.Remove(table), os.Remove(trace)))
	if f, err := p.Find(store, "none"); err != nil || len(f.Runs) != 2 || !strings.Contains(f.String(), "taken without the files that they read, which are not here and may have other content: 2") {
		t.Error(f, err)
	}
}

// So are the images below a folder.
func TestFindComparesFolders(t *testing.T) {
	dir := t.TempDir()
	pets := filepath.Join(dir, "pets")
	draw := func(path string, shade uint8) {
		m := image.NewGray(image.Rect(0, 0, 4, 4))
		m.Pix[5] = shade
		must.M(os.MkdirAll(filepath.Dir(path), 0o700))
		f := must.M1(os.Create(path))
		must.M(errors.Join(png.Encode(f, m), f.Close()))
	}
	for i := range 20 {
		draw(filepath.Join(pets, []string{"cat", "dog"}[i%2], fmt.Sprintf("%d.png", i)), uint8(10*i))
	}
	p := short(World{Data: datasets.ImageFolder{Dir: pets, Size: []int{2, 2}}, Model: Of(model.MLP, 4)})
	missesAfter(t, p, filepath.Join(dir, "runs"), pets, func() { draw(filepath.Join(pets, "cat", "0.png"), 99) })
}

// So is a file of weights that a model starts from, which is an argument of the model.
func TestFindComparesWeights(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mlp.safetensors")
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 2}, model.MLP(4)))
	save := func(seed uint64) []float32 {
		x := must.M1(fed.Models(1, seed))
		must.M(weights.SafeTensors(path, fed.Task, x))
		return must.M1(x.Host())[:fed.Task.Params[0].Size()]
	}
	body := save(1)
	start := Of(weights.Pretrained.Model, weights.Pretrained{Path: path, Fresh: []string{"dense2"}, Rename: without}, Of(model.MLP, 4))
	p := short(World{Data: datasets.Name("digits"), Model: Of(model.Freeze, start, "dense1")})
	of := must.M1(p[0].Federation())
	if x := must.M1(must.M1(of.Models(1, 8)).Host()); !slices.Equal(x[:len(body)], body) || of.Task.Bytes() != 4*(4*10+10) {
		t.Errorf("%s does not start from the file: %d bytes travel", of.Task.Name, of.Task.Bytes())
	}
	missesAfter(t, p, filepath.Join(dir, "runs"), path, func() { save(2) })
	if files := (&Trial{World: World{Model: Of(model.Freeze, Of(model.MLP, 4), path)}}).reading(digests{}).files; files[path] == "" {
		t.Error("an argument that is a path is not read")
	}
}

// without leaves the last layer of a file out.
func without(name string) string {
	if strings.HasPrefix(name, "dense2") {
		return ""
	}
	return name
}

// missesAfter fails unless the two runs of a plan are found, and no more after a change to a file or folder that it names.
func missesAfter(t *testing.T, p Plan, store, path string, change func()) {
	t.Helper()
	compute(t, p, store)
	if f, err := p.Find(store, "none"); err != nil || len(f.Runs) != 2 || strings.Contains(f.String(), "without the files") {
		t.Error(f, err)
	}
	change()
	expect.Error(t, "of these, there with other options: 2: files."+path+": ")(p.Find(store, "none"))
}

// The full part of a notebook is never an error: without its runs, the command is said.
func TestFull(t *testing.T) {
	t.Chdir(t.TempDir())
	p, drawn := findable(4, fedkit.Local{LR: 0.1}), 0
	check := func(runs int, says ...string) {
		t.Helper()
		f := Full("some", p)
		f.Draw(func(rs Runs) { drawn += len(rs) })
		for _, text := range append(says, "./scripts/study some") {
			if !strings.Contains(f.String(), text) || len(f.Runs) != runs {
				t.Errorf("%d runs, want %d\n%s\nwant %s", len(f.Runs), runs, f, text)
			}
		}
	}
	check(0, "none of 6 runs is in runs/some or some.runs", "this command computes them:")
	runs := compute(t, p, "runs/some")
	check(6, "runs from the folder runs/some: 6")
	must.M(runs[:4].Extract("some.runs"))
	old := Runs{}
	for _, r := range runs[:4] { // as of a study in YAML
		one := *r
		one.From = []*config.Config{new(config.Config)}
		must.M(one.From[0].UnmarshalJSON([]byte(`{"Data":{"type":"catalog.digits"},"type":"experiment.World"}`)))
		old = append(old, &one)
	}
	must.M(errors.Join(old.Extract("old.runs"), runs.Remove()))
	check(4, "runs from the extract some.runs, of 20", "missing: 2")
	even, near := Full("some", p).Part("Even"), Full("some", p).Part("near")
	expect.That(t, len(even.Runs) == 2 && len(even.Missing) == 0 && len(near.Runs) == 2 && len(near.Missing) == 2, "Even has %v, near has %v", even, near)
	must.M(os.WriteFile("some.runs", []byte("nothing"), 0o600))
	check(0, "damaged: study: some.runs: it is not an extract")
	if drawn != 10 {
		t.Errorf("%d drawn", drawn)
	}
	must.M(os.Rename("old.runs", "some.runs"))
	check(0, "some.runs: 4 runs were written for a study in YAML: studies are Go now, in notebooks/studies; run the study again", "none of 6 runs is in runs/some or some.runs\n")
}

// ownData is a data set whose code is not fedkit's.
type ownData struct{}

func (ownData) Make() (*datasets.Dataset, error) { return datasets.Digits(), nil }

// What a federation is made from has the hash of the code of custom components, and no other: of the data, and of the model's function.
func TestFindComparesCode(t *testing.T) {
	plain := &Trial{World: World{Data: datasets.Name("digits"), Model: Of(model.MLP, 4)}}
	if plain.reading(digests{}) != plain {
		t.Error("a world without code of its own has changed")
	}
	for _, w := range []World{{Data: ownData{}}, {Model: Of(own)}, {Model: Of(model.UniformInit, Of(own))}} {
		if code, _ := config.Of((&Trial{World: w}).reading(digests{}).World).At("code"); !strings.HasPrefix(code, "own ") {
			t.Errorf("code %q", code)
		}
	}
}

// Parts and seeds select runs; what selects none is refused with what there is.
func TestPlansAreSelected(t *testing.T) {
	p := findable(4, fedkit.Local{})
	for spec, want := range map[string]int{"1": 3, "2-5": 3, "1,2": 6, "1-2": 6, " 2 , 7-9": 3} {
		if some, err := p.Seeds(spec); len(some) != want || err != nil {
			t.Errorf("seeds %s: %d, %v", spec, len(some), err)
		}
	}
	for spec, want := range map[string]string{
		"": "seeds and ranges of seeds, such as 2-5 or 1,3", "2-": "seeds and ranges", "5-2": "seeds and ranges", "-1": "seeds and ranges",
		"3-9": `seeds = "3-9": must be some of those of the study: 1, 2`,
	} {
		some, err := p.Seeds(spec)
		expect.Invalid(t, want)(some, err)
	}
	if some, err := p.Part("EVEN"); len(some) != 2 || err != nil {
		t.Error(some, err)
	}
	expect.Invalid(t, `part = "nera": must be one of near, Even`)(p.Part("nera"))
	expect.Invalid(t, `part = "a": must be left out: this study has no parts`)(Plan{{}}.Part("a"))
	expect.Invalid(t, "plan[1] = nil: must be a trial")(Plan{p[0], nil}.Study(t.TempDir()))
	if some := append(p, nil).Where("μ", "0.1").Where("seed", "2"); len(some) != 1 || some[0].String() != "near, part near, μ 0.1" {
		t.Error(some)
	}
}

// A model is described by the call that makes it, and made when it is needed.
func TestModel(t *testing.T) {
	w := World{Data: datasets.Name("digits"), Partition: partition.IID{Clients: 4}}
	for want, m := range map[string]Model{
		"model.MLP(32, 16)":               Of(model.MLP, 32, 16),
		"model.MLP()":                     Of(model.MLP),
		"model.UniformInit(model.MLP(8))": Of(model.UniformInit, Of(model.MLP, 8)),
		"study.own()":                     Of(own),
	} {
		if m.Key() != want {
			t.Errorf("%s is called %s", want, m.Key())
		}
		w.Model = m
		expect.Value(w.Federation())(t)
	}
	for want, m := range map[string]Model{
		"World.Model = ":                                       {},
		"study.Of a function with a name":                      Of(func(d *datasets.Dataset) (*fedkit.Task, error) { return own(d) }),
		"model.MLP with a string as argument 1: must be a int": Of(model.MLP, "wide"),
		"model.LeNet with 1 arguments: must be 0":              Of(model.LeNet, 1),
		"World.Model = string: must be study.Of a function":    Of("model.MLP"),
	} {
		w.Model = m
		_, err := w.Federation()
		expect.Outcome(t, want)(err)
	}
}

func own(d *datasets.Dataset) (*fedkit.Task, error) { return model.MLP(4)(d) }
