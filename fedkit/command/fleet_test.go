package command

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/fleet"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

// start starts the command as a process, which ends with the test.
func start(t *testing.T, args ...string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	c, log := process(args...), new(strings.Builder)
	c.Stdout, c.Stderr = log, log
	must.M(c.Start())
	t.Cleanup(func() { _ = c.Process.Kill() })
	return c, log
}

// stop interrupts a process, and fails unless it ends at once with status 0.
func stop(t *testing.T, c *exec.Cmd, log *strings.Builder, by os.Signal) {
	t.Helper()
	begin := time.Now()
	must.M(c.Process.Signal(by))
	if err := c.Wait(); err != nil || time.Since(begin) > 2*time.Second {
		t.Errorf("%q: %v: %v after %v\n%s", c.Args[1:], by, err, time.Since(begin), log)
	}
}

// await waits for a condition that takes a moment.
func await(t *testing.T, what string, there func() bool) {
	t.Helper()
	for begin := time.Now(); !there(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			t.Fatal("no", what)
		}
	}
}

// listed returns the command's list of a fleet.
func listed(t *testing.T, file string) (hub hubLine, workers []workerLine) {
	t.Helper()
	status, out, log := do("fleet", file, "--json")
	if status != done {
		t.Fatal(status, log)
	}
	first, rest, _ := strings.Cut(out, "\n")
	if err := json.Unmarshal([]byte(first), &struct{ Hub *hubLine }{&hub}); err != nil {
		t.Fatal(first, err)
	}
	for text := range strings.Lines(rest) {
		var w workerLine
		if err := json.Unmarshal([]byte(text), &w); err != nil {
			t.Fatal(text, err)
		}
		workers = append(workers, w)
	}
	return hub, workers
}

// A hub for other machines and two workers, one of which has the file for workers alone, complete a run, are listed, and exit
// when interrupted.
func TestFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing is concurrent in the command itself")
	}
	file := filepath.Join(t.TempDir(), "fleet.json")
	less := strings.TrimSuffix(file, ".json") + ".worker.json"
	hub, hubLog := start(t, "hub", "--file", file, "--listen", "127.0.0.1:0", "--memory", "300MB", "--disk", "1GB")
	await(t, "file", func() bool { _, err := os.Stat(less); return err == nil })
	first, firstLog := start(t, "worker", less, "--cores", "1", "--slots", "2", "--memory", "100MB")
	second, secondLog := start(t, "worker", file, "--cores", "0")
	f := must.M1(fleet.Join(file))
	defer f.Close()
	must.M(f.Wait(t.Context(), 2))
	fed := must.M1(fedtest.Quadratic(20, 31, 8, 24))
	avg := &strategy.FedAvg{Local: fedkit.Local{Batch: 8, LR: 0.1}}
	expect.Value(fedkit.Run(t.Context(), fed, avg, fedkit.Options{Rounds: 3, Fleet: f}))(t)
	status, out, log := do("run", "testdata/run.yaml", "--rounds", "2", "--fleet", file)
	if status != done {
		t.Fatal(status, log)
	}
	if rounds, s := decode(t, out); len(rounds) != 2 || !strings.HasPrefix(s.Device, "cpu") {
		t.Error(out)
	}
	h, workers := listed(t, file)
	if !strings.HasPrefix(h.URL, "tls://127.0.0.1:") || h.Disk == 0 || len(workers) != 2 {
		t.Fatal(h, workers)
	}
	calls := int64(0)
	for i, w := range workers {
		want := workerLine{Worker: w.Worker, Host: w.Host, Process: []int{first.Process.Pid, second.Process.Pid}[i], Slots: 2 - i, Kind: workers[0].Kind, Threads: 1, Doing: w.Doing, Bytes: w.Bytes, Done: w.Done,
			Processor: w.Processor, Plugin: w.Plugin}
		if got, want := fmt.Sprint(w), fmt.Sprint(want); got != want || w.Host == "" {
			t.Errorf("%s, want %s", got, want)
		}
		calls += w.Done
	}
	if calls == 0 {
		t.Error("no calls were done")
	}
	stop(t, first, firstLog, syscall.SIGTERM)
	stop(t, second, secondLog, os.Interrupt)
	stop(t, hub, hubLog, syscall.SIGTERM)
	if says := "hub at " + h.URL + "\nworkers here:     ./scripts/worker " + file + "\nworkers elsewhere: copy " + less; !strings.HasPrefix(hubLog.String(), says) {
		t.Error(hubLog)
	}
}

