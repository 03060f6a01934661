package experiment

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
	"syscall"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/catalog"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
	"fedkit.example/fedkit/weights"
	"github.com/janpfeifer/must"
)

// Under the race detector the plugin's destructors abort when the process exits normally.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

const findable = `
base:
  strategy: {Local: {Batch: 16, LR: 0.1}}
  data: Digits
  partition: IID Clients=4
  model: MLP Hidden=4
  options: {Rounds: 1}
vary:
  strategy:
    FedAvg: {strategy: FedAvg}
    near: {strategy: FedProx, vary: {strategy.Mu: [0.1, 1]}}
  options.Seed: [1, 2]
`

// Find returns runs of the folder, then those of the extract. A different run of the same name is missing.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	store, extract := filepath.Join(dir, "runs"), filepath.Join(dir, "some.runs")
	read := func(text string) Grid { return written(t, text) }
	g := read(findable)
	if _, err := g.Find(store, extract); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "none of 6 runs is in") {
		t.Fatal(err)
	}
	st := must.M1(g.Study(store))
	st.Log = t.Output()
	runs := must.M1(st.Run(context.Background()))
	must.M(runs[:4].Extract(extract))
	check := func(g Grid, stored, found, missing int, says ...string) {
		t.Helper()
		f := must.M1(g.Find(store, extract))
		if f.Stored != stored || len(f.Runs) != found || len(f.Missing) != missing {
			t.Errorf("%d stored, %d found, %d missing; want %d, %d, %d\n%s", f.Stored, len(f.Runs), len(f.Missing), stored, found, missing, f)
		}
		for _, text := range says {
			if !strings.Contains(f.String(), text) {
				t.Errorf("%s\nwant %s", f, text)
			}
		}
	}
	check(g, 6, 6, 0, "runs from the folder "+store+": 6")
	// Runs of an older form of the study, with the same names.
	older := must.M1(read(strings.ReplaceAll(findable, "LR: 0.1", "LR: 0.3")).Study(store))
	older.Log = t.Output()
	expect.Value(older.Run(context.Background()))(t)
	check(g, 6, 6, 0)
	must.M(append(runs[:1:1], runs[4:]...).Remove())
	check(g, 3, 4, 2, "runs from the folder "+store+": 3", "runs from the extract "+extract+", of 20", "missing: 2: near, Mu 1, seed 1; near, Mu 1, seed 2")
	// Other options of a strategy, and another partition.
	check(read(strings.Replace(findable, "FedAvg: {strategy: FedAvg}", "FedAvg: {strategy: FedAvg Local.LR=0.2}", 1)), 2, 2, 4, "of these, there with other options: 4")
	if _, err := read(strings.Replace(findable, "IID Clients=4", "IID Clients=5", 1)).Find(store, extract); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	// A damaged extract, and other code.
	must.M(os.WriteFile(extract, []byte("nothing"), 0o600))
	entry := runs[2].Path("entry.json")
	b := must.M1(os.ReadFile(entry))
	other := strings.Replace(string(b), `"code": "fedkit `, `"code": "fedkit old`, 1)
	must.M(os.WriteFile(entry, []byte(other), 0o600))
	check(g, 2, 2, 4, "damaged: study: "+extract, "damaged: study: "+entry+": altered")
	other = other[:strings.LastIndex(other, sealed)]
	must.M(os.WriteFile(entry, fmt.Appendf(nil, "%s%s%x\"\n}\n", other, sealed, sha256.Sum256([]byte(other))), 0o600))
	check(g, 3, 3, 3, "computed by other code: 1: fedkit old")
}

// sealed begins the last line of an entry.
const sealed = ",\n\t\"sha256\": \""

