// Package worker runs the programs of runs in other processes: on this machine, by ssh, or where a scheduler starts them. A worker is
// any command whose standard input and output speak with fedkit as fedkit-worker's do.
//
//	w, err := worker.Start(ctx, "fedkit-worker --gpu 0", "ssh gpu2 fedkit-worker", "srun --ntasks=1 --gres=gpu:1 fedkit-worker")
//	h, err := fedkit.Run(ctx, fed, avg, fedkit.Options{Rounds: 100, Workers: w})
//
// Local starts some on this machine. There is no port and no key: who may start a command somewhere is for ssh or the scheduler to say.
// Workers know nothing of federated learning: they are sent programs and data, once each, and keep the resulting models until these are
// mixed or fetched. So every strategy and every model of your own runs on them.
//
// Histories and States have the same bytes without workers and with any number of them of one Kind, whichever are killed meanwhile:
// clients are grouped here, a group is one call, and means are added up in a fixed order. What a lost worker did is done by another or,
// if none is left, by this process.
//
// Each round waits for its slowest worker. Many runs are better divided as such: by processes that share the folder of a study, see
// scripts/study.slurm and scripts/study.yaml.
package worker

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/engine"
)

// Workers are commands that run programs. They are an option of runs: fedkit.Options{Workers: w}. Concurrent runs may share them.
type Workers struct {
	// Only ends a run whose last worker is lost with an error. Default: if it is of their Kind, this process goes on alone.
	Only bool

	all    []*process
	calls  atomic.Uint64
	kept   atomic.Int64 // bytes that workers keep since the last garbage collection
	values sync.Map     // of *value, by weak.Pointer[tensors.Tensor]
	trials sync.Map     // of *trial, by program

	mu      sync.Mutex
	changed *sync.Cond // what follows, or the calls of a worker, or that one was lost
	self    []*process // this process, once no other is left
}

// Start starts commands, by the shell, and waits until all are workers: until ctx is done or, if that has no deadline, for two minutes.
// They end when ctx is done, at Close, and when this process ends in any way, since their standard input then ends. What they write to
// standard error is shown with their name. A worker that ends, or that is silent for half a minute once it had a call, is lost for good.
//
// Errors: no command; one that does not become a worker, with what it said last; workers of several Kinds, which round differently.
func Start(ctx context.Context, commands ...string) (*Workers, error) {
	var all []*exec.Cmd
	for i, c := range commands {
		if strings.TrimSpace(c) == "" {
			return nil, fmt.Errorf("worker: %w", fedkit.Invalid(fmt.Sprintf("commands[%d]", i), fmt.Sprintf("%q", c), "a command, such as ssh gpu2 fedkit-worker"))
		}
		all = append(all, exec.Command("sh", "-c", c))
	}
	return start(ctx, all)
}

// Local starts n workers on this machine, each with all of its processors, so that they compute the same bytes as this process. They are
// this program, started again: outside notebooks, its main begins with Main.
func Local(ctx context.Context, n int) (*Workers, error) {
	if !restartable {
		return nil, errors.New("worker: Local: this program cannot be started again as a worker: worker.Main must come first in main, " +
			"or a cell of the stock GoNB kernel declare: var _ = worker.Main()")
	}
	if n < 1 || n > 1024 {
		return nil, fmt.Errorf("worker: %w", fedkit.Invalid("n", n, "a number of workers, in [1, 1024]"))
	}
	self := fmt.Sprintf("/proc/%d/exe", os.Getpid()) // a cell's program may have been removed already
	if _, err := os.Stat(self); err != nil {
		if self, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("worker: %w", err)
		}
	}
	var all []*exec.Cmd
	for range n {
		c := exec.Command(self)
		c.Env = append(os.Environ(), roleVariable+"=1")
		all = append(all, c)
	}
	return start(ctx, all)
}

// patience is how long a command may take to become a worker, unless the context has a deadline.
const patience = 2 * time.Minute

func start(ctx context.Context, commands []*exec.Cmd) (w *Workers, err error) {
	switch {
	case ctx == nil:
		return nil, fmt.Errorf("worker: %w", fedkit.Invalid("ctx", "nil", "a context, such as context.Background()"))
	case commands == nil:
		return nil, fmt.Errorf("worker: %w", fedkit.Invalid("commands", "none", "at least one, such as ssh gpu2 fedkit-worker"))
	}
	w = new(Workers)
	w.changed = sync.NewCond(&w.mu)
	defer func() {
		if err != nil {
			w.Close()
			w, err = nil, fmt.Errorf("worker: %w", err)
		}
	}()
	for i, c := range commands {
		name := fmt.Sprintf("worker %d", i+1)
		if c.Args[0] == "sh" {
			name += ", " + c.Args[2]
		}
		p, err := begin(ctx, name, c)
		if err != nil {
			return w, fmt.Errorf("%s: %w", name, err)
		}
		w.all = append(w.all, p)
	}
	if err := w.greet(ctx); err != nil {
		return w, err
	}
	for _, p := range w.all {
		w.watch(p)
	}
	return w, nil
}

