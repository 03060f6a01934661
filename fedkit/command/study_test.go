package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

func TestStudyAndResults(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing is concurrent in the command itself")
	}
	store := filepath.Join(t.TempDir(), "runs")
	dry := func(want string) {
		if status, out, log := do("study", "two_by_two", "--store", store, "--dry-run"); status != done || !strings.Contains(out, want) || log != "" {
			t.Errorf("%d, %s%s, want %q", status, out, log, want)
		}
	}
	dry("12 runs: 0 stored, 0 failed, 12 to run; 0 running in " + store + "\nnone of 12 runs is in " + store)
	status, first, log := do("study", "two_by_two", "--store", store)
	if status != done || strings.Count(first, "\n") != 12 || !strings.HasPrefix(log, "0 stored, 12 to run\n") {
		t.Fatal(status, first, log)
	}
	var r result
	must.M(json.Unmarshal([]byte(first[:strings.Index(first, "\n")]), &r))
	if r.Name != "FedAvg" || r.Labels["α"] != "0.1" || len(r.Labels) != 1 || r.Seed != 1 || r.Rounds != 3 || r.Accuracy <= 0 {
		t.Errorf("%+v", r)
	}
	var other result
	must.M(json.Unmarshal([]byte(strings.Split(first, "\n")[1]), &other))
	if status, again, log := do("study", "two_by_two", "--store", store); status != done || again != first || !strings.HasPrefix(log, "12 stored, 0 to run\n") {
		t.Error(status, log)
	}
	dry("runs from the folder " + store + ": 12\n")
	extract := filepath.Join(t.TempDir(), "all.runs")
	status, some, log := do("study", "two_by_two", "--store", store, "--only", "name=FedAvg", "--only", "α=0.1", "--only", "seed=2", "--extract", extract)
	if found, err := twoByTwo().Find("nowhere", extract); err != nil || len(found.Runs) != 12 || status != done || strings.Count(some, "\n") != 1 {
		t.Error(status, some, log, err)
	}
	added := filepath.Join(t.TempDir(), "added.runs") // of what the store has, and then of what it has itself
	for _, from := range []string{store, filepath.Join(t.TempDir(), "empty")} {
		if status, out, log := do("study", "two_by_two", "--store", from, "--extract", added, "--add"); status != done || out != "" || log != "the store and the extract have all runs\n" {
			t.Error(status, out, log)
		}
		if found := must.M1(twoByTwo().Find("nowhere", added)); len(found.Runs) != 12 {
			t.Errorf("%d runs in the extract", len(found.Runs))
		}
	}
	on := func(args ...string) (status int, out, err string) {
		return do(append(append([]string{"results"}, args...), "--store", store)...)
	}
	for _, c := range []struct {
		args  []string
		lines int
		says  string
	}{
		{[]string{"list"}, 13, "FedProx, α 0.1"},
		{[]string{"list", "α=0.1", "strategy=FedProx"}, 4, "FedProx-"},
		{[]string{"list", "--json", "name=FedAvg", "seed=1"}, 2, `"labels":{"α":"1"}`},
		{[]string{"list", r.ID}, 2, r.ID},
		{[]string{"show", r.ID}, 11, "strategy.FedAvg{Local: {Batch: 16, LR: 0.1}}"},
		{[]string{"table"}, 6, "FedProx, α 0.1"},
		{[]string{"table", "--json"}, 4, `"run":"FedProx, α 0.1"`},
		{[]string{"show", r.ID, "--json"}, 4, `{"id":"` + r.ID + `","round":3,`},
		{[]string{"check", "seed=2", "--json"}, 4, `"whole":true`},
		{[]string{"diff", r.ID, other.ID}, 17, "\nOptions.Seed  1      "},
		{[]string{"diff", r.ID, other.ID, "--json"}, 10, `{"a":"1","b":"2","field":"Options.Seed"}`},
		{[]string{"table", "α=1", "--format", "csv", "--baseline", "FedAvg", "--columns", "accuracy,pairs"}, 3, "FedProx,"},
		{[]string{"check", "α=0.1"}, 1, "6 runs are as they were stored"},
		{[]string{"remove", "α=1", "--yes"}, 6, "FedProx-"},
		{[]string{"list"}, 7, "α 0.1"},
	} {
		status, out, err := on(c.args...)
		if status != done || strings.Count(out, "\n") != c.lines || !strings.Contains(out, c.says) {
			t.Errorf("%q: status %d, %q\n%s", c.args, status, err, out)
		}
	}
	for says, args := range map[string][]string{
		`run = "Zed": must be the beginning of the id`:              {"remove", "Zed"},
		`run = "": must be the beginning of the id`:                 {"remove", ""},
		"run = FedP: must be the beginning of one id; 3 begin with": {"remove", r.ID, "FedP"},
		"α = 7: must be a label or an option":                       {"remove", "α=7"},
		"run = nothing: must be given":                              {"remove"},
		"--yes = nothing: must be given where there is no terminal": {"remove", r.ID},
		"= FedProx-: must be the beginning of the id of one run":    {"diff", r.ID, "FedProx-"},
		"must be another run than " + r.ID:                          {"diff", r.ID, r.ID},
	} {
		if status, out, err := on(args...); status != refused || out != "" || !strings.Contains(err, says) {
			t.Errorf("%q: status %d, %q, %q", args, status, out, err)
		}
	}
	// On a terminal remove asks.
	for _, answer := range []string{"", "n\n", "Yes\n"} {
		want := map[bool]int{true: done, false: failed}[answer == "Yes\n"]
		var out, log bytes.Buffer
		status := execute([]string{"results", "remove", other.ID, "--store", store}, &console{out: &out, err: &log, in: strings.NewReader(answer), asks: true})
		if status != want || (out.String() == other.ID+"\n") != (want == done) || !strings.HasPrefix(log.String(), "Remove 1 runs, 0.0 MB, from "+store+"? [y/N] ") {
			t.Errorf("%q: %d, %s, %s", answer, status, &out, &log)
		}
	}
	must.M(os.Truncate(filepath.Join(store, r.ID, "history.jsonl"), 100))
	if status, out, log := on("table"); status != done || strings.Count(out, "\n") != 4 {
		t.Error(status, out, log)
	}
	if status, out, log := on("check"); status != failed || out != "" || !strings.Contains(log, filepath.Join(r.ID, "history.jsonl")+": altered, or cut off") {
		t.Error(status, out, log)
	}
	// An extract is replaced only if its runs can be kept.
	must.M(os.Truncate(extract, 100))
	if status, out, log := do("results", "list", "--store", extract); status != refused || out != "" || !strings.Contains(log, "--store = "+extract+": must be a folder that a study has made, or an extract: ") {
		t.Error(status, out, log)
	}
	if status, out, log := do("study", "two_by_two", "--store", store, "--extract", extract); status != refused || out != "" || !strings.Contains(log, "--extract = "+extract+": must be an extract that can be read") {
		t.Error(status, out, log)
	}
	must.M(os.WriteFile(filepath.Join(store, r.ID, "entry.json"), []byte("{"), 0o600))
	if status, out, log := on("list"); status != done || strings.Count(out, "\n") != 5 || !strings.Contains(log, r.ID) {
		t.Error(status, out, log)
	}
}

