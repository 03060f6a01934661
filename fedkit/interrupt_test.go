package fedkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/interrupt"
	"fedkit.example/fedkit/notebook"
)

// interruptIn is the round in which a test's own process is interrupted; it is set in processes made for it.
var interruptIn atomic.Int64

// interrupts is a hook that interrupts the process and waits until its own run knows of it.
func interrupts(r *Round, _ *Job) {
	if int64(r.T) != interruptIn.Load() {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
	<-r.ctx.Done()
}

func stoppable() *mean { return &mean{Local: Local{Batch: 4, LR: 0.1}, Before: interrupts} }

// interruptedCases run in a process of their own and print what happened.
var interruptedCases = []struct {
	name  string
	round int
	run   func(fed *Federation, checkpoint string)
	want  string
}{
	{"in round 3", 3, func(fed *Federation, checkpoint string) {
		w := &watch{}
		fmt.Println(summary(Run(context.Background(), fed, stoppable(), Options{Rounds: 5, Watch: w, Checkpoint: checkpoint})), w.done, w.err)
		fmt.Println(summary(Run(context.Background(), fed, stoppable(), Options{Rounds: 5})))
	}, "2 rounds, true, <nil> 1 <nil>\nnone, fedkit: stopped: the program was interrupted, ErrStopped"},
	{"in round 1", 1, func(fed *Federation, _ string) {
		fmt.Println(summary(Run(context.Background(), fed, stoppable(), Options{Rounds: 5})))
	}, "0 rounds, false, fedkit: mean: before round 1 was finished: stopped: the program was interrupted, ErrStopped"},
	{"after another run that is asked what it serves", 3, func(fed *Federation, _ string) {
		s := stoppable()
		fmt.Println(summary(Run(context.Background(), fed, s, Options{Rounds: 2})))
		fmt.Println(summary(Run(context.Background(), fed, stoppable(), Options{Rounds: 5})))
		sv, err := Served(context.Background(), fed, s)
		fmt.Println(sv != nil && sv.Global == s.State.X, err)
	}, "2 rounds, false, <nil>\n2 rounds, true, <nil>\ntrue <nil>"},
	{"in a loop, with the caller's own context", 3, func(fed *Federation, _ string) {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		var last *History
		for h, err := range Rounds(ctx, fed, stoppable(), Options{Rounds: 5}) {
			last = h
			fmt.Println(summary(h, err))
		}
		fmt.Println(summary(last, nil))
	}, "1 rounds, false, <nil>\n2 rounds, false, <nil>\n2 rounds, true, <nil>"},
	{"three runs at once", 3, func(fed *Federation, _ string) {
		var runs, ready sync.WaitGroup
		var got [3]string
		ready.Add(len(got))
		for i := range got {
			runs.Go(func() {
				s := stoppable()
				s.Before = func(r *Round, job *Job) {
					if int64(r.T) != interruptIn.Load() {
						return
					}
					ready.Done()
					if ready.Wait(); i == 0 {
						interrupts(r, job)
					}
					<-r.ctx.Done()
				}
				got[i] = summary(Run(context.Background(), fed, s, Options{Rounds: 5}))
			})
		}
		runs.Wait()
		fmt.Println(strings.Join(got[:], "; "))
	}, "2 rounds, true, <nil>; 2 rounds, true, <nil>; 2 rounds, true, <nil>"},
	{"twice", 3, func(fed *Federation, _ string) {
		interrupt.Patience = 10 * time.Millisecond
		s := stoppable()
		s.Before = func(r *Round, job *Job) {
			if interrupts(r, job); r.T == 3 {
				for { // the first ones may come within its patience
					time.Sleep(2 * interrupt.Patience)
					_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
				}
			}
		}
		fmt.Println(summary(Run(context.Background(), fed, s, Options{Rounds: 5})))
	}, "signal: interrupt"},
	{"twice at once", 3, func(fed *Federation, _ string) {
		interrupt.Patience = time.Hour
		s := stoppable()
		s.Before = func(r *Round, job *Job) {
			if interrupts(r, job); r.T == 3 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
			}
		}
		h, err := Run(context.Background(), fed, s, Options{Rounds: 5})
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		time.Sleep(100 * time.Millisecond)
		fmt.Println(summary(h, err))
	}, "2 rounds, true, <nil>"},
	{"a guest", 3, func(fed *Federation, _ string) {
		s := stoppable()
		s.Before = func(r *Round, _ *Job) {
			if int64(r.T) == interruptIn.Load() {
				_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
				time.Sleep(time.Minute)
			}
		}
		fmt.Println(summary(Run(context.Background(), fed, s, Options{Rounds: 5})))
	}, "signal: interrupt"},
	{"a guest, with the caller's own context", 3, func(fed *Federation, _ string) {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		h, err := Run(ctx, fed, stoppable(), Options{Rounds: 5})
		fmt.Println(len(h.Rounds), h.Stopped, errors.Is(err, context.Canceled))
		fmt.Println(summary(Run(context.Background(), fed, &mean{Local: Local{Batch: 4, LR: 0.1}}, Options{Rounds: 5})))
	}, "2 false true\n5 rounds, false, <nil>"},
	{"a guest that asks for it", 3, func(fed *Federation, _ string) {
		ctx, release := notebook.Interruptible(context.Background())
		defer release()
		for range 2 {
			fmt.Println(summary(Run(ctx, fed, stoppable(), Options{Rounds: 5})))
		}
	}, "2 rounds, true, <nil>\nnone, fedkit: stopped: the program was interrupted, ErrStopped"},
	{"between runs", 0, func(fed *Federation, _ string) {
		fmt.Println(summary(Run(context.Background(), fed, stoppable(), Options{Rounds: 2})))
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		time.Sleep(time.Minute)
	}, "2 rounds, false, <nil>\nsignal: interrupt"},
}

