package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fedkit.example/fedkit/internal/remote"
	"github.com/nats-io/nats.go"
)

// victims are workers that some calls kill, like processes: only their silence tells.
type victims struct {
	mu    sync.Mutex
	names []string
}

// start starts n of them; the deadly calls kill their worker.
func (v *victims) start(t *testing.T, f *Fleet, n int, deadly func(queued bool) bool) {
	t.Helper()
	for range n {
		startWorker(t, f.File(), WorkerOptions{Slots: 1}, func(w *worker) {
			right := w.perform
			w.perform = func(ctx context.Context, c *remote.Call, queued bool) *remote.Answer {
				if !deadly(queued) {
					return right(ctx, c, queued)
				}
				v.mu.Lock()
				if !slices.Contains(v.names, w.beat.Worker) {
					v.names = append(v.names, w.beat.Worker)
				}
				v.mu.Unlock()
				w.nc.Close()
				<-ctx.Done()
				return new(remote.Answer)
			}
		})
	}
	workers(t, f, n)
}

// three fails unless an error names the program and exactly the three workers that it has killed.
func (v *victims) three(t *testing.T, err error, program string) {
	t.Helper()
	says(t, err, `program "`+program, "3 workers were lost")
	v.mu.Lock()
	defer v.mu.Unlock()
	says(t, err, v.names...)
	if len(v.names) != 3 {
		t.Errorf("%d workers were ended, want 3: %v", len(v.names), v.names)
	}
}

// Calls that kill their workers end the run after the third, however many there are.
func TestCallsThatKill(t *testing.T) {
	t.Parallel()
	f := join(t, startHub(t, HubOptions{}).File())
	var v victims
	v.start(t, f, 6, func(bool) bool { return true })
	d := device1(t, f)
	errs := make(chan error, 8)
	for range cap(errs) {
		go func() {
			_, err := d.Run(t.Context(), double, []any{float32(1)})
			errs <- err
		}()
	}
	for range cap(errs) {
		v.three(t, <-errs, "double")
	}
}

// A program that kills the workers that keep its argument ends the run after the third, though each time another one keeps it.
func TestThenThatKills(t *testing.T) {
	t.Parallel()
	f := join(t, startHub(t, HubOptions{}).File())
	var v victims
	v.start(t, f, 6, func(queued bool) bool { return !queued })
	out, err := device1(t, f).Run(t.Context(), double, []any{float32(1)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = out[0].Then(pair)
	v.three(t, err, "pair")
}

// A worker that was asked because another is late counts among the three, also if the call was published again before that.
func TestLateCallThatKills(t *testing.T) {
	t.Parallel()
	for _, late := range []float64{1, 1.8, 2.2, 4.2} { // seconds until other workers are asked too; a lost worker is detected after three
		t.Run(fmt.Sprint(late), func(t *testing.T) {
			t.Parallel()
			f := join(t, startHub(t, HubOptions{}).File())
			var v victims
			var deadly atomic.Bool
			v.start(t, f, 6, func(bool) bool { return deadly.Load() })
			d := device1(t, f).(*device)
			if _, err := d.Run(t.Context(), double, []any{float32(1)}); err != nil {
				t.Fatal(err)
			}
			d.times.mu.Lock()
			for program := range d.times.seconds {
				d.times.seconds[program] = []float64{(late - 1) / 4}
			}
			d.times.mu.Unlock()
			deadly.Store(true)
			_, err := d.Run(t.Context(), double, []any{float32(1)})
			v.three(t, err, "double")
		})
	}
}

// killers are programs that crash the process which compiles them.
var killers = map[string]string{
	"calls itself": `module @program {
func.func @main(%a: tensor<f32>) -> tensor<f32> {
  %0 = func.call @main(%a) : (tensor<f32>) -> tensor<f32>
  "stablehlo.return"(%0) : (tensor<f32>) -> ()
}
}`,
	"is nested deeply": "module @program {\n" + strings.Repeat("module {\n", 100_000),
	"has a size that overflows": `module @program {
func.func @main(%a: tensor<f32>) -> tensor<4611686018427387904x4xf32> {
  %0 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4611686018427387904x4xf32>
  "stablehlo.return"(%0) : (tensor<4611686018427387904x4xf32>) -> ()
}
}`,
}

// A program that crashes workers' processes ends the run, which names it, after three of them. Other runs go on.
func TestProgramThatKills(t *testing.T) {
	t.Parallel()
	for what, text := range killers {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f, err := Local(5, LocalOptions{Dir: t.TempDir(), Idle: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Stop() })
			d := device1(t, f).(*device)
			errs := make(chan error, 4)
			for range cap(errs) {
				go func() { errs <- d.runText(t.Context(), what, text) }()
			}
			for range cap(errs) {
				says(t, <-errs, `program "`+what, "3 workers were lost")
			}
			if n := len(f.Workers()); n != 2 {
				t.Errorf("%d workers are left of 5, want 2", n)
			}
			if got, err := doubled(t, device1(t, f), float32(1)); err != nil || got != 2 {
				t.Errorf("those that are left: %v (%v)", got, err)
			}
		})
	}
}

// runText runs a program that is given as text, on a number.
func (d *device) runText(ctx context.Context, name, text string) error {
	c, err := d.call(double, nil, []any{float32(1)}, small)
	if err != nil {
		return err
	}
	c.msg.Name, c.msg.Program = name, hashOf([]byte(text))
	c.objects = []object{objectOf(c.msg.Program, []byte(text))}
	_, err = c.do(ctx)
	return err
}

// Workers that were lost before a call reached them do not count.
func TestLostBeforeTheCall(t *testing.T) {
	t.Parallel()
	h, f := hubAndFleet(t)
	k, err := readTicket(h.File())
	if err != nil {
		t.Fatal(err)
	}
	var lost []*nats.Conn
	for range 3 {
		nc, name, err := k.connectWorker()
		if err != nil {
			t.Fatal(err)
		}
		pretend(t, nc, name)
		lost = append(lost, nc)
	}
	workers(t, f, 3)
	d := device1(t, f)
	for _, nc := range lost {
		nc.Close()
	}
	ended := running(t.Context(), d)
	wait(t, "their loss", func() bool { return len(f.Workers()) == 0 })
	startWorker(t, h.File(), WorkerOptions{}, nil)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
