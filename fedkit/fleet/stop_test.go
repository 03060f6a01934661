package fleet

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// bystander starts a process unrelated to a fleet, and returns it with a function that reports whether it still runs.
func bystander(t *testing.T) (pid int, runs func() bool) {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	return cmd.Process.Pid, func() bool {
		select {
		case <-ended:
			return false
		case <-time.After(200 * time.Millisecond): // a signal takes effect at once
			return true
		}
	}
}

// Stop ends the processes that Local started, but none that a worker names, or that has the PID of one that has ended.
func TestStopEndsItsOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	o := LocalOptions{Dir: t.TempDir(), Idle: time.Minute}
	f, err := Local(1, o)
	if err != nil {
		t.Fatal(err)
	}
	records, err := filepath.Glob(filepath.Join(o.Dir, "*"+recordExtension))
	if err != nil || len(records) != 2 {
		t.Fatal(records, err)
	}
	var own []*os.Process
	for _, file := range records {
		p := recorded(file)
		if p == nil {
			t.Fatal(file)
		}
		own = append(own, p)
	}
	f.Close()
	later, err := Join(f.File()) // another cell, which is its own process
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	named, namedRuns := bystander(t)
	for _, pid := range []int{named, 0, -1, 1} { // hostile workers of this host
		name := "hostile" + strconv.Itoa(pid)
		text, err := json.Marshal(WorkerInfo{Worker: name, Host: host, PID: pid, Slots: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := later.nc.Publish(beats+name, text); err != nil {
			t.Fatal(err)
		}
	}
	reused, reusedRuns := bystander(t)
	for _, pid := range []string{strconv.Itoa(reused), "0", "1", "-1", "x", ""} {
		if err := os.WriteFile(filepath.Join(o.Dir, "worker"+pid+recordExtension), []byte(pid), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, "the hostile workers", func() bool { return len(later.Workers()) == 5 })
	if err := later.Stop(); err != nil {
		t.Error(err)
	}
	for _, p := range own {
		wait(t, "the end of "+strconv.Itoa(p.Pid), func() bool { return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) })
	}
	if !namedRuns() || !reusedRuns() {
		t.Error("a process that is not the fleet's was ended")
	}
}

// Stop ends nothing of a fleet that Local did not start.
func TestStopOfOthers(t *testing.T) {
	h := startHub(t, HubOptions{})
	w, _ := startWorker(t, h.File(), WorkerOptions{}, nil)
	pid, runs := bystander(t)
	w.mu.Lock()
	w.beat.PID = pid
	w.mu.Unlock()
	f := join(t, h.File())
	wait(t, "the worker", func() bool { all := f.Workers(); return len(all) == 1 && all[0].PID == pid })
	says(t, f.Stop(), "Local did not start", h.File())
	if !runs() {
		t.Error("a process was ended that a worker named")
	}
	if f = join(t, h.File()); f.Wait(t.Context(), 1) != nil {
		t.Error("the worker has gone")
	}
}

// A worker started by hand is told to leave when its fleet is stopped.
func TestStopSendsOthersAway(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	f, err := Local(1, LocalOptions{Dir: t.TempDir(), Idle: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- RunWorker(t.Context(), f.File(), WorkerOptions{}) }()
	workers(t, f, 2)
	if err := f.Stop(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, ErrLeft) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it stays")
	}
}

// The folder of a hub is private, also if it was open before; a named folder keeps its mode, except for the objects in it.
func TestHubClosesItsFolder(t *testing.T) {
	dir := t.TempDir()
	file, named := filepath.Join(dir, "fleet.json"), filepath.Join(dir, "named")
	for _, c := range []struct {
		HubOptions
		closed string
	}{{HubOptions{File: file}, file + ".hub"}, {HubOptions{File: file, Dir: named}, filepath.Join(named, objectsDir)}} {
		if err := os.MkdirAll(c.closed, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chmod(filepath.Dir(c.closed), 0o755), os.Chmod(c.closed, 0o777)); err != nil {
			t.Fatal(err)
		}
		startHub(t, c.HubOptions)
		if info, err := os.Stat(c.closed); err != nil || info.Mode().Perm() != 0o700 {
			t.Error(info.Mode(), err)
		}
	}
	if info, err := os.Stat(named); err != nil || info.Mode().Perm() != 0o755 {
		t.Error(info.Mode(), err)
	}
}
