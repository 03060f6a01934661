// Package worker runs the programs of runs in other processes: on this machine, by ssh, or where a scheduler starts them. A worker is
// any command whose standard input and output speak with fedkit, as fedkit-worker's do.
//
//	w, err := worker.Start(ctx, "fedkit-worker --gpu 0", "ssh gpu2 fedkit-worker", "srun --ntasks=1 --gres=gpu:1 fedkit-worker")
//	h, err := fedkit.Run(ctx, fed, avg, fedkit.Options{Rounds: 100, Workers: w})
//
// Local starts some on this machine. There is no port and no key: who may start a command there is for ssh or the scheduler to say.
// Workers know nothing of federated learning: they are sent programs and data, once each, and keep the resulting models until these are
// mixed or fetched. So every strategy and every model of your own runs on them.
//
// Histories and States have the same bytes without workers and with any number of them of one Kind, whichever are killed meanwhile:
// clients are grouped here, a group is one call, and means are added up in a fixed order. What a lost worker did is done by another or,
// if none is left, by this process.
//
// A run is divided by its clients, and each round waits for the slowest worker. Many runs are better divided as such, by a study whose
// folder several processes share: see package study, scripts/study.slurm and scripts/study.yaml.
package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
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

	all   []*process
	kind  Kind
	calls atomic.Uint64
	bytes atomic.Int64 // that workers keep since the last garbage collection
	known sync.Map     // of *sync.Mutex or nil, by program: see tried
	here  chan struct{}
	sums  sync.Map // of *sums, by weak pointer to a tensor

	mu      sync.Mutex
	changed chan struct{} // closed at the next change of what workers have to do
}

// patience is how long a command may take to become a worker, unless the context of Start has a deadline.
const patience = 2 * time.Minute

// Start starts commands, by the shell, and waits until all are workers: until ctx is done or, if that has no deadline, for two minutes.
// They end when ctx is done, at Close, and when this process ends in any way, since their standard input then ends. What they write to
// standard error is shown with their name. A worker that ends, or is silent for half a minute once it had a call, is lost for good.
//
// Errors: no command; one that does not become a worker, with the last that it said; workers of several Kinds, which round differently.
func Start(ctx context.Context, commands ...string) (*Workers, error) {
	for i, c := range commands {
		if strings.TrimSpace(c) == "" {
			return nil, fmt.Errorf("worker: %w", fedkit.Invalid(fmt.Sprintf("commands[%d]", i), fmt.Sprintf("%q", c), "a command, such as ssh gpu2 fedkit-worker"))
		}
	}
	return start(ctx, commands, nil)
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
	commands := make([]string, n)
	for i := range commands {
		commands[i] = fmt.Sprintf("exec /proc/%d/exe", os.Getpid()) // a cell's program may have been removed already
		if _, err := os.Stat("/proc/self/exe"); err != nil {
			self, err := os.Executable()
			if err != nil {
				return nil, fmt.Errorf("worker: %w", err)
			}
			commands[i] = "exec '" + strings.ReplaceAll(self, "'", `'\''`) + "'"
		}
	}
	return start(ctx, commands, append(os.Environ(), roleVariable+"=1"))
}

func start(ctx context.Context, commands, env []string) (w *Workers, err error) {
	if len(commands) == 0 {
		return nil, fmt.Errorf("worker: %w", fedkit.Invalid("commands", "none", "at least one, such as ssh gpu2 fedkit-worker"))
	}
	if ctx == nil {
		return nil, fmt.Errorf("worker: %w", fedkit.Invalid("ctx", "nil", "a context, such as context.Background()"))
	}
	w = &Workers{here: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), changed: make(chan struct{})}
	defer func() {
		if err != nil {
			w.Close()
			w, err = nil, fmt.Errorf("worker: %w", err)
		}
	}()
	for i, c := range commands {
		p := newProcess(w, fmt.Sprintf("worker %d, %s", i+1, c), env)
		if env != nil {
			p.name = fmt.Sprintf("worker %d", i+1)
		}
		if err := p.start(c); err != nil {
			return w, fmt.Errorf("%s: %w", p.name, err)
		}
		w.all = append(w.all, p)
	}
	waiting := ctx
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	for _, p := range w.all {
		if err := p.ready(waiting); err != nil {
			return w, err
		}
	}
	if err := w.oneKind(); err != nil {
		return w, err
	}
	context.AfterFunc(ctx, w.Close)
	return w, nil
}

// oneKind refuses workers of several Kinds.
func (w *Workers) oneKind() error {
	w.kind = w.all[0].hello.Kind
	for _, p := range w.all {
		if k := p.hello.Kind; k != w.kind {
			return fmt.Errorf("%s is a %v, and %s a %v: they round differently, so use those of one kind", w.all[0].name, w.kind, p.name, k)
		}
	}
	return nil
}

// Close ends the workers. A run that uses them goes on as if they were lost.
func (w *Workers) Close() {
	for _, p := range w.all {
		p.lose(errClosed)
	}
}

// PIDs returns the numbers of the processes of those that are not lost, on their machines.
func (w *Workers) PIDs() (pids []int) {
	for _, p := range w.all {
		if p.lost() == nil {
			pids = append(pids, p.hello.PID)
		}
	}
	return pids
}

// String says how many workers there are and were, and of which Kind.
func (w *Workers) String() string {
	return fmt.Sprintf("%d of %d workers: %v", len(w.PIDs()), len(w.all), w.kind)
}

// Open implements fedkit.Workers.
func (w *Workers) Open(ctx context.Context) (engine.Device, func(), error) {
	if len(w.PIDs()) == 0 {
		if err := w.mayGoOn(); err != nil {
			return nil, nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	return &device{w, ctx}, cancel, nil
}

// Device implements fedkit.Workers.
func (w *Workers) Device() (kind, hardware string, err error) {
	if len(w.all) == 0 {
		return "", "", fmt.Errorf("worker: %w", fedkit.Invalid("Options.Workers", "empty Workers", "those that Start or Local returned"))
	}
	return strings.TrimSpace(w.kind.Device + " " + w.kind.Flags), w.kind.Hardware, nil
}

// Concurrency implements fedkit.Workers.
func (w *Workers) Concurrency() (n int) {
	for _, p := range w.all {
		n += p.hello.Slots
	}
	return n
}

// mayGoOn returns why this process does not compute what lost workers leave.
func (w *Workers) mayGoOn() error {
	why := "Workers.Only is set"
	if !w.Only {
		kind, err := thisKind()
		if err == nil && kind == w.kind {
			return nil
		}
		why = fmt.Sprintf("this process rounds differently: it is a %v, and they a %v", kind, w.kind)
	}
	var lost []string
	for _, p := range w.all {
		lost = append(lost, fmt.Sprintf("%s: %v", p.name, p.lost()))
	}
	return fmt.Errorf("worker: all were lost, and %s: %s", why, strings.Join(lost, "; "))
}

// restartable is set if this program calls Main.
var restartable bool

// roleVariable is the environment variable of a program that Local starts again.
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
