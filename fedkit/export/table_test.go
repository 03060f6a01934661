package export_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedkit.example/fedkit/compare"
	"fedkit.example/fedkit/export"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/history"
)

// made is a history of two rounds and two clients.
func made() *history.History {
	global := &history.Score{Loss: 0.5, Accuracy: 0.75, Examples: 8, Metrics: map[string]history.Float{"macro F1": 0.625}}
	return &history.History{Clients: 2, Rounds: []history.Record{
		{Round: 1, Seconds: 0.25, BytesUp: 400, BytesDown: 800, Results: []history.ClientResult{{Client: 1, Examples: 9, Steps: 3, Loss: 2, Drift: 0.1, LR: 0.5}}},
		{Round: 2, Seconds: 0.125, EvalTime: 1, Global: global, Clusters: []int{0, 1},
			Scores:  []history.Score{{Loss: 1, Accuracy: 1, Examples: 1}, {Loss: history.Float(math.Inf(1)), Accuracy: 0, Examples: 3}},
			Notes:   map[string]history.Float{"ρ": history.Float(math.NaN())},
			Results: []history.ClientResult{{Client: 0, Examples: 7, Steps: 2, Loss: 1, Drift: 0, Skipped: true}}},
	}}
}

// rows are the lines of a table without its run, after the header.
func rows(t testing.TB, run string, h *history.History) (all [][]string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h.csv.gz")
	expect.OK(t, export.Table(path, run, h))
	for _, row := range expect.Value(csv.NewReader(unpacked(path)).ReadAll())(t)[1:] {
		all = append(all, row[1:])
	}
	return all
}

// unpacked reads a table.
func unpacked(path string) io.Reader {
	b, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		panic(err)
	}
	return z
}

// A history has a line for every number of every round, a table one for every run.
func ExampleTable() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	h := &history.History{Name: "FedAvg", Strategy: "FedAvg", Clients: 2, Rounds: []history.Record{{
		Round: 1, Seconds: 0.25, BytesUp: 400, BytesDown: 800, Global: &history.Score{Loss: 0.5, Accuracy: 0.75, Examples: 8},
		Results: []history.ClientResult{{Client: 1, Examples: 9, Steps: 2, Loss: 2, Drift: 0.1, LR: 0.5}},
	}}}

	if err := export.Table(filepath.Join(dir, "history.csv.gz"), h.Name, h); err != nil {
		panic(err)
	}
	if err := compare.Table(h).Save(filepath.Join(dir, "table.csv")); err != nil { // or .tex, .md, .txt, .html
		panic(err)
	}

	history, _ := io.ReadAll(unpacked(filepath.Join(dir, "history.csv.gz")))
	table, err := os.ReadFile(filepath.Join(dir, "table.csv"))
	fmt.Printf("%s\n%s%v\n", history, table, err)
	// Output:
	// run,round,client,metric,value
	// FedAvg,1,-1,seconds,0.25
	// FedAvg,1,-1,bytes_down,800
	// FedAvg,1,-1,bytes_up,400
	// FedAvg,1,-1,global_loss,0.5
	// FedAvg,1,-1,global_accuracy,0.75
	// FedAvg,1,-1,global_examples,8
	// FedAvg,1,1,train_examples,9
	// FedAvg,1,1,train_steps,2
	// FedAvg,1,1,train_loss,2
	// FedAvg,1,1,train_drift,0.1
	// FedAvg,1,1,train_lr,0.5
	//
	// run,rounds,rounds ±,accuracy,accuracy ±,best,best ±,clients,clients ±,worst 10 %,worst 10 % ±,loss,loss ±,down,down ±,up,up ±,time,time ±
	// FedAvg,1,,0.75,,0.75,,,,,,0.5,,800,,400,,0.25,
	// <nil>
}