// A run is found by everything in the file, and by nothing else: whatever is changed, no old run is shown.
func TestFindComparesEverything(t *testing.T) {
	const text = `
base:
  strategy: FedAvg Local.Batch=16 Local.LR=0.1
  data: Synthetic Clients=6 Features=4 Classes=3 Seed=1
  partition: Natural
  model: MLP Hidden=4
  holdout: {Clients: 1, Seed: 1}
  devices: Devices PerExample=0.1
  attack: {By: SignFlip, Share: 0.4, Seed: 1}
  options: {Rounds: 2, EvalEvery: 2}
vary:
  options.Seed: [1, 2]
`
	dir := t.TempDir()
	store := filepath.Join(dir, "runs")
	st := must.M1(written(t, text).Study(store))
	st.Log = t.Output()
	expect.Value(st.Run(context.Background()))(t)
	if f, err := written(t, text).Find(store, "none"); err != nil || len(f.Runs) != 2 || f.String() != "runs from the folder "+store+": 2" {
		t.Fatal(f, err)
	}
	for _, c := range [][3]string{
		{"Batch=16", "Batch=8", "Local.Batch: 8, was 16"},
		{"Batch=16", "Batch=16 Aggregator=Median", "Aggregator: aggregate.Median{}, was not set"},
		{"Features=4", "Features=5", "Data.Features: 5, was 4"},
		{"Seed=1\n  part", "Seed=2\n  part", "Data.Seed: 2, was 1"},
		{"Natural", "IID Clients=6", "Partition: partition.IID{Clients: 6}, was partition.Natural{}"},
		{"MLP Hidden=4", "MLP Hidden=5", "Model.Hidden[0]: 5, was 4"},
		{"model: MLP", "model: {type: UniformInit, Of: MLP Hidden=4} #", "Model: "},
		{"Clients: 1, Seed: 1", "Clients: 2, Seed: 1", "HoldOut.Clients: 2, was 1"},
		{"Clients: 1, Seed: 1", "Clients: 1, Seed: 2", "HoldOut.Seed: 2, was 1"},
		{"PerExample=0.1", "PerExample=0.2", "Devices.PerExample: sim.Constant(0.2), was sim.Constant(0.1)"},
		{"By: SignFlip", "By: LabelFlip", "Attack.By: attack.LabelFlip{}, was attack.SignFlip{}"},
		{"By: SignFlip", "By: SignFlip Scale=2", "Attack.By.Scale: 2, was not set"},
		{"Share: 0.4", "Share: 0.6", "Attack.Share: 0.6, was 0.4"},
		{"Share: 0.4, Seed: 1", "Share: 0.4, Seed: 2", "Attack.Seed: 2, was 1"},
		{"  attack: {By: SignFlip, Share: 0.4, Seed: 1}\n", "", "Attack: not set, was "},
		{"Rounds: 2", "Rounds: 3", "Options.Rounds: 3, was 2"},
		{"EvalEvery: 2", "EvalEvery: 1", "Options.EvalEvery: 1, was 2"},
		{"EvalEvery: 2", "EvalEvery: 2, NotFinite: Skip", "Options.NotFinite: "},
		{"EvalEvery: 2", "EvalEvery: 2, Metrics: [MacroF1]", "Options.Metrics: "},
		{"EvalEvery: 2", "EvalEvery: 2, ChooseOnTest: true", "Options.ChooseOnTest: true, was not set"},
		{"EvalEvery: 2", "EvalEvery: 2, Pace: {Deadline: 9}", "Options.Pace: {Deadline: 9}, was not set"},
		{"EvalEvery: 2", "EvalEvery: 2, Keep: {Scores: 2}", "Options.Keep: {Scores: 2}, was not set"}, // its history lacks what another keeps
	} {
		if !strings.Contains(text, c[0]) {
			t.Fatal(c[0])
		}
		f, err := written(t, strings.Replace(text, c[0], c[1], 1)).Find(store, "none")
		if err == nil || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "of these, there with other options: 2: "+c[2]) {
			t.Errorf("%s: found %v, %v; want %s", c[1], f, err, c[2])
		}
	}
	// Options that do not change results.
	for _, same := range []string{"Concurrency: 1", "CheckpointEvery: 1", "CheckpointAfter: 1s", "Name: mine"} {
		if f, err := written(t, strings.Replace(text, "EvalEvery: 2", "EvalEvery: 2, "+same, 1)).Find(store, "none"); err != nil || len(f.Runs) != 2 {
			t.Errorf("%s: %v, %v", same, f, err)
		}
	}
	// Code of your own: a selector's, which the configuration names.
	own := written(t, text)
	for _, c := range own {
		c.Strategy.(*strategy.FedAvg).Selector = fedkit.SelectorFunc(everyone)
	}
	st = must.M1(own.Study(store))
	st.Log = t.Output()
	runs := must.M1(st.Run(context.Background()))
	if f, err := own.Find(store, "none"); err != nil || len(f.Runs) != 2 {
		t.Error(f, err)
	}
	extract := filepath.Join(dir, "own.runs")
	_, code, _ := strings.Cut(runs[0].About.Code, "; ")
	for _, r := range runs {
		r.About.Code = strings.Replace(r.About.Code, code, "own 0123456789ab", 1)
	}
	must.M(runs.Extract(extract))
	if f, err := own.Find("none", extract); code == "" || err == nil || !strings.HasSuffix(err.Error(), "of these, there with other options: 2: code of your own") {
		t.Error(code, f, err)
	}
	// Names and labels are not compared: runs take those of the file by which they are found. One run may have several.
	again := written(t, strings.Replace(text, "options.Seed: [1, 2]", `options.Seed: [1, 2]
  strategy: {one: {}, two: {}}
  speed: {slow: {strategy: {Local: {Batch: 16}}}}`, 1))
	f, err := again.Find(store, "none")
	if err != nil || len(f.Runs) != 4 || len(f.Runs.Where("name", "two", "speed", "slow")) != 2 || f.Runs[0].Key != f.Runs[1].Key {
		t.Fatal(f, err)
	}
	extract = filepath.Join(dir, "some.runs")
	must.M(f.Runs.Extract(extract))
	if f, err := again.Find("none", extract); err != nil || f.Stored != 0 || len(f.Runs.Where("name", "two", "speed", "slow")) != 2 {
		t.Error(f, err)
	}
}

