package fleet

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/internal/every"
	"fedkit.example/fedkit/internal/remote"
)

// few runs a strategy for a few rounds, and returns its bytes.
func few(t *testing.T, on fedkit.Machines) ([]byte, error) {
	t.Helper()
	fed, err := fedtest.Quadratic()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
	defer cancel()
	s := every.Strategies()["FedAvg"]
	h, err := fedkit.Run(ctx, fed, s, fedkit.Options{Rounds: 5, Seed: 6, On: on})
	if err != nil {
		return nil, err
	}
	return fedtest.Outcome(s, h)
}

// same fails unless a run has the bytes of one without a fleet.
func same(t *testing.T, f *Fleet) {
	t.Helper()
	want, err := few(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := few(t, f)
	if err != nil {
		t.Fatalf("%v\n%v", err, f)
	}
	if !bytes.Equal(got, want) {
		t.Fatal("other bytes than without a fleet")
	}
}

// With every call done twice, a worker that lies is found before its result is used.
func TestAuditFindsLiar(t *testing.T) {
	t.Parallel()
	h := startHub(t, HubOptions{})
	liar, _ := startWorker(t, h.File(), WorkerOptions{}, lying)
	startWorker(t, h.File(), WorkerOptions{}, nil)
	f := join(t, h.File())
	f.Audit = 1
	if err := f.Wait(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	same(t, f)
	if s := f.String(); !strings.Contains(s, liar.beat.Worker) || !strings.Contains(s, "left out") || len(f.Workers()) != 1 {
		t.Errorf("the liar is not named: %s", s)
	}
}

// If a result that was used already turns out wrong, the run fails and names the worker.
func TestLieThatWasUsed(t *testing.T) {
	usualLimits(t)
	h := startHub(t, HubOptions{})
	liar, _ := startWorker(t, h.File(), WorkerOptions{}, lying)
	f := join(t, h.File())
	if err := f.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	watch := &everyRound{do: func(round int) {
		if round != 1 {
			return
		}
		honest, _ := startWorker(t, h.File(), WorkerOptions{}, nil)
		wait(t, "the second worker", func() bool { return f.member(honest.beat.Worker) != nil })
		f.calls.Range(func(_, v any) bool { // the calls of the first round once more, as if somebody had overtaken the liar
			c := v.(*call)
			a, err := c.ask(t.Context(), honest.beat.Worker)
			if err != nil {
				t.Error(err)
				return false
			}
			c.compare(c.answer, a)
			return true
		})
	}}
	fed, err := fedtest.Quadratic()
	if err != nil {
		t.Fatal(err)
	}
	_, err = fedkit.Run(t.Context(), fed, every.Strategies()["FedAvg"], fedkit.Options{Rounds: 5, On: f, Watch: watch})
	if err == nil || !strings.Contains(err.Error(), liar.beat.Worker) || !strings.Contains(err.Error(), "was used") {
		t.Errorf("error %v, want one that names the liar", err)
	}
}

// everyRound calls a function after each round.
type everyRound struct{ do func(round int) }

func (w *everyRound) Round(h *fedkit.History, _ int) { w.do(len(h.Rounds)) }
func (w *everyRound) Done(*fedkit.History, error)    {}

// A worker that takes much longer than others is overtaken, and its late answer counts for nothing.
func TestOvertaking(t *testing.T) {
	t.Parallel()
	h := startHub(t, HubOptions{})
	f := join(t, h.File())
	var stuck atomic.Bool
	var done atomic.Int64
	release, finished := make(chan struct{}), make(chan func() bool, 1)
	for range 2 {
		startWorker(t, h.File(), WorkerOptions{}, func(w *work) {
			honest := w.perform
			w.perform = func(ctx context.Context, c *remote.Call, queued bool) *remote.Answer {
				if strings.HasPrefix(c.Name, "solve") && done.Add(1) > 4 && stuck.CompareAndSwap(false, true) { // either of them
					<-release
					a := honest(ctx, c, queued)
					finished <- func() bool { // whether it keeps what came out
						_, ok, _ := w.machine.Read(remote.Key(c.ID, 0))
						return ok
					}
					return a
				}
				return honest(ctx, c, queued)
			}
		})
	}
	if err := f.Wait(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	same(t, f)
	t.Log(time.Since(begin))
	close(release)
	if !stuck.Load() {
		t.Fatal("nobody was slow")
	}
	keeps := <-finished
	wait(t, "that the slow one forgets what nobody needs", func() bool { return !keeps() })
}

// A run ends with an error that says what to do if all workers go and none comes, with calls that wait and calls under way.
func TestNobodyIsLeft(t *testing.T) {
	t.Parallel()
	h := startHub(t, HubOptions{})
	f := join(t, h.File())
	f.Patience = time.Second
	var kill func()
	_, kill = startWorker(t, h.File(), WorkerOptions{}, func(w *work) {
		w.perform = func(ctx context.Context, c *remote.Call, queued bool) *remote.Answer {
			kill()
			<-ctx.Done()
			return nil
		}
	})
	if err := f.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	_, err := few(t, f)
	if !errors.Is(err, ErrNoWorker) || !strings.Contains(err.Error(), "./scripts/worker "+h.File()) {
		t.Errorf("error %v, want the command to run", err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	if _, err = few(t, f); !errors.Is(err, ErrNoWorker) {
		t.Errorf("error %v at the beginning, want %v", err, ErrNoWorker)
	}
}

// A hub with TLS that is started again, in the middle of a run, has the same keys and address, and the run goes on.
func TestHubRestarts(t *testing.T) {
	t.Parallel()
	o := HubOptions{File: filepath.Join(t.TempDir(), "fleet.json"), Listen: "127.0.0.1:0"}
	h := startHub(t, o)
	for range 2 {
		startWorker(t, h.File(), WorkerOptions{}, nil)
	}
	f := join(t, h.File())
	if err := f.Wait(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	var got [2][]byte
	for i, on := range []fedkit.Machines{nil, f} {
		fed, err := fedtest.Quadratic()
		if err != nil {
			t.Fatal(err)
		}
		s := every.Strategies()["SCAFFOLD"]
		history, err := fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 5, On: on, Watch: &everyRound{do: func(round int) {
			if round == 2 && on != nil {
				h.Close()
				startHub(t, o)
			}
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if got[i], err = fedtest.Outcome(s, history); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got[0], got[1]) {
		t.Error("other bytes than without a fleet")
	}
}
