package worker_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/every"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/worker"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/janpfeifer/must"
	"golang.org/x/sync/errgroup"
)

var twelve = sync.OnceValue(func() *fedkit.Federation {
	return must.M1(fedtest.Quadratic(20, 31, 8, 24, 17, 40, 22, 9, 13, 28, 36, 11))
})

var timed = sync.OnceValue(func() *fedkit.Federation {
	return must.M1(twelve().WithDevices(sim.Devices{PerExample: sim.LogNormal{Median: 0.1, Sigma: 0.5}, Down: sim.Constant(1e3), Up: sim.Uniform{Low: 50, High: 500}, Seed: 1}))
})

// outcome is the bytes of a run of a few rounds.
func outcome(s fedkit.Strategy, fed *fedkit.Federation, on fedkit.Workers) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	h, err := fedkit.Run(ctx, fed, s, fedkit.Options{Rounds: 4, EvalEvery: 2, Seed: 6, Workers: on})
	if err != nil {
		return nil, err
	}
	return fedtest.Outcome(s, h)
}

// alone are the bytes of strategies without workers.
var alone sync.Map

// same fails unless a strategy has the same bytes on workers. It is one of every.Strategies, or given twice: without them, and on them.
func same(t *testing.T, name string, w *worker.Workers, given ...fedkit.Strategy) {
	t.Helper()
	fed := twelve()
	if regexp.MustCompile("FedEff|FedAsync|FedBuff|CCFL").MatchString(name) {
		fed = timed()
	}
	if given == nil {
		given = []fedkit.Strategy{every.Strategies()[name], every.Strategies()[name]}
	}
	want, known := alone.Load(name)
	if !known {
		want = must.M1(outcome(given[0], fed, nil))
		alone.Store(name, want)
	}
	got, err := outcome(given[1], fed, w)
	expect.That(t, err == nil && bytes.Equal(got, want.([]byte)), "%s on %d workers: other bytes than without: %v\n%.300s\n%.300s", name, len(w.PIDs()), err, got, want)
}

// local starts n workers, which end with the test.
func local(t testing.TB, n int) *worker.Workers {
	t.Helper()
	listen()
	w := expect.Value(worker.Local(t.Context(), n))(t)
	t.Cleanup(w.Close)
	return w
}

