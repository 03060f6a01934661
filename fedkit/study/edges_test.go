package study_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/study"
	"github.com/janpfeifer/must"
)

// firstRound runs a study of a run of three rounds, and returns the first that is computed.
func firstRound(t *testing.T, st *study.Study) int {
	t.Helper()
	computed := 0
	st.Watch = rounds(func(*fedkit.History) { computed++ })
	if runs, _ := run(t, st); runs[0].Rounds != 3 {
		t.Error(runs)
	}
	return 4 - computed
}

// A recomputed run does not resume from a checkpoint.
func TestAgainFromTheStart(t *testing.T) {
	fed, dir := digits(t), t.TempDir()
	st := study.New(dir)
	st.Add(fed, avg(0.1), fedkit.Options{Rounds: 3})
	runs, _ := run(t, st)
	for range fedkit.Rounds(ctx, fed, avg(0.1), fedkit.Options{Rounds: 3, Checkpoint: runs[0].Path("checkpoint")}) {
		break
	}
	st.Recompute = true
	if first := firstRound(t, st); first != 1 {
		t.Errorf("it begins with round %d", first)
	}
}

// A run of more rounds goes on from that of fewer, and ends as if it had not.
func TestMoreRounds(t *testing.T) {
	fed, computed, ends := digits(t), []int(nil), []string(nil)
	for _, lengths := range [][]int{{2, 4, 6}, {6}} {
		st := study.New(t.TempDir())
		st.Parallel, st.Watch = 1, rounds(func(h *fedkit.History) { computed = append(computed, h.Last().Round) })
		for _, n := range lengths {
			st.Add(fed, avg(0.1), fedkit.Options{Rounds: n, Seed: 3, EvalEvery: 3, Keep: fedkit.Keep{Results: 5}})
		}
		runs, _ := run(t, st)
		for _, r := range runs {
			if r.Rounds == 6 {
				ends = append(ends, withoutTimes(expect.Value(r.History())(t)))
			}
			if left, _ := filepath.Glob(r.Path("checkpoint*")); left != nil {
				t.Errorf("a run of %d rounds left %v", r.Rounds, left)
			}
		}
	}
	if want := []int{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}; !slices.Equal(computed, want) {
		t.Errorf("computed %v, want %v", computed, want)
	}
	if ends[0] != ends[1] {
		t.Errorf("a run of 6 rounds ended with %s, alone with %s", ends[0], ends[1])
	}
}

// A run that StopAt ends is complete: it is stored, says why it ended, here and in an extract, and is not computed again. One of more
// rounds ends where it did.
func TestRunsThatEndEarly(t *testing.T) {
	fed, dir, computed := digits(t), t.TempDir(), 0
	for i, lengths := range [][]int{{8}, {8}, {8, 20}, {20, 30, 40}} {
		st := study.New(dir)
		st.Parallel, st.Models, st.Watch = 1, true, rounds(func(*fedkit.History) { computed++ })
		for _, n := range lengths {
			st.Add(fed, avg(0.1), fedkit.Options{Rounds: n, EvalEvery: 2, StopAt: fedkit.StopAt{Quantity: "loss", Value: 100}})
		}
		runs, _ := run(t, st)
		for _, r := range append(runs, extracted(runs, t.TempDir())...) {
			h := expect.Value(r.History())(t)
			if r.Rounds != 2 || h.Stopped || !strings.Contains(h.Early, "in round 2 reached 100") || r.About.Early != h.Early {
				t.Errorf("study %d: %d rounds, stopped %v, early %q and %q", i, r.Rounds, h.Stopped, h.Early, r.About.Early)
			}
			if left, _ := filepath.Glob(r.Path("checkpoint*")); left != nil {
				t.Errorf("it left %v", left)
			}
		}
	}
	if computed != 6 {
		t.Errorf("%d rounds were computed, want 2 of the first run, 2 of the one of 20 rounds, and 2 of those of 30 and 40", computed)
	}
}

// rounds observes rounds.
type rounds func(h *fedkit.History)

func (r rounds) Round(h *fedkit.History, _ int) { r(h) }
func (rounds) Done(*fedkit.History, error)      {}

