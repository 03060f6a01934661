package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/every"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/worker"
	"github.com/janpfeifer/must"
)

// Commands that do not become workers: what the error says besides the command.
func TestBadCommands(t *testing.T) {
	var group sync.WaitGroup
	for command, words := range map[string][]string{
		"/nonexistent/fedkit-worker --gpu 0":        {"not found", "try it in a terminal: it must ask nothing, and first write"},
		"exit 3":                                    {"exit status 3"},
		"true":                                      {"it ended"},
		"echo first, it speaks >&2; exit 4":         {"exit status 4: first, it speaks"},
		"printf 'no end' >&2; exit 5":               {"exit status 5: no end"},
		"read password </dev/tty":                   {"/dev/tty"},
		"echo Welcome to gpu2; cat":                 {`something else writes first, such as a login message: "Welcome to gpu2"`},
		"cat /dev/zero":                             {`something else writes first`},
		"echo fedkit-worker 4; cat":                 {"it is of another version", "fedkit-worker 4", "build both from one fedkit"},
		"exec >&-; sleep 1000":                      {"it closed its output"},
		as("no hello"):                              {"an answer to call 0, which it does not have"},
		as("no slots"):                              {"an answer to call 0, which it does not have"},
		"GOMLX_BACKEND=xla:/nonexistent.so " + as(): {"fedkit-worker: ", "/nonexistent.so"},
		"PJRT_PLUGIN_LIBRARY_PATH=/nonexistent HOME=/nonexistent " + as(): {"fedkit-worker: ", "finds no XLA plugin"},
	} {
		group.Go(func() {
			w, err := worker.Start(t.Context(), command)
			expect.Error(t, append(words, "worker: worker 1, "+command)...)(err)
			if w != nil {
				t.Errorf("%s: workers besides an error", command)
			}
		})
	}
	group.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	expect.Error(t, "worker 1, sleep 1000 has not started in time", "does it wait for a password, or in a queue?")(worker.Start(ctx, "sleep 1000"))
	expect.Error(t, "they round differently, so use those of one kind", "--xla_cpu_enable_fast_min_max=true")(worker.Start(t.Context(), as(), "XLA_FLAGS=--xla_cpu_enable_fast_min_max=true "+as()))
}

// What Start, Local, runs and the command refuse.
func TestBadInput(t *testing.T) {
	expect.Refused(t, "ctx = nil: must be a context")(worker.Start(nil, "true")) //nolint:staticcheck // it is the mistake
	expect.Refused(t, "ctx = nil: must be a context")(worker.Local(nil, 1))      //nolint:staticcheck // it is the mistake
	expect.Refused(t, "commands = none: must be at least one")(worker.Start(t.Context()))
	expect.Refused(t, `commands[1] = " ": must be a command`)(worker.Start(t.Context(), "true", " "))
	for _, n := range []int{-1, 0, 1025} {
		expect.Refused(t, fmt.Sprintf("n = %d: must be a number of workers", n))(worker.Local(t.Context(), n))
	}
	worker.Restartable(false)
	expect.Error(t, "worker: Local: this program cannot be started again as a worker: worker.Main must come first in main")(worker.Local(t.Context(), 1))
	worker.Restartable(true)
	none := new(worker.Workers)
	none.Close()
	if n := len(none.PIDs()) + none.Concurrency(); n > 0 {
		t.Error(n)
	}
	for _, w := range []*worker.Workers{none, nil} {
		expect.Invalid(t, "Options.Workers")(fedkit.Run(t.Context(), must.M1(twelve()), every.Strategies()["FedAvg"], fedkit.Options{Rounds: 1, Workers: w}))
	}
	t.Setenv("CUDA_VISIBLE_DEVICES", "4,6")
	for _, c := range []struct {
		status      int
		args, words string
	}{
		{0, "--help", "fedkit-worker runs programs for a fedkit that starts it"},
		{2, "--cpu", "flag provided but not defined: -cpu"},
		{2, "--gpu x", `invalid value "x" for flag -gpu`},
		{2, "gpu2", `argument "gpu2": must be none`},
		{1, "--gpu 2", "fedkit-worker: --gpu 2: must be a GPU of CUDA_VISIBLE_DEVICES = 4,6, from 0"},
	} {
		if status := worker.Command(strings.Fields(c.args)); status != c.status {
			t.Errorf("%s: status %d, want %d", c.args, status, c.status)
		}
		says(t, c.words)
	}
}

// Workers need no disk and no terminal. What they write is shown with their name, also long lines and those without an end.
func TestSurroundings(t *testing.T) {
	fed := must.M1(twelve())
	want := must.M1(outcome(fed, every.Strategies()["FedAvg"], nil))
	plugin := filepath.Dir(must.M1(xla.NewClient()).Plugin())
	w := start(t, "HOME=/proc TMPDIR=/proc FEDKIT_PROGRAMS=/proc PJRT_PLUGIN_LIBRARY_PATH="+plugin+" "+as()+" 2>/dev/full",
		"echo a word >&2; echo word on word >&2; "+as(),
		"head -c 100000 /dev/zero | tr '\\0' x >&2; printf 'no end' >&2; "+as())
	if got, err := outcome(fed, every.Strategies()["FedAvg"], w); err != nil || !bytes.Equal(got, want) {
		t.Errorf("other bytes: %v", err)
	}
	if n := len(w.PIDs()); n != 3 {
		t.Errorf("%d workers are left of 3", n)
	}
	w.Close()
	says(t, "worker 2, ", as()+": a word\n")
	says(t, "worker 2, ", as()+": word on word\n")
	says(t, "worker 3, ", as()+": "+strings.Repeat("x", 1000))
	says(t, "worker 3, ", "no end\n")
}

// Close ends workers also if what they have started holds their output open.
func TestHeldOpen(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "pid")
	w := start(t, fmt.Sprintf("setsid sh -c 'echo $$ >%s.new && mv %s.new %s; exec sleep 1000' & %s", file, file, file, as()))
	wait(t, file, func() bool { _, err := os.Stat(file); return err == nil })
	pid := must.M1(strconv.Atoi(strings.TrimSpace(string(must.M1(os.ReadFile(file))))))
	w.Close()
	if gone(pid) {
		t.Error("it has ended before")
	}
	must.M(syscall.Kill(pid, syscall.SIGKILL))
}

// This process is never lost to silence.
func TestSilence(t *testing.T) {
	w := local(t, 1)
	fed, d := must.M1(twelve()), open(t, w)
	_ = expect.Value(d.Run(t.Context(), plus("plus", 1), []any{float32(1)}))(t)
	end(t, w, 0)
	defer worker.Silence(time.Microsecond)()
	want := must.M1(outcome(fed, every.Strategies()["FedAvg"], nil))
	if got, err := outcome(fed, every.Strategies()["FedAvg"], w); err != nil || !bytes.Equal(got, want) {
		t.Errorf("other bytes: %v", err)
	}
}