// end kills workers until n are left.
func end(t *testing.T, w *worker.Workers, n int) {
	t.Helper()
	for _, pid := range w.PIDs()[n:] {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	wait(t, "the loss of workers", func() bool { return len(w.PIDs()) == n })
}

// Histories and States have the same bytes without workers and on 5, of which all but 3, 2, 1 and none are killed meanwhile, for every
// strategy.
func TestEveryStrategy(t *testing.T) {
	expect.Long(t, "many runs")
	w, names := local(t, 5), slices.Sorted(maps.Keys(every.Strategies()))
	for _, n := range []int{5, 3, 2, 1, 0} {
		begin := time.Now()
		var group errgroup.Group
		group.SetLimit(8) // runs share them
		for i, name := range names {
			if i == len(names)/3 {
				end(t, w, n)
			}
			group.Go(func() error {
				same(t, name, w)
				return nil
			})
		}
		_ = group.Wait()
		t.Log(n, "workers:", time.Since(begin))
	}
}

// noticed is FedAvg that tells when models are trained, and not mixed yet.
func noticed(trained func()) *strategy.FedAvg {
	return &strategy.FedAvg{Fraction: 0.5, Local: every.Local, Aggregator: fedkit.AggregatorFunc(func(u *fedkit.Matrix, weights []float64) *fedkit.Matrix {
		trained()
		return aggregate.Mean{}.Aggregate(u, weights)
	})}
}

// Workers that end with a call in flight, or with models that are trained but not mixed, cost no bytes.
func TestKilled(t *testing.T) {
	w := start(t, as("die", 2), as("die", 9), as(), as())
	same(t, "noticed", w, noticed(func() {}), noticed(func() {
		if n := len(w.PIDs()); n > 1 {
			end(t, w, n-1)
		}
	}))
	says(t, as("die", 2)+" was lost: ")
}

// checkpointed are the options of a run that is killed. It has more rounds than there is time for.
func checkpointed(dir string, on fedkit.Workers) fedkit.Options {
	return fedkit.Options{Rounds: 100, EvalEvery: 50, Seed: 6, Checkpoint: filepath.Join(dir, "checkpoint"), CheckpointEvery: 1, Workers: on}
}

// notebook prints its workers, then the rounds of a run.
func notebook(dir string) {
	w := must.M1(worker.Local(context.Background(), 2))
	fmt.Println(w.PIDs()[0])
	fmt.Println(w.PIDs()[1])
	for h, err := range fedkit.Rounds(context.Background(), twelve(), every.Strategies()["SCAFFOLD"], checkpointed(dir, w)) {
		must.M(err)
		fmt.Println("round", len(h.Rounds))
	}
}

// A notebook that dies leaves no worker behind, and resumes from its checkpoint.
func TestKilledNotebook(t *testing.T) {
	s, dir := every.Strategies()["SCAFFOLD"], t.TempDir()
	want := must.M1(fedtest.Outcome(s, must.M1(fedkit.Run(t.Context(), twelve(), s, checkpointed(t.TempDir(), nil)))))
	cmd := exec.Command(must.M1(os.Executable()))
	cmd.Env, cmd.Stderr = append(os.Environ(), roleVariable+"=notebook "+dir), os.Stderr
	out := must.M1(cmd.StdoutPipe())
	must.M(cmd.Start())
	var pids []int
	rounds := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if pid, err := strconv.Atoi(lines.Text()); err == nil {
			pids = append(pids, pid)
		} else if rounds++; rounds == 20 {
			must.M(cmd.Process.Kill())
		}
	}
	if err := cmd.Wait(); err == nil || rounds < 20 || rounds >= 100 || len(pids) != 2 {
		t.Fatalf("it was not killed in the middle: %d rounds, workers %d, %v", rounds, pids, err)
	}
	wait(t, "the end of its workers", func() bool { return gone(pids[0]) && gone(pids[1]) })
	s = every.Strategies()["SCAFFOLD"]
	got := must.M1(fedtest.Outcome(s, must.M1(fedkit.Run(t.Context(), twelve(), s, checkpointed(dir, local(t, 2))))))
	expect.That(t, bytes.Equal(got, want), "it ended with other bytes than a run without workers")
}

// Close, and the end of the context, end the workers, also if what one has started holds its output open. Runs go on without them, by
// this process, which is never lost to silence.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	file := filepath.Join(t.TempDir(), "pid")
	closed := start(t, as(), fmt.Sprintf("setsid sh -c 'echo $$ >%s.new; mv %s.new %s; exec sleep 1000' & %s", file, file, file, as()))
	canceled := must.M1(worker.Local(ctx, 1))
	pids := append(closed.PIDs(), canceled.PIDs()...)
	if _, err := exec.LookPath("setsid"); err == nil {
		wait(t, file, func() bool { _, err := os.Stat(file); return err == nil })
	}
	closed.Close()
	cancel()
	if b, err := os.ReadFile(file); err == nil {
		must.M(syscall.Kill(must.M1(strconv.Atoi(strings.TrimSpace(string(b)))), syscall.SIGKILL))
	}
	wait(t, "their end", func() bool {
		return gone(pids[0]) && gone(pids[1]) && gone(pids[2]) && closed.PIDs() == nil && canceled.PIDs() == nil
	})
	same(t, "FedAvg", closed)
	defer worker.Silence(time.Microsecond)()
	same(t, "FedAvg", canceled)
}

// open returns the device that workers are for a run.
func open(t *testing.T, w *worker.Workers) engine.Device {
	d, leave, err := w.Open(t.Context())
	t.Cleanup(leave)
	return expect.Value(d, err)(t)
}

// plus is a program that adds a number.
func plus(name string, b float64) *xla.Program {
	return xla.NewProgram(name, func(a []*graph.Node) []*graph.Node { return []*graph.Node{graph.AddScalar(a[0], b)} })
}

