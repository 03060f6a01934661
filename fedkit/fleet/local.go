package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// LocalOptions configure a fleet on this machine. The zero value is ready to use.
type LocalOptions struct {
	// Dir keeps the fleet's file and the logs of its processes. Programs with the same Dir share the fleet. Default: fedkit-fleet
	// in the user's cache folder.
	Dir string
	// Cores is the number of processors that each worker is pinned to, in order. Default: all of them, as in a run without a
	// fleet; with fewer, bytes differ from those of such a run.
	Cores int
	// GPUs gives each worker its own GPU, counted from 0.
	GPUs bool
	// Slots is the number of programs that a worker runs at once; see WorkerOptions.
	Slots int
	// Idle is the time without use after which hub and workers exit. Default 10 min.
	Idle time.Duration
}

// Local returns a fleet of n worker processes and a hub on this machine. They are started unless they already run, outlive the
// program, stay warm for the next cell, and exit after Idle without use; Stop ends them at once. They are this program, started
// again: outside notebooks, its main begins with Main.
//
//	f, err := fleet.Local(3, fleet.LocalOptions{})
func Local(n int, o LocalOptions) (f *Fleet, err error) {
	if !restartable.Load() {
		return nil, errors.New("fleet: Local: the program cannot be started again as a worker: fleet.Main must come first in main, " +
			"or a cell of the stock GoNB kernel declare: var _ = fleet.Main()")
	}
	if n < 1 || n > 1024 {
		return nil, fmt.Errorf("fleet: Local: n = %d: want a number of workers, in [1, 1024]", n)
	}
	if o.Dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("fleet: Local: %w", err)
		}
		o.Dir = filepath.Join(cache, "fedkit-fleet")
	}
	o.Idle = cmp.Or(o.Idle, 10*time.Minute)
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, fmt.Errorf("fleet: Local: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("fleet: Local: %w", err)
	}
	lock := flock.New(filepath.Join(o.Dir, "lock")) // two cells may start at the same time
	if err := lock.Lock(); err != nil {
		return nil, fmt.Errorf("fleet: Local: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	if f, err = o.join(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
			f = nil
		}
	}()
	time.Sleep(beat) // running workers send a heartbeat meanwhile
	return f, o.fill(f, n)
}

// fill starts the workers that are missing, and waits for them.
func (o *LocalOptions) fill(f *Fleet, n int) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	there := map[int]bool{} // by number
	for _, w := range f.Workers() {
		there[w.Number] = true
	}
	number := 0
	for range n - len(f.Workers()) {
		for number++; there[number]; number++ {
		}
		if err := o.start(process{Role: "worker", Number: number}, cancel); err != nil {
			return fmt.Errorf("fleet: Local: worker: %w", err)
		}
	}
	err := f.Wait(ctx, n)
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("fleet: Local: %w", cause)
	}
	return err
}

// file returns the path of the fleet's file.
func (o *LocalOptions) file() string { return filepath.Join(o.Dir, "fleet.json") }

// join connects to the hub, and starts it if it does not run.
func (o *LocalOptions) join() (f *Fleet, err error) {
	if f, err = Join(o.file()); err == nil {
		return f, nil
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if err := o.start(process{Role: "hub"}, cancel); err != nil {
		return nil, fmt.Errorf("fleet: Local: hub: %w", err)
	}
	for begin := time.Now(); time.Since(begin) < 10*time.Second && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if f, err = Join(o.file()); err == nil {
			return f, nil
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, fmt.Errorf("fleet: Local: %w", cause)
	}
	return nil, err
}

// Stop ends the workers and the hub of a fleet that Local started, in this program or another, and leaves it. Workers that were
// started in other ways are told to leave. For a fleet that Local did not start, Stop returns an error, and the fleet goes on.
func (f *Fleet) Stop() error {
	defer f.Close()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(f.file), "*"+recordExtension))
	if err != nil {
		return fmt.Errorf("fleet: stop: %w", err)
	}
	if files == nil {
		return fmt.Errorf("fleet: stop: Local did not start the fleet of %s: interrupt its hub and its workers", f.file)
	}
	for _, w := range f.Workers() {
		_ = f.nc.Publish(asks+w.Worker+leave, []byte("its fleet was stopped")) // it may be gone
	}
	_ = f.nc.FlushTimeout(late)
	for _, file := range files {
		if p := recorded(file); p != nil {
			if failed := p.Signal(syscall.SIGTERM); !errors.Is(failed, os.ErrProcessDone) {
				err = errors.Join(err, failed)
			}
		}
	}
	if err != nil {
		err = fmt.Errorf("fleet: stop: %w", err)
	}
	return err
}

