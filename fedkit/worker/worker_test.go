package worker_test

import (
	"bytes"
	"context"
	"maps"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/every"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/sim"
	"fedkit.example/fedkit/worker"
	"github.com/janpfeifer/must"
	"golang.org/x/sync/errgroup"
)

// local starts n workers, which end with the test.
func local(t *testing.T, n int) *worker.Workers {
	t.Helper()
	w := must.M1(worker.Local(t.Context(), n))
	t.Cleanup(w.Close)
	return w
}

// start starts commands, which end with the test.
func start(t *testing.T, commands ...string) *worker.Workers {
	t.Helper()
	w := expect.Value(worker.Start(t.Context(), commands...))(t)
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

// outcome is the bytes of a run of a few rounds.
func outcome(fed *fedkit.Federation, s fedkit.Strategy, on fedkit.Workers) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	h, err := fedkit.Run(ctx, fed, s, fedkit.Options{Rounds: 4, EvalEvery: 2, Seed: 6, Workers: on})
	if err != nil {
		return nil, err
	}
	return fedtest.Outcome(s, h)
}

// Histories and States have the same bytes without workers and on 5, of which all but 3, 2, 1 and none are killed meanwhile, for every
// strategy.
func TestEveryStrategy(t *testing.T) {
	expect.Long(t, "many runs")
	fed := must.M1(twelve())
	timed := must.M1(fed.WithDevices(sim.Devices{PerExample: sim.LogNormal{Median: 0.1, Sigma: 0.5}, Down: sim.Constant(1e3), Up: sim.Uniform{Low: 50, High: 500}, Seed: 1}))
	feds, want := map[string]*fedkit.Federation{}, map[string][]byte{}
	for name, s := range every.Strategies() {
		feds[name] = fed
		if regexp.MustCompile("FedEff|FedAsync|FedBuff|CCFL").MatchString(name) {
			feds[name] = timed
		}
		want[name] = must.M1(outcome(feds[name], s, nil))
	}
	w := local(t, 5)
	for _, n := range []int{5, 3, 2, 1, 0} {
		begin := time.Now()
		strategies := every.Strategies()
		var group errgroup.Group
		group.SetLimit(8) // runs share them
		for i, name := range slices.Sorted(maps.Keys(strategies)) {
			if i == len(strategies)/3 {
				end(t, w, n)
			}
			group.Go(func() error {
				got, err := outcome(feds[name], strategies[name], w)
				if err != nil || !bytes.Equal(got, want[name]) {
					t.Errorf("%s on %d workers: other bytes than without: %v\n%.300s\n%.300s", name, n, err, got, want[name])
				}
				return nil
			})
		}
		_ = group.Wait()
		t.Log(n, "workers:", time.Since(begin))
	}
}

func twelve() (*fedkit.Federation, error) {
	return fedtest.Quadratic(20, 31, 8, 24, 17, 40, 22, 9, 13, 28, 36, 11)
}