// everyone is a selector of your own.
func everyone(r *fedkit.Round, n int) []int { return r.AllClients()[:n] }

// A run that read a file of the same name with other content is not taken; one that read any is, and said so, where there is none.
func TestFindComparesFiles(t *testing.T) {
	dir := t.TempDir()
	store, table, trace := filepath.Join(dir, "runs"), filepath.Join(dir, "table.csv"), filepath.Join(dir, "trace.csv")
	rows := "x,y\n" + strings.Repeat("1,a\n2,b\n", 20)
	must.M(os.WriteFile(table, []byte(rows), 0o600))
	must.M(os.WriteFile(trace, []byte("per_example\n0.1\n0.2\n"), 0o600))
	g := written(t, fmt.Sprintf(`
base:
  strategy: FedAvg
  data: {type: CSV, File: %s}
  partition: IID Clients=2
  model: MLP Hidden=4
  devices: {type: Trace, File: %s}
  options: {Rounds: 1}
vary:
  options.Seed: [1, 2]
`, table, trace))
	compute := func() {
		t.Helper()
		st := must.M1(g.Study(store))
		st.Log = t.Output()
		if runs := must.M1(st.Run(context.Background())); len(runs) != 2 || len(runs.Failed()) > 0 {
			t.Fatal(runs.Failed())
		}
	}
	compute()
	if f, err := g.Find(store, "none"); err != nil || len(f.Runs) != 2 || strings.Contains(f.String(), "without the files") {
		t.Error(f, err)
	}
	for path, other := range map[string]string{table: rows + "1,a\n", trace: "per_example\n0.1\n0.3\n"} {
		was := must.M1(os.ReadFile(path))
		must.M(os.WriteFile(path, []byte(other), 0o600))
		if f, err := g.Find(store, "none"); err == nil || !strings.Contains(err.Error(), "of these, there with other options: 2: files."+path+": ") {
			t.Errorf("%s: %v, %v", path, f, err)
		}
		must.M(os.WriteFile(path, was, 0o600))
	}
	must.M(errors.Join(os.Remove(table), os.Remove(trace)))
	if f, err := g.Find(store, "none"); err != nil || len(f.Runs) != 2 || !strings.Contains(f.String(), "taken without the files that they read, which are not here and may have other content: 2") {
		t.Error(f, err)
	}
}

// So are the images below a folder.
func TestFindComparesFolders(t *testing.T) {
	dir := t.TempDir()
	store, pets := filepath.Join(dir, "runs"), filepath.Join(dir, "pets")
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
	g := written(t, fmt.Sprintf(`
base:
  strategy: FedAvg
  data: {type: ImageFolder, Dir: %s, Size: [2, 2]}
  partition: IID Clients=2
  model: MLP Hidden=4
  options: {Rounds: 1}
vary:
  options.Seed: [1, 2]
`, pets))
	missesAfter(t, g, store, pets, func() { draw(filepath.Join(pets, "cat", "0.png"), 99) })
}