// The status of a study says what is there and why the rest has to run, also while another process computes it.
func TestStudyStatus(t *testing.T) {
	store := filepath.Join(t.TempDir(), "runs")
	says := func(study string, want ...string) {
		t.Helper()
		_, out, log := do("study", "status", study, "--store", store)
		for _, want := range want {
			if log != "" || !strings.Contains(out, want) {
				t.Errorf("%s%s, want %s", out, log, want)
			}
		}
	}
	do("study", "rates_large", "--store", store, "--only", "seed=1")
	says("rates_large", "2 runs: 0 stored, 1 failed, 1 to run", "missing: 1: FedAvg, seed 2", "failed: 1: FedAvg: ")
	says("rates", "2 runs: 0 stored, 0 failed, 2 to run", "none of 2 runs is in "+store, "of these, there with other options: 1: Local.LR: 0.1, was 1e+30")
	do("study", "rates", "--store", store, "--seeds", "1", "--workers", "2")
	says("rates", "2 runs: 1 stored, 0 failed, 1 to run; 0 running")
	_, out, _ := do("study", "status", "rates", "--store", store, "--json")
	if lines := strings.Split(out, "\n"); len(lines) != 3 || !strings.HasPrefix(lines[0], `{"state":"stored","id":"FedAvg-`) || lines[1] != `{"state":"missing","name":"FedAvg","seed":2}` {
		t.Error(out)
	}
	c := process("study", "rates_long", "--store", store, "--parallel", "1")
	must.M(c.Start())
	for _, out, _ = do("study", "status", "rates_long", "--store", store); !strings.Contains(out, " of 200000, on "); _, out, _ = do("study", "status", "rates_long", "--store", store) {
		time.Sleep(50 * time.Millisecond)
	}
	if !strings.Contains(out, "2 to run; 1 running in "+store) || !strings.Contains(out, "\nrunning: FedAvg-") || !strings.Contains(out, "Options.Rounds: 200000, was 2\nof these, there under no options: 1") {
		t.Error(out)
	}
	must.M(c.Process.Signal(syscall.SIGTERM))
	_ = c.Wait()
}

