package worker_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/aggregate"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/every"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/worker"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/janpfeifer/must"
)

// gone reports whether a process has ended, whether or not anybody has asked for its status.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// noticed is FedAvg that tells when models are trained, and not mixed yet.
func noticed(trained func()) *strategy.FedAvg {
	return &strategy.FedAvg{Fraction: 0.5, Local: every.Local, Aggregator: fedkit.AggregatorFunc(func(u *fedkit.Matrix, weights []float64) *fedkit.Matrix {
		trained()
		return aggregate.Mean{}.Aggregate(u, weights)
	})}
}

// Workers that end with a call in flight, whichever, or with models that are trained but not mixed, cost no bytes.
func TestKilled(t *testing.T) {
	fed := must.M1(twelve())
	want := must.M1(outcome(fed, noticed(func() {}), nil))
	w := start(t, as("die", 2), as("die", 9), as(), as())
	got, err := outcome(fed, noticed(func() {
		if n := len(w.PIDs()); n > 1 {
			end(t, w, n-1)
		}
	}), w)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("other bytes: %v", err)
	}
	for _, n := range []int{2, 9} {
		says(t, as("die", n)+" was lost: ")
	}
}

// checkpointed are the options of a run that is killed. It has more rounds than there is time for.
func checkpointed(dir string, on fedkit.Workers) fedkit.Options {
	return fedkit.Options{Rounds: 100, EvalEvery: 50, Seed: 6, Checkpoint: filepath.Join(dir, "checkpoint"), CheckpointEvery: 1, Workers: on}
}

// notebook prints its workers, then the rounds of a run.
func notebook(dir string) {
	w := must.M1(worker.Local(context.Background(), 2))
	for _, pid := range w.PIDs() {
		fmt.Println(pid)
	}
	for h, err := range fedkit.Rounds(context.Background(), must.M1(twelve()), every.Strategies()["SCAFFOLD"], checkpointed(dir, w)) {
		must.M(err)
		fmt.Println("round", len(h.Rounds))
	}
}

// A notebook that dies leaves no worker behind, and resumes from its checkpoint.
func TestKilledNotebook(t *testing.T) {
	var both [2][]byte
	dir := t.TempDir()
	for i, folder := range []string{t.TempDir(), dir} {
		var on fedkit.Workers
		if i == 1 {
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
			on = local(t, 2)
		}
		s := every.Strategies()["SCAFFOLD"]
		both[i] = must.M1(fedtest.Outcome(s, must.M1(fedkit.Run(t.Context(), must.M1(twelve()), s, checkpointed(folder, on)))))
	}
	if !bytes.Equal(both[0], both[1]) {
		t.Error("it ended with other bytes than a run without workers")
	}
}

// Close, and the end of the context, end the workers. Runs go on without them.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	closed, canceled := local(t, 2), must.M1(worker.Local(ctx, 1))
	pids := append(closed.PIDs(), canceled.PIDs()...)
	closed.Close()
	cancel()
	wait(t, "their end", func() bool {
		return gone(pids[0]) && gone(pids[1]) && gone(pids[2]) && closed.PIDs() == nil && canceled.PIDs() == nil
	})
	fed := must.M1(twelve())
	want := must.M1(outcome(fed, every.Strategies()["FedAvg"], nil))
	for _, w := range []*worker.Workers{closed, canceled} {
		if got, err := outcome(fed, every.Strategies()["FedAvg"], w); err != nil || !bytes.Equal(got, want) {
			t.Errorf("other bytes: %v", err)
		}
	}
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

// A canceled run leaves workers to others, and does not wait for those that do nothing, with answers or with what they are sent.
func TestCanceled(t *testing.T) {
	fed, w := must.M1(twelve()), local(t, 2)
	want := must.M1(outcome(fed, every.Strategies()["FedAvg"], nil))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := fedkit.Run(ctx, fed, noticed(cancel), fedkit.Options{Rounds: 100, Workers: w})
	expect.Error(t, context.Canceled.Error())(err)
	if got, err := outcome(fed, every.Strategies()["FedAvg"], w); err != nil || !bytes.Equal(got, want) {
		t.Errorf("other bytes: %v", err)
	}
	d := open(t, w)
	for _, argument := range []any{float32(1), tensors.FromValue(make([]float32, 1<<18))} {
		for _, pid := range w.PIDs() {
			must.M(syscall.Kill(pid, syscall.SIGSTOP))
		}
		ctx, cancel := context.WithCancel(t.Context())
		var errs [4]chan error
		for i := range errs {
			errs[i] = make(chan error, 1)
			go func() {
				_, err := d.Run(ctx, plus("plus", 2), []any{argument})
				errs[i] <- err
			}()
		}
		cancel()
		for i := range errs {
			expect.Error(t, context.Canceled.Error())(<-errs[i])
		}
		for _, pid := range w.PIDs() {
			must.M(syscall.Kill(pid, syscall.SIGCONT))
		}
		if n := len(w.PIDs()); n != 2 {
			t.Errorf("%d workers are left, want 2: it waited until one was lost", n)
		}
	}
	if got, err := outcome(fed, every.Strategies()["FedAvg"], w); err != nil || !bytes.Equal(got, want) {
		t.Errorf("other bytes: %v", err)
	}
}

// A program that kills the processes which get it ends its run after three of them, however many calls there are, and after both of two:
// this process is not the third. Other runs go on.
func TestProgramThatKills(t *testing.T) {
	fed := must.M1(twelve())
	want := must.M1(outcome(fed, every.Strategies()["FedAvg"], nil))
	deadly := as("deadly", 4711)
	w := start(t, deadly, deadly, deadly, deadly)
	_ = must.M1(outcome(fed, every.Strategies()["FedAvg"], w)) // its programs are not new
	other := make(chan bool)
	go func() {
		got, err := outcome(fed, every.Strategies()["FedAvg"], w)
		other <- err == nil && bytes.Equal(got, want)
	}()
	d, errs := open(t, w), make(chan error)
	bad := plus("bad", 4711)
	for range 8 {
		go func() {
			_, err := d.Run(t.Context(), bad, []any{float32(1)})
			errs <- err
		}()
	}
	for range 8 {
		expect.Error(t, `program "bad"`, "3 workers were lost while they had it")(<-errs)
	}
	if n := len(w.PIDs()); n != 1 {
		t.Errorf("%d workers are left of 4, want 1", n)
	}
	if !<-other {
		t.Error("another run: other bytes")
	}

	w = start(t, deadly, deadly)
	w.Only = true
	d = open(t, w)
	out := expect.Value(d.Run(t.Context(), plus("good", 1), []any{float32(1)}))(t)
	expect.Error(t, "2 workers were lost while they had it", "worker 1, ", "worker 2, ")(out[0].Then(bad))
	for range 100 { // a run after the other, or all
		expect.Error(t, "worker: no worker is left, and Workers.Only is set: worker 1, ", " was lost: ")(d.Run(t.Context(), plus("good", 1), []any{float32(1)}))
		expect.Error(t, "no worker is left")(out[0].Tensor())
	}
	_, err := outcome(fed, every.Strategies()["FedAvg"], w)
	expect.Error(t, "no worker is left")(err)
}
