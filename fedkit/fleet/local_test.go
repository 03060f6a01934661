package fleet_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"fedkit.example/fedkit/fleet"
)

// Local reuses running workers, and starts missing ones: a worker that died is replaced, with its number.
func TestLocal(t *testing.T) {
	o := fleet.LocalOptions{Dir: t.TempDir(), Idle: time.Minute}
	f, err := fleet.Local(2, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Stop() })
	before := f.Workers()
	if err := syscall.Kill(before[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for len(f.Workers()) > 1 {
		time.Sleep(10 * time.Millisecond)
	}
	again, err := fleet.Local(2, o)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	numbers := map[int]bool{}
	for _, w := range again.Workers() {
		numbers[w.Number] = true
		if w.PID == before[0].PID {
			t.Error("the worker that was killed is there")
		}
	}
	if !numbers[1] || !numbers[2] || len(numbers) != 2 {
		t.Errorf("workers %v, want 1 and 2", numbers)
	}
}

// A worker that cannot start says why, at once.
func TestLocalFails(t *testing.T) {
	begin := time.Now()
	_, err := fleet.Local(1, fleet.LocalOptions{Dir: t.TempDir(), Cores: 1000, Idle: time.Second})
	if err == nil || !strings.Contains(err.Error(), "worker-1 ended") || !strings.Contains(err.Error(), "the process may run on") {
		t.Error(err)
	}
	if time.Since(begin) > 15*time.Second {
		t.Errorf("it took %v", time.Since(begin))
	}
}