// greet waits until all commands have become workers, of one kind.
func (w *Workers) greet(ctx context.Context) error {
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	for _, p := range w.all {
		select {
		case <-p.ready:
		case <-ctx.Done():
		case <-p.ctx.Done():
			if ctx.Err() == nil { // else it ends for that
				<-p.ended // with what it said
				return fmt.Errorf("%w; try it in a terminal: it must ask nothing, and first write %q", p.lost(), strings.TrimSpace(magic))
			}
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s has not started in time: %w; does it wait for a password, or in a queue? Give ctx a later deadline", p.name, err)
		}
		if is := w.all[0].hello.Kind; p.hello.Kind != is {
			return fmt.Errorf("%s is a %v, and %s a %v: they round differently, so use those of one kind", w.all[0].name, is, p.name, p.hello.Kind)
		}
	}
	return nil
}

// watch says when a worker is lost.
func (w *Workers) watch(p *process) {
	context.AfterFunc(p.ctx, func() {
		if err := p.lost(); !errors.Is(err, errClosed) && !errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, err)
		}
		w.change(func() {}) // under the lock, or one that is about to wait would not hear it
	})
}

// change runs f alone, and tells those that wait.
func (w *Workers) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	w.changed.Broadcast()
}

// wait waits until a condition holds, which may change something, or until ctx is done.
func (w *Workers) wait(ctx context.Context, holds func() bool) error {
	defer context.AfterFunc(ctx, func() { w.change(func() {}) })()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !holds() {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.changed.Wait()
	}
	return nil
}

// take waits for the worker with the most room for a call: it may be given as many as it runs at a time, and one to make ready. Once all
// are lost, it is this process.
func (w *Workers) take(ctx context.Context) (best *process, err error) {
	waited := w.wait(ctx, func() bool {
		left := slices.DeleteFunc(slices.Concat(w.all, w.self), func(p *process) bool { return p.ctx.Err() != nil })
		if len(left) == 0 {
			best, err = w.join()
			left = append(left, best)
		}
		if err != nil {
			return true
		}
		if best = slices.MaxFunc(left, func(a, b *process) int { return a.room() - b.room() }); best.room() <= 0 {
			return false
		}
		best.given++
		return true
	})
	return best, cmp.Or(err, waited)
}

// join makes this process a worker, as the last, unless it must not be.
func (w *Workers) join() (*process, error) {
	if w.self != nil {
		return nil, w.self[0].lost()
	}
	if err := w.alone(); err != nil {
		return nil, err
	}
	toServer, in := io.Pipe()
	out, fromServer := io.Pipe()
	s, err := newServer(fromServer)
	if err != nil {
		return nil, err
	}
	p := newProcess(context.Background(), "this process")
	p.silence = math.MaxInt64 // it is never lost to that
	go s.beat(w.all[0].hello.Kind)
	go func() { fromServer.CloseWithError(s.read(bufio.NewReader(toServer))) }()
	go p.serve(in, out, func() error { return nil })
	<-p.ready
	w.watch(p)
	w.self = []*process{p}
	return p, nil
}

// Close ends the workers. A run that uses them goes on as if they were lost.
func (w *Workers) Close() {
	for _, p := range w.all {
		p.lose(errClosed)
	}
	for _, p := range w.all {
		<-p.ended
	}
}

// PIDs returns the numbers that the processes of the workers have on their machines, but for those that are lost.
func (w *Workers) PIDs() (pids []int) {
	for _, p := range w.all {
		if p.ctx.Err() == nil {
			pids = append(pids, p.hello.PID)
		}
	}
	return pids
}

// Open implements fedkit.Workers.
func (w *Workers) Open(ctx context.Context) (engine.Device, func(), error) {
	ctx, leave := context.WithCancel(ctx)
	return &device{w, ctx}, leave, nil
}

// Device implements fedkit.Workers.
func (w *Workers) Device() (kind, hardware string, err error) {
	if w.all == nil {
		return "", "", fedkit.Invalid("Options.Workers", "empty Workers", "those that Start or Local returned")
	}
	k := w.all[0].hello.Kind
	return strings.TrimSpace(k.Device + " " + k.Flags), k.Hardware, nil
}

// Concurrency implements fedkit.Workers.
func (w *Workers) Concurrency() (n int) {
	for _, p := range w.all {
		n += p.hello.Slots
	}
	return n
}

// alone returns why this process does not go on without workers, nil if it does.
func (w *Workers) alone() error {
	why := "Workers.Only is set"
	if !w.Only {
		kind, err := thisKind()
		if err == nil && kind == w.all[0].hello.Kind {
			return nil
		}
		why = fmt.Sprintf("this process rounds differently, as a %v", kind)
	}
	var lost []string
	for _, p := range w.all {
		lost = append(lost, p.lost().Error())
	}
	return fmt.Errorf("worker: no worker is left, and %s: %s", why, strings.Join(lost, "; "))
}

// restartable is set if this program calls Main.
var restartable bool

// roleVariable is in the environment of a program that Local starts again.
const roleVariable = "FEDKIT_WORKER"

// Main comes first in the main function of a program that calls Local, which starts the program again: there, Main is a worker, and does
// not return. In any other process it does nothing and returns 0. Cells of the kernel "Go (fedkit)" call it by themselves. In a notebook
// with the stock GoNB kernel, one cell declares it for all:
//
//	var _ = worker.Main()
func Main() int {
	restartable = true
	if os.Getenv(roleVariable) != "" {
		os.Exit(Command(nil))
	}
	return 0
}
