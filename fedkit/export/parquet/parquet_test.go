package parquet_test

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/export"
	. "fedkit.example/fedkit/export/parquet"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
)

// made are two runs, one of which has labels.
func made() []*history.History {
	record := history.Record{Round: 3, Global: &history.Score{Accuracy: 1.0 / 3, Loss: history.Float(math.NaN())}, Results: []history.ClientResult{{Client: 7, Steps: 2}}}
	return []*history.History{
		{Name: "=A", Seed: math.MaxUint64, Labels: []history.Label{{Key: "name", Value: "=A"}, {Key: "α", Value: "0.1"}, {Key: "round", Value: "x"}}, Rounds: []history.Record{record}},
		{Name: "B", Rounds: []history.Record{{Round: 1}, {Round: 2}}},
	}
}

type row struct {
	Run    string  `parquet:"run"`
	Alpha  string  `parquet:"α"`
	Label  string  `parquet:"label round"`
	Seed   uint64  `parquet:"seed"`
	Round  int64   `parquet:"round"`
	Client int64   `parquet:"client"`
	Metric string  `parquet:"metric"`
	Value  float64 `parquet:"value"`
}

// What was written is read back, bit by bit, and in the order of export.Rows.
func TestTableComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "runs.parquet")
	expect.OK(t, Table(path, made()...))
	got := expect.Value(parquet.ReadFile[row](path))(t)
	var want []row
	for _, h := range made() {
		for r := range export.Rows(h.Name, h) {
			alpha, _ := h.Value("α")
			label, _ := h.Value("round")
			want = append(want, row{h.Name, alpha, label, h.Seed, int64(r.Round), int64(r.Client), r.Metric, r.Value})
		}
	}
	for i := range max(len(got), len(want)) {
		if len(got) != len(want) || got[i] != want[i] && !math.IsNaN(want[i].Value+got[i].Value) {
			t.Fatalf("%d rows %+v, want %d %+v", len(got), got, len(want), want)
		}
	}
	python := os.Getenv("FEDKIT_PYTHON")
	if python == "" {
		t.Skip("FEDKIT_PYTHON does not name a Python with pandas and pyarrow")
	}
	said, err := exec.CommandContext(t.Context(), python, "-c", `
import sys, pandas as pd
t = pd.read_parquet(sys.argv[1])
a = t[(t.metric == "global_accuracy") & (t["α"] == "0.1")]
print(a[["run", "label round", "seed", "round", "client", "value"]].values.tolist(), str(t.value.dtype), len(t))
`, path).CombinedOutput()
	if want := "[['=A', 'x', 18446744073709551615, 3, -1, 0.3333333333333333]] float64 "; err != nil || !strings.HasPrefix(string(said), want) {
		t.Errorf("%v: %s, want %s", err, said, want)
	}
}

func TestTableRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{Table(filepath.Join(dir, "t.csv"), made()...), Table(filepath.Join(dir, "t.parquet")), Table(filepath.Join(dir, "t.parquet"), nil)} {
		if !errors.Is(err, fedkit.ErrInvalid) {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("what was refused left %v, %v", left, err)
	}
}
