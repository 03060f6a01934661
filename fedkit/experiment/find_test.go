package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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

// What is found of a grid: runs of the folder, then those of the extract. What is called the same and is not the same is missing.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	store, extract := filepath.Join(dir, "runs"), filepath.Join(dir, "some.runs")
	read := func(text string) Grid {
		t.Helper()
		path := filepath.Join(dir, "study.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		g, err := ReadGrid(path)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := read(findable)
	if _, err := g.Find(store, extract); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "none of 6 runs is in") {
		t.Fatal(err)
	}
	st, err := g.Study(store)
	if err != nil {
		t.Fatal(err)
	}
	st.Log = t.Output()
	runs, err := st.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := runs[:4].Extract(extract); err != nil {
		t.Fatal(err)
	}
	check := func(g Grid, stored, found, missing int, says ...string) {
		t.Helper()
		f, err := g.Find(store, extract)
		if err != nil {
			t.Fatal(err)
		}
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
	// Runs of an older form of the study, which are called the same.
	older, err := read(strings.ReplaceAll(findable, "LR: 0.1", "LR: 0.3")).Study(store)
	if err != nil {
		t.Fatal(err)
	}
	older.Log = t.Output()
	if _, err := older.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	check(g, 6, 6, 0)
	if err := append(runs[:1:1], runs[4:]...).Remove(); err != nil {
		t.Fatal(err)
	}
	check(g, 3, 4, 2, "runs from the folder "+store+": 3", "runs from the extract "+extract+", of 20", "missing: 2: near, Mu 1, seed 1; near, Mu 1, seed 2")
	// Other options of a strategy, and another partition.
	check(read(strings.Replace(findable, "FedAvg: {strategy: FedAvg}", "FedAvg: {strategy: FedAvg Local.LR=0.2}", 1)), 2, 2, 4, "of these, there with other options: 4")
	if _, err := read(strings.Replace(findable, "IID Clients=4", "IID Clients=5", 1)).Find(store, extract); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	// A damaged extract, and code that is not this one.
	if err := os.WriteFile(extract, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	entry := runs[2].Path("entry.json")
	b, err := os.ReadFile(entry)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(entry, []byte(strings.Replace(string(b), `"code": "fedkit `, `"code": "fedkit old`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	check(g, 3, 3, 3, "computed by other code: 1: fedkit old", "damaged: study: "+extract)
}
