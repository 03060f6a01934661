package fleet

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/every"
	"fedkit.example/fedkit/internal/remote"
	"fedkit.example/fedkit/internal/xla"
	"github.com/nats-io/nats.go"
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
	h, err := fedkit.Run(ctx, fed, s, fedkit.Options{Rounds: 5, Seed: 6, Fleet: on})
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

// With every call computed twice, a worker that lies is detected before its result is used.
func TestAuditFindsLiar(t *testing.T) {
	t.Parallel()
	h := startHub(t, HubOptions{})
	liar, _ := startWorker(t, h.File(), WorkerOptions{}, lying)
	startWorker(t, h.File(), WorkerOptions{}, nil)
	f := join(t, h.File())
	f.Audit = 1
	workers(t, f, 2)
	same(t, f)
	if s := f.String(); !strings.Contains(s, liar.beat.Worker) || !strings.Contains(s, "left out") || len(f.Workers()) != 1 {
		t.Errorf("the liar is not named: %s", s)
	}
}

// A worker that does not answer the first call of a program is overtaken, although no duration is known yet. If its late answer shows
// that the result that was used is wrong, the run fails and names the worker.
func TestLieThatWasUsed(t *testing.T) {
	if compiling > 5*time.Minute {
		t.Errorf("the first call may take %v", compiling)
	}
	usualLimits(t)
	defer func(before time.Duration) { compiling = before }(compiling)
	compiling = 100 * time.Millisecond
	h, f := hubAndFleet(t)
	release := make(chan struct{})
	startWorker(t, h.File(), WorkerOptions{}, before(func(context.Context, *remote.Call) { <-release }))
	workers(t, f, 1)
	d := device1(t, f)
	ended := running(t.Context(), d)
	wait(t, "the first worker", func() bool { all := f.Workers(); return len(all) == 1 && len(all[0].Doing) == 1 })
	liar, _ := startWorker(t, h.File(), WorkerOptions{}, lying)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	close(release)
	wait(t, "the end of the run", func() bool { return d.(*device).err() != nil })
	_, err := d.Run(t.Context(), double, []any{float32(1)})
	says(t, err, liar.beat.Worker, "was used")
}

// everyRound calls a function after each round.
type everyRound struct{ do func(round int) }

func (w *everyRound) Round(h *fedkit.History, _ int) { w.do(len(h.Rounds)) }
func (w *everyRound) Done(*fedkit.History, error)    {}

// A straggler is overtaken, and its late answer is not used.
func TestOvertaking(t *testing.T) {
	t.Parallel()
	h, f := hubAndFleet(t)
	var stuck atomic.Bool
	var done atomic.Int64
	release, finished := make(chan struct{}), make(chan func() bool, 1)
	for range 2 {
		startWorker(t, h.File(), WorkerOptions{}, func(w *worker) {
			honest := w.perform
			w.perform = func(ctx context.Context, c *remote.Call, queued bool) *remote.Answer {
				if strings.HasPrefix(c.Name, "solve") && done.Add(1) > 4 && stuck.CompareAndSwap(false, true) { // either of them
					<-release
					a := honest(ctx, c, queued)
					finished <- func() bool { // reports whether it keeps the result
						_, ok, _ := w.machine.Read(remote.Key(c.ID, 0))
						return ok
					}
					return a
				}
				return honest(ctx, c, queued)
			}
		})
	}
	workers(t, f, 2)
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

// If all workers leave and none comes, a run ends with an error that says what to do, with calls waiting and in flight.
func TestNobodyIsLeft(t *testing.T) {
	t.Parallel()
	h, f := hubAndFleet(t)
	f.Timeout = time.Second
	var kill func()
	_, kill = startWorker(t, h.File(), WorkerOptions{}, before(func(ctx context.Context, _ *remote.Call) {
		kill()
		<-ctx.Done()
	}))
	workers(t, f, 1)
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

// A hub with TLS that restarts in the middle of a run has the same keys and address, and the run goes on.
func TestHubRestarts(t *testing.T) {
	t.Parallel()
	o := HubOptions{File: filepath.Join(t.TempDir(), "fleet.json"), Listen: "127.0.0.1:0"}
	h := startHub(t, o)
	for range 2 {
		startWorker(t, h.File(), WorkerOptions{}, nil)
	}
	f := join(t, h.File())
	workers(t, f, 2)
	var got [2][]byte
	for i, on := range []fedkit.Machines{nil, f} {
		fed, err := fedtest.Quadratic()
		if err != nil {
			t.Fatal(err)
		}
		s := every.Strategies()["SCAFFOLD"]
		history, err := fedkit.Run(t.Context(), fed, s, fedkit.Options{Rounds: 5, Fleet: on, Watch: &everyRound{do: func(round int) {
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

// A call survives a dropped connection of its worker: its answer is requested again, without computing it again.
func TestLineDropsDuringCall(t *testing.T) {
	t.Parallel()
	h := startHub(t, HubOptions{})
	p := newProxy(t, h.File())
	begun, release := make(chan bool, 100), make(chan struct{})
	w, _ := startWorker(t, p.File, WorkerOptions{}, before(func(context.Context, *remote.Call) {
		begun <- true
		<-release
	}))
	f := join(t, h.File())
	asked := make(chan *nats.Msg, 100)
	if _, err := f.nc.ChanSubscribe(asks+"*"+askRun, asked); err != nil {
		t.Fatal(err)
	}
	ended := running(t.Context(), device1(t, f))
	<-begun
	p.Drop()
	wait(t, "the call to be asked for again", func() bool { return len(asked) > 1 })
	wait(t, "the worker to have heard it", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, j := range w.jobs {
			return j.request != nil
		}
		return false
	})
	close(release)
	if err := <-ended; err != nil || len(begun) > 0 {
		t.Errorf("done %d more times (%v)", len(begun), err)
	}
}

// Notebooks share a worker in turn, and a call that is only queued there is not blamed for the loss of the worker.
func TestTwoNotebooks(t *testing.T) {
	t.Parallel()
	h := startHub(t, HubOptions{})
	begun := make(chan bool, 100)
	_, kill := startWorker(t, h.File(), WorkerOptions{Slots: 1}, before(func(ctx context.Context, _ *remote.Call) {
		begun <- true
		<-ctx.Done()
	}))
	errs := make(chan error, 3)
	run := func(f *Fleet, p *xla.Program) *call {
		d := device1(t, f).(*device)
		c, err := d.call(p, nil, []any{float32(1)}, small)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := c.do(t.Context())
			errs <- err
		}()
		return c
	}
	first, second := join(t, h.File()), join(t, h.File())
	blamed := run(first, double)
	run(first, pair)
	<-begun
	<-begun
	c := run(second, double)
	wait(t, "the call to wait", func() bool {
		all := second.Workers()
		return len(all) == 1 && slices.Contains(all[0].Waiting, c.msg.ID)
	})
	kill()
	wait(t, "the loss of the worker", func() bool { return len(first.Workers())+len(second.Workers()) == 0 })
	if len(blamed.died()) != 1 || len(c.died()) != 0 {
		t.Error(blamed.died(), c.died())
	}
	startWorker(t, h.File(), WorkerOptions{}, nil)
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