// A checkpoint is kept if a run cannot begin.
func TestCheckpointsOutliveErrors(t *testing.T) {
	fed := digits(t)
	st := study.New(t.TempDir())
	st.Add(fed, avg(0.1), fedkit.Options{Rounds: 3})
	runs, _ := run(t, st)
	path := runs[0].Path("checkpoint")
	expect.OK(t, runs.Remove())
	for range fedkit.Rounds(ctx, fed, avg(0.1), fedkit.Options{Rounds: 3, Checkpoint: path}) {
		break
	}
	expect.OK(t, os.Mkdir(path+".new", 0o700)) // where the next one is written
	if runs, _ = run(t, st); len(runs.Failed()) != 1 || !runs[0].Retry {
		t.Error(runs)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	expect.OK(t, os.Remove(path+".new"))
	if first := firstRound(t, st); first != 2 {
		t.Errorf("it goes on with round %d", first)
	}
}

// Two studies of one program may share a folder.
func TestTwoStudiesOfOneProgram(t *testing.T) {
	fed, dir := digits(t), t.TempDir()
	var count [2]counter
	var both sync.WaitGroup
	for i := range count {
		both.Go(func() {
			st := study.New(dir)
			st.Watch, st.Log = &count[i], io.Discard
			three(st, fed, avg(0.1), 10)
			if runs, err := st.Run(ctx); err != nil || len(runs) != 3 || len(runs.Failed()) > 0 {
				t.Error(runs, err)
			}
		})
	}
	both.Wait()
	for i := range count {
		if n := count[i].done + count[i].others; n != 3 || count[0].begun+count[1].begun != 3 || count[0].done+count[1].done != 3 {
			t.Errorf("study %d: %d runs were begun, %d computed, %d by the other", i, count[i].begun, count[i].done, count[i].others)
		}
	}
}

// A run whose lock another process has ends at once, and writes nothing more. The other runs go on.
func TestRunTakenOver(t *testing.T) {
	study.Renew(time.Millisecond)
	defer study.Renew(5 * time.Second)
	st, theirs := study.New(t.TempDir()), ""
	put := func(path string) {
		must.M(errors.Join(os.WriteFile(path+"~", []byte("theirs"), 0o600), os.Rename(path+"~", path)))
	}
	st.Parallel, st.Log, st.Watch = 1, io.Discard, rounds(func(h *fedkit.History) {
		if h.Last().Round == 3 {
			locks, _ := filepath.Glob(filepath.Join(st.Dir, ".locks", "*"))
			theirs = filepath.Join(st.Dir, filepath.Base(locks[0]))
			for _, path := range []string{locks[0], filepath.Join(theirs, "checkpoint"), filepath.Join(theirs, "checkpoint.rounds")} {
				put(path)
			}
		}
	})
	st.Add(digits(t), avg(0.1), fedkit.Options{Rounds: 1_000_000})
	st.Add(digits(t), avg(0.1), fedkit.Options{Rounds: 2})
	runs, err := st.Run(ctx)
	if len(runs) != 1 || runs[0].Rounds != 2 || err == nil || !strings.HasPrefix(err.Error(), "study: 1 of 2 runs are left: study: FedAvg: another process took the run over") {
		t.Error(runs, err)
	}
	for _, e := range must.M1(os.ReadDir(theirs)) {
		if b := must.M1(os.ReadFile(filepath.Join(theirs, e.Name()))); string(b) != "theirs" || !strings.HasPrefix(e.Name(), "checkpoint") {
			t.Errorf("%s: %.20q", e.Name(), b)
		}
	}
	if runs, _ := study.List(st.Dir); len(runs.Failed()) > 0 || len(study.Computing(st.Dir)) != 1 {
		t.Error(runs.Failed())
	}
}

// The folder is that of when Run begins, and may have any name.
func TestFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	var st study.Study
	st.Add(digits(t), avg(0.1), fedkit.Options{Rounds: 1}, "label\n/", "\x00")
	st.Dir = "runs [α] *"
	runs, _ := run(t, &st)
	expect.Value(runs[0].History())(t)
	files, all := expect.Value(os.ReadDir(runs[0].Path(".")))(t), expect.Value(os.ReadDir("."))(t)
	if listed, damaged := study.List(st.Dir); len(listed) != 1 || damaged != nil || len(files) != 2 || len(all) != 1 {
		t.Error(listed, damaged, files, all)
	}
}