func summary(h *History, err error) string {
	s := "none"
	if h != nil {
		s = fmt.Sprintf("%d rounds, %v", len(h.Rounds), h.Stopped)
	}
	if s += fmt.Sprint(", ", err); errors.Is(err, ErrStopped) {
		s += ", ErrStopped"
	}
	return s
}

// An interrupt ends a run with its history, and one that comes later ends the program.
func TestInterrupt(t *testing.T) {
	if name := os.Getenv("FEDKIT_TEST_INTERRUPT"); name != "" {
		fed, _ := toy(t, 4, 4)
		for _, c := range interruptedCases {
			if c.name == name {
				if interruptIn.Store(int64(c.round)); !strings.HasPrefix(name, "a guest") {
					interrupt.Enable()
				}
				c.run(fed, os.Getenv("FEDKIT_TEST_CHECKPOINT"))
			}
		}
		syscall.Exit(0)
	}
	self := expect.Value(os.Executable())(t)
	command := []string{self, "-test.run=^TestInterrupt$"}
	if signal.Ignored(os.Interrupt) { // as they are in the background of a script, and what it starts inherits that
		heeding := []string{"env", "--default-signal=INT"}
		if err := exec.Command(heeding[0], append(heeding[1:], "true")...).Run(); err != nil {
			t.Skip("interrupts are ignored here, and env cannot change that: ", err)
		}
		command = append(heeding, command...)
	}
	checkpoint := filepath.Join(t.TempDir(), "checkpoint")
	for _, c := range interruptedCases {
		p := exec.CommandContext(t.Context(), command[0], command[1:]...)
		p.Env = append(os.Environ(), "FEDKIT_TEST_INTERRUPT="+c.name, "FEDKIT_TEST_CHECKPOINT="+checkpoint)
		out, err := p.CombinedOutput()
		if err != nil {
			out = append(out, err.Error()...)
		}
		var got []string
		for line := range strings.SplitSeq(strings.TrimSpace(string(out)), "\n") {
			if !strings.Contains(line, "the model is compiled") { // which a busy machine says
				got = append(got, line)
			}
		}
		if got := strings.Join(got, "\n"); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	if _, err := os.Stat(checkpoint); err != nil {
		t.Error(err)
	}
	fed, _ := toy(t, 4, 4)
	want := expect.Value(Run(context.Background(), fed, stoppable(), Options{Rounds: 5}))(t)
	got, err := Run(context.Background(), fed, stoppable(), Options{Rounds: 5, Checkpoint: checkpoint})
	if err != nil || got.Stopped || len(got.Rounds) != 5 || !reflect.DeepEqual(got.Last().Scores, want.Last().Scores) {
		t.Errorf("after the interrupted run: %s, %v; want it to go on to the same scores", got, err)
	}
}
