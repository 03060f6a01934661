package progress

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
)

// compute computes a run that writes its files into a folder, and is watched all the time. It rests after each round.
func compute(t *testing.T, dir string, rounds int, rest func(round int)) *fedkit.History {
	t.Helper()
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 4}, model.MLP(4)))(t)
	var shown shown
	watch := &Watcher{now: time.Now, notebook: true, pause: time.Millisecond, tick: time.Millisecond, line: shown.text, figure: shown.figure}
	o := fedkit.Options{Rounds: rounds, Watch: watch, Checkpoint: filepath.Join(dir, "run"), History: filepath.Join(dir, "run.jsonl")}
	var last *fedkit.History
	for h, err := range fedkit.Rounds(context.Background(), fed, &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1}}, o) {
		expect.OK(t, err)
		last = h
		rest(len(h.Rounds))
	}
	return last
}

// A followed run looks as to its own watcher, by its checkpoint and by its history.
func TestFollow(t *testing.T) {
	for _, file := range []string{"run", "run.jsonl"} {
		t.Run(file, func(t *testing.T) {
			dir := t.TempDir()
			own, shown := make(chan *fedkit.History), make(chan bool)
			go func() {
				own <- compute(t, dir, 8, func(round int) {
					if round == 4 { // shown while it goes on
						<-shown
					}
				})
			}()
			expect.Value(until(func() (*Status, error) { return Read(filepath.Join(dir, file)) }))(t)
			l, out, log := fakeWatcher()
			l.now = time.Now
			line, seen := false, sync.OnceFunc(func() { close(shown) })
			out.sent = func(m message) {
				line = line || strings.Contains(m.text, "/8 · accuracy ")
				if line && m.id == "figure" {
					seen()
				}
			}
			h, err := l.Follow(filepath.Join(dir, file))
			want := <-own
			if err != nil || h.Stopped || len(h.Rounds) != 8 || h.Accuracy() != want.Accuracy() {
				t.Fatalf("%v, %v", h, err)
			}
			lines, figures := out.of("line"), out.of("figure")
			if s := out.last("line").text; !strings.HasPrefix(s, "FedAvg  ✓ 8 rounds in ") || !strings.Contains(s, " · accuracy ") {
				t.Errorf("at the end: %q", s)
			}
			if s := lines[len(lines)-2].text; !strings.Contains(s, "/8 · accuracy ") {
				t.Errorf("before: %q", s)
			}
			if !out.last("figure").final || l.runs[0].Rounds != 8 || len(figures) < 2 || log.Len() > 0 {
				t.Errorf("%d figures, log %q", len(figures), log)
			}
		})
	}
}

// A file whose end is being written looks like one that is yet to begin: the earlier state stays.
func TestFollowEnd(t *testing.T) {
	h := &fedkit.History{Stopped: true}
	var s *Status
	for i, read := range []*Status{{Running: true}, {History: h, Running: true}, {Running: true}} {
		if s = latest(s, read); (s.History == h) != (i > 0) {
			t.Errorf("read %d: %v", i+1, s.History)
		}
	}
}

// until retries until there is no error.
func until[T any](ask func() (T, error)) (v T, err error) {
	for v, err = ask(); err != nil; v, err = ask() {
		time.Sleep(50 * time.Millisecond)
	}
	return v, err
}

// A killed run ends, however incomplete its files are; run again, it resumes, and has all rounds.
func TestFollowKilled(t *testing.T) {
	if dir := os.Getenv("FEDKIT_TEST_FOLLOWED"); dir != "" { // the process that is killed
		compute(t, dir, 1000, func(int) { time.Sleep(50 * time.Millisecond) })
	}
	self := expect.Value(os.Executable())(t)
	dir := t.TempDir()
	c := exec.Command(self, "-test.run=^TestFollowKilled$")
	c.Env = append(os.Environ(), "FEDKIT_TEST_FOLLOWED="+dir)
	expect.OK(t, c.Start())
	path := filepath.Join(dir, "run")
	_, err := until(func() (s *Status, err error) {
		if s, err = Read(path); err == nil && (s.History == nil || len(s.History.Rounds) < 3) {
			err = errors.New("not yet")
		}
		return s, err
	})
	_ = c.Process.Kill()
	_ = c.Wait()
	expect.OK(t, err)
	f, err := os.OpenFile(path+".rounds", os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"round":99,"sec`)
	}
	expect.OK(t, err)
	_ = f.Close()
	for _, file := range []string{path, path + ".jsonl"} {
		l, out, _ := fakeWatcher()
		h, err := l.Follow(file)
		if err != nil || !h.Stopped || len(h.Rounds) < 3 {
			t.Fatalf("%v, %v", h, err)
		}
		if s := out.last("line").text; !strings.HasPrefix(s, "FedAvg  ■ ended after round ") || !strings.Contains(s, " of 1000: stopped, killed or failed · accuracy ") {
			t.Errorf("at the end: %q", s)
		}
		if figures := out.of("figure"); len(figures) != 1 || !figures[0].final {
			t.Errorf("%d figures", len(figures))
		}
	}
}

// A file that is not a run's is reported at once, as is a run that ended before its first round.
func TestFollowNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "other")
	expect.OK(t, os.WriteFile(path, []byte("round,accuracy\n1,0.5\n"), 0o666))
	expect.Error(t, "progress: follow: ", "no such file")(Follow(filepath.Join(dir, "typo")))
	expect.Error(t, "progress: follow: ")(Follow(path))
	expect.OK(t, os.Truncate(path, 0))
	if s, err := Read(path); err != nil || !s.Running {
		t.Errorf("a file that was made just now: %+v, %v", s, err)
	}
	old := time.Now().Add(-time.Minute)
	expect.OK(t, os.Chtimes(path, old, old))
	l, out, _ := fakeWatcher()
	h, err := l.Follow(path)
	if lines := out.of("line"); err != nil || h != nil || len(lines) != 1 || lines[0].text != "other  ■ ended before round 1: stopped, killed or failed" {
		t.Errorf("%v, %v, %+v", h, err, lines)
	}
}