// A canceled run leaves workers to others. It does not wait for one that does nothing, until that is lost, nor to send it something.
func TestCanceled(t *testing.T) {
	listen()
	w := local(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	expect.Error(t, context.Canceled.Error())(fedkit.Run(ctx, twelve(), noticed(cancel), fedkit.Options{Rounds: 100, Workers: w}))
	same(t, "FedAvg", w)
	d, pid := open(t, w), w.PIDs()[0]
	for _, argument := range []any{float32(1), tensors.FromValue(make([]float32, 1<<18))} {
		must.M(syscall.Kill(pid, syscall.SIGSTOP))
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error)
		for range 4 {
			go func() {
				_, err := d.Run(ctx, plus("plus", 2), []any{argument})
				errs <- err
			}()
		}
		cancel()
		for range 4 {
			expect.Error(t, context.Canceled.Error())(<-errs)
		}
		must.M(syscall.Kill(pid, syscall.SIGCONT))
		same(t, "FedAvg", w)
	}
	n := len(w.PIDs())
	expect.That(t, n == 1, "it waited until the worker was lost")
}

// Commands that do not become workers: what the error says besides the command.
func TestBadCommands(t *testing.T) {
	listen()
	t.Parallel()
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
		"echo fedkit-worker 5; cat":                 {"it is of another version", "fedkit-worker 5", "build both from one fedkit"},
		"exec >&-; sleep 1000":                      {"it closed its output"},
		"GOMLX_BACKEND=xla:/nonexistent.so " + as(): {"fedkit-worker: ", "/nonexistent.so"},
		"PJRT_PLUGIN_LIBRARY_PATH=/nonexistent HOME=/nonexistent " + as(): {"fedkit-worker: ", "finds no XLA plugin"},
	} {
		group.Go(func() {
			expect.Error(t, append(words, "worker: worker 1, "+command)...)(worker.Start(t.Context(), command))
		})
	}
	group.Go(func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		expect.Error(t, "worker 1, sleep 1000 has not started in time", "does it wait for a password, or in a queue?")(worker.Start(ctx, "sleep 1000"))
	})
	expect.Error(t, "they round differently, so use those of one kind", "--xla_cpu_enable_fast_min_max=true")(worker.Start(t.Context(), as(), "XLA_FLAGS=--xla_cpu_enable_fast_min_max=true "+as()))
	group.Wait()
}

// What Start, Local, runs and the command refuse.
func TestBadInput(t *testing.T) {
	listen()
	var nothing context.Context
	expect.Refused(t, "ctx = nil: must be a context")(worker.Start(nothing, "true"))
	expect.Refused(t, "ctx = nil: must be a context")(worker.Local(nothing, 1))
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
	n := len(none.PIDs()) + none.Concurrency()
	expect.That(t, n <= 0, "%v", n)
	for _, w := range []*worker.Workers{none, nil} {
		expect.Invalid(t, "Options.Workers")(fedkit.Run(t.Context(), twelve(), every.Strategies()["FedAvg"], fedkit.Options{Rounds: 1, Workers: w}))
	}
	t.Setenv("CUDA_VISIBLE_DEVICES", "4,6")
	for args, want := range map[string]struct {
		status int
		words  string
	}{
		"--help":  {0, "fedkit-worker runs programs for a fedkit that starts it"},
		"--cpu":   {2, "flag provided but not defined: -cpu"},
		"--gpu x": {2, `invalid value "x" for flag -gpu`},
		"gpu2":    {2, `argument "gpu2": must be none`},
		"--gpu 2": {1, "fedkit-worker: --gpu 2: must be a GPU of CUDA_VISIBLE_DEVICES = 4,6, from 0"},
	} {
		status := worker.Command(strings.Fields(args))
		expect.That(t, status == want.status, "%s: status %d, want %d", args, status, want.status)
		says(t, want.words)
	}
}

// Workers need no disk. What they write is shown with their name, also long lines and those without an end.
func TestSurroundings(t *testing.T) {
	listen()
	plugin := filepath.Dir(must.M1(xla.NewClient()).Plugin())
	w := start(t, "HOME=/proc TMPDIR=/proc FEDKIT_PROGRAMS=/proc PJRT_PLUGIN_LIBRARY_PATH='"+plugin+"' "+as()+" 2>/dev/full",
		"echo a word >&2; head -c 100000 /dev/zero | tr '\\0' x >&2; printf 'no end' >&2; "+as())
	same(t, "FedAvg", w)
	n := len(w.PIDs())
	expect.That(t, n == 2, "%d workers are left of 2", n)
	w.Close()
	for _, words := range []string{"a word\n", strings.Repeat("x", 1000), "no end\n"} {
		says(t, "worker 2, ", as()+": ", words)
	}
}