// On a terminal studies print text, and JSON lines on demand.
func TestTextOnATerminal(t *testing.T) {
	args := []string{"study", "rates", "--store", t.TempDir()}
	for start, more := range map[string][]string{"id  ": args, "{": append(args, "--json")} {
		var out, log bytes.Buffer
		if status := execute(more, &console{out: &out, err: &log, terminal: true}, tried...); status != done || !strings.HasPrefix(out.String(), start) || strings.Contains(out.String(), "{") != (start == "{") {
			t.Errorf("%q: %d, %s%s", more, status, &out, &log)
		}
	}
}

// Names and labels cannot break lines or control a terminal.
func TestNamesOfAnyOrigin(t *testing.T) {
	store := filepath.Join(t.TempDir(), "runs")
	for _, args := range [][]string{{"study", "odd_names"}, {"study", "odd_names"}, {"results", "list"}, {"results", "show"}, {"results", "table"}, {"results", "list", "x=\x1b"}} {
		status, out, log := do(append(args, "--store", store)...)
		if i := strings.IndexFunc(out+log, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 || status == failed {
			t.Errorf("%q: status %d\n%s%s", args, status, out, log)
		}
		if strings.Join(args, " ") == "results list" && (strings.Count(out, "\n") != 3 || !strings.Contains(out, `=1+1\u001b[2J\nFedAvg, world \r\u009b31m`)) {
			t.Error(out)
		}
		if args[0] == "study" && strings.Count(out, "\n") == 2 && !strings.Contains(out, `"name":"=1+1\u001b[2J\nFedAvg"`) {
			t.Error(out)
		}
	}
	if status, out, _ := do("results", "table", "--store", store, "--format", "csv"); status != done || !strings.Contains(out, `"'=1+1\u001b[2J`) {
		t.Error(status, out)
	}
}

// A failed run does not stop the others, but the status is a failure.
func TestStudyTellsOfFailures(t *testing.T) {
	status, out, log := do("study", "rates_both", "--seeds", "1", "--store", t.TempDir())
	if status != failed || strings.Count(out, "\n") != 2 || !strings.Contains(out, "not finite") || !strings.Contains(log, "1 of 2 runs failed") {
		t.Error(status, out, log)
	}
}

// SIGTERM ends a study; finished runs are printed.
func TestStudyIsTerminated(t *testing.T) {
	dir := t.TempDir()
	c := process("study", "short_and_long", "--store", filepath.Join(dir, "runs"))
	var out, log strings.Builder
	c.Stdout, c.Stderr = &out, &log
	must.M(c.Start())
	for stored := []string(nil); stored == nil; time.Sleep(50 * time.Millisecond) {
		stored, _ = filepath.Glob(filepath.Join(dir, "runs", "*", "entry.json"))
	}
	must.M(c.Process.Signal(syscall.SIGTERM))
	_ = c.Wait()
	locks := must.M1(os.ReadDir(filepath.Join(dir, "runs", ".locks")))
	if c.ProcessState.ExitCode() != stopped || strings.Count(out.String(), "\n") != 1 || !strings.Contains(log.String(), "1 of 2 runs are left") || len(locks) > 0 {
		t.Errorf("%v\n%s\n%s", c.ProcessState, &out, &log)
	}
}

// A run is followed until it is over, here at once. The exit status says how it ended.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	if status, _, log := do("follow", path); status != refused || !strings.HasPrefix(log, "fedkit: invalid: file = "+path+": must be one that a run writes: ") {
		t.Error(status, log)
	}
	h := &fedkit.History{Name: "FedAvg", Rounds: []fedkit.Record{{Round: 1}, {Round: 2}}}
	for _, want := range []int{done, stopped} {
		h.Stopped = want == stopped
		expect.OK(t, h.Save(path))
		if status, out, _ := do("follow", path, "--json"); status != want || strings.Count(out, "\n") != 2 || !strings.HasPrefix(out, `{"round":1,`) {
			t.Error(status, out)
		}
		status, out, _ := do("follow", path)
		if status != want || out != "" {
			t.Errorf("status %d, want %d; printed %q", status, want, out)
		}
	}
}