// Mistakes in a file, a key, an option or a machine are named.
func TestFleetMistakes(t *testing.T) {
	at := func(name string) string { return filepath.Join(t.TempDir(), name) }
	text := func(text string) string {
		file := at("fleet.json")
		must.M(os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	file := at("fleet.json")
	hub := must.M1(fleet.StartHub(fleet.HubOptions{File: file, Listen: "127.0.0.1:0"}))
	defer hub.Close()
	other := at("fleet.json")
	gone := must.M1(fleet.StartHub(fleet.HubOptions{File: other}))
	gone.Close()
	both := map[string]any{}
	for _, path := range []string{file, other} { // the address of the first, the keys of the second
		b, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(b, &both)
		}
		expect.OK(t, err)
		both["url"] = hub.URL()
	}
	mixed := must.M1(json.Marshal(both))
	wrongKey := text(string(mixed))
	for _, c := range []struct {
		status int
		says   string
		args   []string
	}{
		{refused, `expected "<file>"`, []string{"worker"}},
		{refused, "missing.json: no such file or directory; ./scripts/hub writes one", []string{"worker", "missing.json"}},
		{refused, "missing.json: no such file or directory", []string{"fleet", "missing.json"}},
		{refused, "invalid character 'o'", []string{"worker", text("no file of a hub")}},
		{refused, "version 9: this fedkit reads version 1", []string{"fleet", text(`{"version": 9}`)}},
		{refused, "it has no url", []string{"fleet", text(`{"version": 1}`)}},
		{refused, "refuses its key: it is of another hub", []string{"worker", wrongKey}},
		{refused, "refuses its key: it is of another hub", []string{"fleet", wrongKey}},
		{refused, "a key for workers, and none for notebooks", []string{"fleet", hub.WorkerFile()}},
		{failed, "no hub answers at " + gone.URL(), []string{"worker", other}},
		{failed, "no hub answers at " + gone.URL(), []string{"fleet", other}},
		{refused, "cores = two: must be how many, such as 2", []string{"worker", file, "--cores", "two"}},
		{refused, "cores = 7-99999: must be", []string{"worker", file, "--cores", "7-99999"}},
		{refused, "--gpu = -1: must be", []string{"worker", file, "--gpu=-1"}},
		{refused, "--slots = -1: must be at least 1", []string{"worker", file, "--slots=-1"}},
		{refused, "--memory: must be a size, such as 500MB", []string{"worker", file, "--memory", "a lot"}},
		{refused, "--idle = -1h0m0s: must be", []string{"worker", file, "--idle=-1h"}},
		{refused, "Listen = 4222: must be host:port", []string{"hub", "--file", at("new.json"), "--listen", "4222"}},
		{refused, "Memory = 5: must be at least 16 MB", []string{"hub", "--file", at("new.json"), "--memory", "5"}},
		{failed, "another one keeps its objects in " + file + ".hub", []string{"hub", "--file", file}},
		{failed, "address already in use", []string{"hub", "--file", at("new.json"), "--listen", strings.TrimPrefix(hub.URL(), "tls://")}},
	} {
		if status, out, err := do(c.args...); status != c.status || out != "" || !strings.Contains(err, c.says) {
			t.Errorf("%q: status %d, printed %q and %q, want %q", c.args, status, out, err, c.says)
		}
	}
}

// A machine without the plugin, or without the GPU, cannot be a worker.
func TestWorkerWithoutDevice(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fleet.json")
	hub := must.M1(fleet.StartHub(fleet.HubOptions{File: file}))
	defer hub.Close()
	for _, c := range []struct {
		backend string
		status  int
		says    string
		args    []string
	}{
		{"xla:/no/such/plugin.so", failed, `no XLA device: GOMLX_BACKEND = "xla:/no/such/plugin.so"`, nil},
		{"xla:/no/such/plugin.so", failed, "no XLA device", []string{"--gpu", "0"}},
		{"xla:cpu", refused, "--gpu = 0: must be left out: GOMLX_BACKEND = xla:cpu is no GPU", []string{"--gpu", "0"}},
	} {
		p := process(append([]string{"worker", file}, c.args...)...)
		p.Env = append(p.Env, "GOMLX_BACKEND="+c.backend)
		stuck := time.AfterFunc(20*time.Second, func() { _ = p.Process.Kill() })
		out, _ := p.CombinedOutput()
		stuck.Stop()
		if p.ProcessState.ExitCode() != c.status || !strings.Contains(string(out), c.says) {
			t.Errorf("%s %q: %v: %s", c.backend, c.args, p.ProcessState, out)
		}
	}
}

// Sizes have units of 1000 and of 1024.
func TestSizes(t *testing.T) {
	for text, want := range map[string]size{"1": 1, "500MB": 500e6, "1.5GB": 15e8, "4GiB": 4 << 30, "2kB": 2000, "1TiB": 1 << 40} {
		if got := size(0); got.UnmarshalText([]byte(text)) != nil || got != want {
			t.Errorf("%s is %d, want %d", text, got, want)
		}
	}
	for _, text := range []string{"", "0", "-1GB", "GB", "1 GB", "1XB", "1BB", "1e30", "NaN"} {
		if got := size(0); got.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// A program that does not call Main is not started again.
func TestLocalWithoutMain(t *testing.T) {
	expect.Error(t, "fleet.Main must come first in main")(fleet.Local(1, fleet.LocalOptions{Dir: t.TempDir()}))
}
