package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/every"
	"fedkit.example/fedkit/fleet"
	"fedkit.example/fedkit/sim"
	"golang.org/x/sync/errgroup"
)

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) {
	fleet.Main()
	fleet.KeepAll()
	if file := os.Getenv(asNotebook); file != "" {
		if err := beNotebook(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	syscall.Exit(m.Run())
}

// local starts n workers, which end with the test.
func local(t *testing.T, n int) *fleet.Fleet {
	t.Helper()
	f, err := fleet.Local(n, fleet.LocalOptions{Dir: t.TempDir(), Idle: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Stop(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// end kills workers until n are left.
func end(t *testing.T, f *fleet.Fleet, n int) {
	t.Helper()
	for _, w := range f.Workers()[n:] {
		if err := syscall.Kill(w.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	for len(f.Workers()) > n {
		time.Sleep(10 * time.Millisecond)
	}
}

// outcome is the bytes of a run of a few rounds.
func outcome(fed *fedkit.Federation, s fedkit.Strategy, on fedkit.Machines) ([]byte, error) {
	h, err := fedkit.Run(context.Background(), fed, s, fedkit.Options{Rounds: 4, EvalEvery: 2, Seed: 6, Fleet: on})
	if err != nil {
		return nil, err
	}
	return fedtest.Outcome(s, h)
}

// Histories and States have the same bytes without a fleet and on 5, 3, 2 and 1 workers, for every strategy.
func TestEveryStrategy(t *testing.T) {
	if testing.Short() {
		t.Skip("many runs")
	}
	fed, err := twelve()
	if err != nil {
		t.Fatal(err)
	}
	feds := map[string]*fedkit.Federation{}
	timed, err := fed.WithDevices(sim.Devices{PerExample: sim.LogNormal{Median: 0.1, Sigma: 0.5}, Down: sim.Constant(1e3), Up: sim.Uniform{Low: 50, High: 500}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name := range every.Strategies() {
		feds[name] = fed
		if clocked := regexp.MustCompile("FedEff|FedAsync|FedBuff|CCFL"); clocked.MatchString(name) {
			feds[name] = timed
		}
	}
	want := map[string][]byte{}
	for name, s := range every.Strategies() {
		if want[name], err = outcome(feds[name], s, nil); err != nil {
			t.Fatal(name, err)
		}
	}
	f := local(t, 5)
	for _, n := range []int{5, 3, 2, 1} {
		end(t, f, n)
		begin := time.Now()
		strategies := every.Strategies()
		var group errgroup.Group
		group.SetLimit(8) // runs share the fleet
		for _, name := range slices.Sorted(maps.Keys(strategies)) {
			group.Go(func() error {
				got, err := outcome(feds[name], strategies[name], f)
				if err != nil {
					got = fmt.Append(nil, err)
				}
				if !bytes.Equal(got, want[name]) {
					t.Errorf("%s on %d workers: other bytes than without a fleet\n%.300s\n%.300s", name, n, got, want[name])
				}
				return nil
			})
		}
		_ = group.Wait()
		t.Log(n, "workers:", time.Since(begin), f)
	}
}
