package study_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/interrupt"
	"fedkit.example/fedkit/study"
	"github.com/janpfeifer/must"
)

// child runs a study in its own process, and prints how many runs it computed.
func child(dir string) {
	interrupt.Enable() // as in a notebook
	fed := ten()
	must.M1(fedkit.Run(ctx, fed, avg(0.1), fedkit.Options{Rounds: 1})) // compile first
	st, count := many(dir, fed), &counter{}
	st.Watch = count
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
	runs, err := st.Run(ctx)
	fmt.Println(len(runs), count.done, count.others, err)
}

// many is a study of twelve runs.
func many(dir string, fed *fedkit.Federation) *study.Study {
	st := study.New(dir)
	for _, lr := range []float64{0.05, 0.1, 0.2, 0.3} {
		three(st, fed, avg(lr), 20, "η", lr)
	}
	return st
}

// result returns how many runs the process computed, and how many others did. It ends with words.
func (p *process) result(t *testing.T, words string) (here, others int) {
	t.Helper()
	var all int
	line, err := p.said.ReadString('\n')
	if n, _ := fmt.Sscan(line, &all, &here, &others); n != 3 || !strings.Contains(line, words) {
		t.Errorf("%q, %v, want %s", line, err, words)
	}
	_ = p.Wait()
	return here, others
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

// Three processes fill one store: each run is computed once, each process is told of all, and the histories are those of a single one.
func TestThreeProcesses(t *testing.T) {
	dir := t.TempDir()
	all := []*process{start(t, dir), start(t, dir), start(t, dir)}
	for _, p := range all {
		_ = p.begin.Close()
	}
	var ran, total int
	for _, p := range all {
		n, others := p.result(t, "<nil>")
		if ran += n; n > 0 {
			total++
		}
		if n+others != 12 {
			t.Errorf("told of %d and %d runs", n, others)
		}
	}
	if ran != 12 || total < 2 {
		t.Errorf("%d runs computed by %d processes, want 12", ran, total)
	}
	wantSame(t, dir)
}

// wantSame compares a store with that of a single process. Nothing else may be left in it.
func wantSame(t *testing.T, dir string) {
	t.Helper()
	fed := ten()
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

// stored are the entries of a store as they were first seen.
type stored map[string]os.FileInfo

// look refuses entries that were written again.
func (s stored) look(t *testing.T, dir string) {
	t.Helper()
	entries, _ := filepath.Glob(filepath.Join(dir, "*", "entry.json"))
	for _, path := range entries {
		is := expect.Value(os.Stat(path))(t)
		if was := s[path]; was != nil && !(os.SameFile(was, is) && was.ModTime().Equal(is.ModTime())) {
			t.Errorf("%s was computed again", path)
		}
		s[path] = is
	}
}

// Processes that are killed beside each other lose no run and compute none twice, and the store ends with the same bytes.
func TestKilledStudies(t *testing.T) {
	if testing.Short() {
		t.Skip("processes are killed, and no goroutine")
	}
	dir, once := t.TempDir(), stored{}
	rng := rand.New(rand.NewPCG(1, 2))
	var all []*process
	for range 6 {
		all = append(all, start(t, dir))
	}
	for i, p := range all {
		if _ = p.begin.Close(); i < 2 {
			continue // three at a time
		}
		time.Sleep(time.Duration(20+rng.IntN(100)) * time.Millisecond)
		once.look(t, dir)
		if i < 5 {
			_ = all[i-2].Process.Kill()
			_ = all[i-2].Wait()
		}
	}
	for _, p := range all[3:] {
		p.result(t, "<nil>")
	}
	once.look(t, dir)
	wantSame(t, dir)
}

// A process that stands still loses its run to another, which goes on from the checkpoint. When it wakes up it says so, and leaves what
// the other has stored.
func TestProcessThatStandsStill(t *testing.T) {
	dir, once, p := "", stored{}, (*process)(nil)
	for computing := false; !computing; {
		dir = t.TempDir() // a new one if the process ended before it was caught
		p = start(t, dir)
		_ = p.begin.Close()
		for over := false; !computing && !over; {
			expect.OK(t, p.Process.Signal(syscall.SIGCONT))
			time.Sleep(time.Millisecond)
			expect.OK(t, p.Process.Signal(syscall.SIGSTOP))
			var is syscall.WaitStatus
			_ = expect.Value(syscall.Wait4(p.Process.Pid, &is, syscall.WUNTRACED, nil))(t)
			over = !is.Stopped()
			held := study.Computing(dir)
			computing = len(held) > 0 && !over
			for _, a := range held { // neither before the first round, nor when it is about to be stored
				files, _ := filepath.Glob(filepath.Join(dir, a.ID, "*"))
				computing = computing && len(files) == 1 && filepath.Base(files[0]) == "checkpoint.rounds"
			}
		}
	}
	defer study.Race()()
	if runs, _ := run(t, many(dir, ten())); len(runs) != 12 || len(runs.Failed()) > 0 {
		t.Error(runs.Failed())
	}
	once.look(t, dir)
	expect.OK(t, p.Process.Signal(syscall.SIGCONT))
	p.result(t, "another process took the run over")
	once.look(t, dir)
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
	if again, words := run(t, many(dir, ten())); len(again) != 12 || !strings.HasPrefix(words, fmt.Sprintf("%d stored, %d to run", runs, 12-runs)) {
		t.Error(len(again), words)
	}
	wantSame(t, dir)
}

// said calls a function for what is written.
type said func(string)

func (s said) Write(b []byte) (int, error) { s(string(b)); return len(b), nil }

// Submit starts what computes the runs, once, and follows it. It computes nothing here.
func TestSubmit(t *testing.T) {
	dir, out := filepath.Join(t.TempDir(), "runs [α] *"), filepath.Join(t.TempDir(), "out")
	fed := ten()
	submit := func(command, until string) (study.Runs, string, error) {
		st, log := many(dir, fed), ""
		ctx, stop := context.WithCancelCause(ctx)
		count := &counter{}
		st.Watch, st.Log = count, said(func(words string) {
			if log += words; strings.Contains(words, until) {
				stop(fedkit.ErrStopped) // as the button does
			}
		})
		runs, err := st.Submit(ctx, command)
		if count.others != len(runs) || count.done > 0 {
			t.Errorf("%d of %d runs were told of, %d computed here", count.others, len(runs), count.done)
		}
		return runs, log, err
	}
	notes := func() (paths []string) {
		files := expect.Value(os.ReadDir(dir))(t)
		for _, f := range files {
			if strings.HasPrefix(f.Name(), ".submitted.") {
				paths = append(paths, filepath.Join(dir, f.Name()))
			}
		}
		return paths
	}
	if runs, _, err := submit("echo no such partition >&2; exit 3", "never"); fmt.Sprint(err) != "study: Submit: echo no such partition >&2; exit 3: exit status 3: no such partition" || len(runs)+len(notes()) > 0 {
		t.Error(runs, err)
	}
	if _, _, err := submit(" ", "never"); !errors.Is(err, fedkit.ErrInvalid) {
		t.Error(err)
	}
	const job, left = "Submitted batch job 12\n", "stopped following: the jobs go on; 12 of 12 runs are left\n"
	for i, command := range []string{"echo Submitted batch job 12", "exit 7"} { // the second is not run
		runs, log, err := submit(command, job)
		before := []string{"0 stored, 12 to run\n", "0 stored, 12 to run\nsubmitted before: "}[i] + "echo Submitted batch job 12\n" + job
		if err != nil || len(runs) > 0 || !strings.HasPrefix(log, before) || !strings.HasSuffix(log, left) || len(notes()) != 1 {
			t.Errorf("%v, %v, %q, %q", runs, err, log, notes())
		}
	}
	expect.OK(t, os.Remove(notes()[0]))
	runs, log, err := submit(fmt.Sprintf(`FEDKIT_STUDY="$FEDKIT_STUDY_DIR" '%s' </dev/null >'%s' 2>&1 & echo job 1`, os.Args[0], out), "never")
	if err != nil || len(runs) != 12 || len(notes()) > 0 || !strings.HasSuffix(log, "echo job 1\njob 1\n") {
		t.Errorf("%v, %v, %q, %q", runs, err, log, notes())
	}
	for end := []byte(nil); !strings.HasSuffix(string(end), "<nil>\n"); end, _ = os.ReadFile(out) {
		time.Sleep(time.Millisecond)
	}
	expect.OK(t, runs.Remove())
	for _, r := range runs {
		expect.OK(t, os.WriteFile(filepath.Join(dir, ".locks", r.ID), []byte("another machine's"), 0o600))
	}
	if _, log, err := submit("exit 7", "other processes"); err != nil || !strings.HasSuffix(log, "other processes compute all that is missing\n"+left) {
		t.Errorf("%v, %q", err, log)
	}
}