// So is a file of weights that a model starts from, which a file for a study names with what becomes of the names in it.
func TestFindComparesWeights(t *testing.T) {
	dir := t.TempDir()
	store, path := filepath.Join(dir, "runs"), filepath.Join(dir, "mlp.safetensors")
	fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 2}, model.MLP(4)))
	save := func(seed uint64) []float32 {
		x := must.M1(fed.Models(1, seed))
		must.M(weights.SafeTensors(path, fed.Task, x))
		return must.M1(x.Host())[:fed.Task.Params[0].Size()]
	}
	body := save(1)
	g := written(t, fmt.Sprintf(`
base:
  strategy: FedAvg
  data: Digits
  partition: IID Clients=2
  model: {type: Freeze, Layers: [dense1], Of: {type: Pretrained, Path: %s, Of: MLP Hidden=4, Fresh: [dense2], Rename: [dense2/weights, "", dense2/biases, ""]}}
  options: {Rounds: 1}
vary:
  options.Seed: [8, 9]
`, path))
	of := must.M1(g[0].Federation())
	if x := must.M1(must.M1(of.Models(1, 8)).Host()); !slices.Equal(x[:len(body)], body) || of.Task.Bytes() != 4*(4*10+10) {
		t.Errorf("%s does not start from the file: %d bytes travel", of.Task.Name, of.Task.Bytes())
	}
	missesAfter(t, g, store, path, func() { save(2) })
	odd := must.M1(catalog.Build[catalog.Model]("Pretrained Of=MLP Path=a Rename=[fc]"))
	_, err := odd.Model()(fed.Data)
	expect.Invalid(t, `model.Rename = ["fc"]: must be pairs`)(nil, err)
}

// missesAfter fails unless the two runs of a grid are found, and no more after a change to a file or folder that it names.
func missesAfter(t *testing.T, g Grid, store, path string, change func()) {
	t.Helper()
	st := must.M1(g.Study(store))
	st.Log = t.Output()
	if runs := must.M1(st.Run(context.Background())); len(runs) != 2 || len(runs.Failed()) > 0 {
		t.Fatal(runs.Failed())
	}
	if f, err := g.Find(store, "none"); err != nil || len(f.Runs) != 2 {
		t.Error(f, err)
	}
	change()
	if f, err := g.Find(store, "none"); err == nil || !strings.Contains(err.Error(), "there with other options: 2: files."+path+": ") {
		t.Error(f, err)
	}
}

// written reads a grid from text.
func written(t *testing.T, text string) Grid {
	t.Helper()
	path := filepath.Join(t.TempDir(), "study.yaml")
	must.M(os.WriteFile(path, []byte(text), 0o600))
	g := must.M1(ReadGrid(path))
	return g
}

// The full part of a notebook is never an error: without its runs, the command is said.
func TestFull(t *testing.T) {
	t.Chdir(t.TempDir())
	drawn := 0
	check := func(runs int, says ...string) {
		t.Helper()
		f := Full("some.yaml")
		f.Draw(func(rs study.Runs) { drawn += len(rs) })
		for _, text := range append(says, "./scripts/fedkit study") {
			if !strings.Contains(f.String(), text) || len(f.Runs) != runs {
				t.Errorf("%d runs, want %d\n%s\nwant %s", len(f.Runs), runs, f, text)
			}
		}
	}
	check(0, "no such file")
	must.M(os.WriteFile("some.yaml", []byte(findable), 0o600))
	check(0, "none of 6 runs is in runs/some or some.runs", "this command computes them:")
	st := must.M1(must.M1(ReadGrid("some.yaml")).Study("runs/some"))
	st.Log = t.Output()
	runs := must.M1(st.Run(context.Background()))
	check(6, "runs from the folder runs/some: 6")
	must.M(runs[:4].Extract("some.runs"))
	must.M(runs.Remove())
	check(4, "runs from the extract some.runs, of 20", "missing: 2", "some.yaml --store ")
	must.M(os.WriteFile("some.runs", []byte("nothing"), 0o600))
	check(0, "damaged: study: some.runs: it is not an extract")
	if drawn != 10 {
		t.Errorf("%d drawn", drawn)
	}
}

// own is a data set whose code is not fedkit's.
type own struct{}

func (own) Make() (*datasets.Dataset, error) { return datasets.Digits(), nil }

// What a federation is made from has the hash of the code of custom components, and no other.
func TestFindComparesCode(t *testing.T) {
	plain := &Trial{Experiment: &Experiment{}}
	if plain.reading(digests{}) != plain {
		t.Error("a world without code of its own has changed")
	}
	with := &Trial{Experiment: &Experiment{World: World{Data: own{}}}}
	if code, _ := config.Of(with.reading(digests{}).World).At("code"); !strings.HasPrefix(code, "own ") {
		t.Errorf("code %q", code)
	}
}