// process is the part of a fleet that this program becomes when it is started again.
type process struct {
	Role   string
	Number int // of a worker, from 1
	LocalOptions
}

// roleVariable names the environment variable that carries a process, as JSON.
const roleVariable = "FEDKIT_FLEET_PROCESS"

// start starts this program as a part of the fleet, in its own session. If the process ends, ended is told how.
func (o *LocalOptions) start(p process, ended func(error)) error {
	p.LocalOptions = *o
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := os.Stat("/proc/self/exe"); err == nil {
		self = fmt.Sprintf("/proc/%d/exe", os.Getpid()) // a cell's program may have been removed already
	}
	name := p.Role
	if p.Role == "worker" {
		name = fmt.Sprintf("worker-%d", p.Number)
	}
	log, err := os.OpenFile(filepath.Join(o.Dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	record, err := newRecord(o.Dir, name)
	if err != nil {
		return err
	}
	defer record.Close()
	cmd := exec.Command(self, name, "of", o.Dir) // arguments for people; the process ignores them
	cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	if o.GPUs && p.Role == "worker" {
		cmd.Env = append(cmd.Env, GPU(p.Number-1)...)
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = o.Dir, log, log, []*os.File{record}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := fmt.Fprint(record, cmd.Process.Pid); err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	go func() {
		err := cmd.Wait()
		said, _ := os.ReadFile(log.Name())
		ended(fmt.Errorf("%s ended: %w\n%s", name, cmp.Or(err, errors.New("without an error")), said))
	}()
	return nil
}

// GPU returns the environment that gives a worker one GPU, by its number among those that this process may use.
func GPU(number int) []string {
	device := strconv.Itoa(number)
	if may := strings.Split(os.Getenv("CUDA_VISIBLE_DEVICES"), ","); may[0] != "" {
		device = "-1" // none, rather than another process's
		if number < len(may) {
			device = may[number]
		}
	}
	env := []string{"CUDA_VISIBLE_DEVICES=" + device}
	if os.Getenv("GOMLX_BACKEND") == "" {
		env = append(env, "GOMLX_BACKEND=xla:cuda")
	}
	return env
}

// restartable is set if this program calls Main.
var restartable atomic.Bool

// Main comes first in the main function of a program that calls Local, which starts the program again as a hub and as workers: in
// those processes, Main serves and does not return. In any other, it does nothing and returns 0. Cells of the kernel "Go
// (fedkit)" call it by themselves. In a notebook with the stock GoNB kernel, one cell declares it for all:
//
//	var _ = fleet.Main()
func Main() int {
	restartable.Store(true)
	text, ok := os.LookupEnv(roleVariable)
	if !ok {
		return 0
	}
	var p process
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		err = p.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
	return 0
}

// run serves as the hub or as a worker until the process ends.
func (p *process) run() error {
	if p.Role == "worker" && p.Cores > 0 {
		if err := UseCores(fmt.Sprintf("%d-%d", (p.Number-1)*p.Cores, p.Number*p.Cores-1)); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	say := func(format string, a ...any) {
		fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", a...)
	}
	if p.Role == "worker" {
		err := RunWorker(ctx, p.file(), WorkerOptions{Slots: p.Slots, Idle: p.Idle, Logf: say, number: p.Number})
		if errors.Is(err, context.Canceled) || errors.Is(err, ErrIdle) {
			return nil
		}
		return err
	}
	h, err := StartHub(HubOptions{File: p.file(), Dir: filepath.Join(p.Dir, "hub"), Logf: say})
	if err != nil {
		return err
	}
	defer h.Close()
	say("hub at %s", h.URL())
	used := time.Now()
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if h.used() {
			used = time.Now()
		} else if time.Since(used) > p.Idle {
			return nil
		}
	}
}