// What the rows of a table have, each number once: what a history's file leaves out is left out too, unless it is needed. Bytes on links
// other than the server's, and times of the simulated clock, are rows of runs that have them.
func TestRows(t *testing.T) {
	for _, c := range []struct {
		of   *history.History
		keep func(r []string) bool
		want []string
	}{
		{made(), func(r []string) bool { return r[0] == "2" }, []string{
			"2 -1 seconds 0.125", "2 -1 eval_seconds 1", "2 -1 bytes_down 0", "2 -1 bytes_up 0",
			"2 -1 global_loss 0.5", "2 -1 global_accuracy 0.75", "2 -1 global_examples 8", "2 -1 global_macro F1 0.625", "2 -1 note_ρ NaN",
			"2 -1 mean_loss +Inf", "2 -1 mean_accuracy 0.25", "2 -1 mean_examples 4", "2 -1 spread_mean 0.5", "2 -1 spread_worst 0",
			"2 -1 spread_min 0", "2 -1 spread_q1 0.25", "2 -1 spread_median 0.5", "2 -1 spread_q3 0.75", "2 -1 spread_max 1",
			"2 0 train_examples 7", "2 0 train_steps 2", "2 0 train_loss 1", "2 0 train_drift 0", "2 0 train_lr 0", "2 0 train_skipped 1",
			"2 0 test_loss 1", "2 0 test_accuracy 1", "2 0 test_examples 1", "2 1 test_loss +Inf", "2 1 test_accuracy 0", "2 1 test_examples 3",
			"2 0 cluster 0", "2 1 cluster 1",
		}},
		{made(), ofClock, nil},
		{&history.History{Rounds: []history.Record{{Round: 1, Links: map[string]history.Float{"edge_to_cloud": 8, "client_to_edge": 40}}}},
			func(r []string) bool { return strings.Contains(r[2], "_to_") }, []string{"1 -1 bytes_client_to_edge 40", "1 -1 bytes_edge_to_cloud 8"}},
		{&history.History{Clients: 3, Rounds: []history.Record{
			{Round: 1, Clock: 7.5, Results: []history.ClientResult{{Client: 1, Received: 1, Finished: 4, Arrived: 6, Staleness: 2}}},
			{Round: 2, Clock: 9, Absences: []history.Absence{{Client: 2, Begin: 7.5, End: 8, DroppedOut: true}, {Client: 0, Begin: 7.5, End: 30}}},
		}}, ofClock, []string{
			"1 -1 clock 7.5", "1 1 train_staleness 2", "1 1 train_received 1", "1 1 train_finished 4", "1 1 train_arrived 6", "2 -1 clock 9",
			"2 2 missed_begin 7.5", "2 2 missed_end 8", "2 2 missed_lost 1", "2 0 missed_begin 7.5", "2 0 missed_end 30", "2 0 missed_lost 0",
		}},
	} {
		var got []string
		for _, r := range rows(t, "a", c.of) {
			if c.keep(r) {
				got = append(got, strings.Join(r, " "))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}

// ofClock reports whether a row is about the simulated clock.
func ofClock(r []string) bool {
	return regexp.MustCompile("^(clock|missed|train_(begin|received|finished|arrived|staleness))").MatchString(r[2])
}

func TestTableFile(t *testing.T) {
	dir := t.TempDir()
	var files [2][]byte
	for i, name := range []string{"new/t.csv.gz", "new/again.csv.gz"} {
		expect.OK(t, export.Table(filepath.Join(dir, name), "a,\"b\"", made()))
		files[i] = expect.Value(os.ReadFile(filepath.Join(dir, name)))(t)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("the same history gave other bytes")
	}
	z, err := gzip.NewReader(bytes.NewReader(files[0]))
	if err != nil || z.Comment != "fedkit table 1" {
		t.Errorf("gzip comment %q, %v", z.Comment, err)
	}
	if b := expect.Value(io.ReadAll(z))(t); !strings.HasPrefix(string(b), "run,round,client,metric,value\n\"a,\"\"b\"\"\",1,-1,seconds,0.25\n") {
		t.Errorf("%s", b)
	}
	expect.Invalid(t, "a name that ends in .csv.gz")(export.Table(filepath.Join(dir, "t.csv"), "a", made()))
	expect.Invalid(t, "history = nil")(export.Table(filepath.Join(dir, "t.csv.gz"), "a", nil))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("what was refused left %v, %v", left, err)
	}
}

// improving is a history whose accuracy, √t/(√t + 1), is evaluated every second round, and its curve as a list in Python.
func improving() (h *history.History, curve string) {
	var points []string
	h = &history.History{Clients: 3}
	for t := 1; t <= 20; t++ {
		r := history.Record{Round: t, Seconds: 1 / float64(t), Results: []history.ClientResult{{Client: t % 3, Examples: 5, Steps: 2, Loss: history.Float(math.Log(float64(t)))}}}
		if root := math.Sqrt(float64(t)); t%2 == 0 {
			r.Global = &history.Score{Accuracy: history.Float(root / (root + 1)), Loss: history.Float(1 / root), Examples: 30}
			r.Scores = []history.Score{*r.Global, *r.Global, *r.Global}
			points = append(points, fmt.Sprintf("(%d, '%.12g')", t, r.Global.Accuracy))
		}
		h.Rounds = append(h.Rounds, r)
	}
	return h, "[" + strings.Join(points, ", ") + "]"
}

// Two lines of pandas read a folder of tables, and a pivot has the history's curve. A name that a spreadsheet would compute is
// restored.
func TestTableInPandas(t *testing.T) {
	dir := t.TempDir()
	h, curve := improving()
	expect.OK(t, export.Table(filepath.Join(dir, "a.csv.gz"), "a", h))
	expect.OK(t, export.Table(filepath.Join(dir, "b.csv.gz"), "=b", made()))
	python := os.Getenv("FEDKIT_PYTHON")
	if python == "" {
		t.Skip("FEDKIT_PYTHON does not name a Python with pandas")
	}
	got, err := exec.CommandContext(t.Context(), python, "-c", `
import glob, sys
import pandas as pd
t = pd.concat(map(pd.read_csv, glob.glob(sys.argv[1] + "/*.csv.gz")))
p = t[t.client == -1].pivot(index="round", columns=["metric", "run"], values="value")
print([(round, "%.12g" % a) for round, a in p.global_accuracy.a.dropna().items()])
print([str(t[c].dtype) for c in ["round", "client", "value"]], sorted(t.run.unique()))
t.run = t.run.str.removeprefix("'")
b = t[t.run == "=b"].set_index(["metric", "client"]).value
print(b["test_loss"].tolist(), b["note_ρ"].isna().all())
`, dir).CombinedOutput()
	if want := curve + "\n['int64', 'int64', 'float64'] [\"'=b\", 'a']\n[1.0, inf] True\n"; err != nil || string(got) != want {
		t.Errorf("%v: %s\nwant\n%s", err, got, want)
	}
}

// The long table of a regression has R², RMSE and MAE, and no accuracy.
func TestTableOfRegression(t *testing.T) {
	s := history.Score{Loss: 2, Accuracy: history.Float(math.NaN()), Examples: 4, Metrics: map[string]history.Float{"R²": 0.5, "RMSE": 2, "MAE": 1}}
	h := &history.History{Clients: 1, Rounds: []history.Record{{Round: 1, Global: &s, Scores: []history.Score{s}, Notes: map[string]history.Float{"accuracy": 3}}}}
	all := map[string]float64{}
	for _, r := range rows(t, "r", h) {
		all[r[2]] = expect.Value(strconv.ParseFloat(r[3], 64))(t)
	}
	for _, of := range []string{"global_", "mean_", "test_"} {
		if _, there := all[of+"accuracy"]; there || all[of+"R²"] != 0.5 || all[of+"RMSE"] != 2 || all[of+"loss"] != 2 {
			t.Errorf("%v", all)
		}
	}
	if all["spread_median"] != 0.5 || all["note_accuracy"] != 3 {
		t.Errorf("%v", all)
	}
}
