package study_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/interrupt"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/study"
)

// child runs a study in its own process, and prints how many runs it computed.
func child(dir string) {
	interrupt.Enable() // as in a notebook
	fed, err := fedkit.New(datasets.Digits(), partition.IID{Clients: 10, Seed: 1}, model.MLP(8))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := fedkit.Run(ctx, fed, avg(0.1), fedkit.Options{Rounds: 1}); err != nil { // compile first
		fmt.Println(err)
		return
	}
	st, count := many(dir, fed), &counter{}
	st.Watch = count
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
	runs, err := st.Run(ctx)
	fmt.Println(len(runs), count.done, err)
}

// many is a study of twelve runs.
func many(dir string, fed *fedkit.Federation) *study.Study {
	st := study.New(dir)
	for _, lr := range []float64{0.05, 0.1, 0.2, 0.3} {
		three(st, fed, avg(lr), 20, "η", lr)
	}
	return st
}

// process is a child that is ready to begin.
type process struct {
	*exec.Cmd
	begin io.Closer
	said  *bufio.Reader
}

func start(t testing.TB, dir string) *process {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "FEDKIT_STUDY="+dir)
	in := expect.Value(c.StdinPipe())(t)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	expect.OK(t, err)
	p := &process{c, in, bufio.NewReader(out)}
	if line, err := p.said.ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	return p
}

// Two processes fill one store: each run is computed once, and the histories are those of a single process.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	both := []*process{start(t, dir), start(t, dir)}
	for _, p := range both {
		_ = p.begin.Close()
	}
	var ran [2]int
	for i, p := range both {
		all := 0
		line, _ := p.said.ReadString('\n')
		if n, err := fmt.Sscan(line, &all, &ran[i]); n != 2 || all != 12 || !strings.HasSuffix(line, "<nil>\n") {
			t.Fatalf("%q, %v", line, err)
		}
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	if ran[0]+ran[1] != 12 || ran[0] == 0 || ran[1] == 0 {
		t.Errorf("%d runs computed, want 12 together", ran)
	}
	wantSame(t, dir)
}

// wantSame compares a store with that of a single process. Nothing else may be left in it.
func wantSame(t *testing.T, dir string) {
	t.Helper()
	fed := digits(t)
	runs, words := run(t, many(dir, fed))
	if !strings.HasPrefix(words, "12 stored, 0 to run") {
		t.Error(words)
	}
	reference, _ := run(t, many(filepath.Join(t.TempDir(), "reference"), fed))
	for i, h := range reference.Histories() {
		if got := withoutTimes(runs.Histories()[i]); got != withoutTimes(h) {
			t.Errorf("run %d differs", i)
		}
	}
	for _, r := range runs {
		files, err := filepath.Glob(r.Path("*"))
		for i := range files {
			files[i] = filepath.Base(files[i])
		}
		hidden, _ := filepath.Glob(r.Path(".*"))
		if want := []string{"entry.json", "history.jsonl"}; err != nil || !slices.Equal(files, want) || len(hidden) > 0 {
			t.Errorf("%s: %q, %q, want %q", r.ID, files, hidden, want)
		}
	}
	if locks, _ := filepath.Glob(filepath.Join(dir, ".locks", "*")); len(locks) > 0 {
		t.Error(locks)
	}
}

// A study that is killed again and again resumes, and ends with the same bytes.
func TestKilledStudies(t *testing.T) {
	if testing.Short() {
		t.Skip("processes are killed, and no goroutine")
	}
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		p := start(t, dir)
		_ = p.begin.Close()
		time.Sleep(time.Duration(20+rng.IntN(150)) * time.Millisecond)
		_ = p.Process.Kill()
		_ = p.Wait()
	}
	run(t, many(dir, digits(t)))
	wantSame(t, dir)
}

// The stop button ends a study without an error: finished runs are stored, and the rest resume from their checkpoints.
func TestStoppedStudies(t *testing.T) {
	if signal.Ignored(os.Interrupt) {
		signal.Reset(os.Interrupt)
	}
	dir := t.TempDir()
	p := start(t, dir)
	_ = p.begin.Close()
	for entries := []string(nil); len(entries) == 0; entries, _ = filepath.Glob(filepath.Join(dir, "*", "entry.json")) {
		time.Sleep(time.Millisecond)
	}
	expect.OK(t, p.Process.Signal(os.Interrupt))
	var runs, done int
	line, _ := p.said.ReadString('\n')
	if n, err := fmt.Sscan(line, &runs, &done); n != 2 || runs == 0 || runs == 12 || !strings.HasSuffix(line, "<nil>\n") {
		t.Fatalf("%q, %v", line, err)
	}
	_ = p.Wait()
	checkpoints, _ := filepath.Glob(filepath.Join(dir, "*", "checkpoint"))
	if done < runs+len(checkpoints) { // one that was stopped in its first round has none
		t.Errorf("%d runs began, %d were finished, %d have a checkpoint", done, runs, len(checkpoints))
	}
	if again, words := run(t, many(dir, digits(t))); len(again) != 12 || !strings.HasPrefix(words, fmt.Sprintf("%d stored, %d to run", runs, 12-runs)) {
		t.Error(len(again), words)
	}
	wantSame(t, dir)
}
